"""`/permissions`: the rules in force, and a key to take one back."""

from pathlib import Path

from textual.command import CommandPalette
from textual.widgets import OptionList

from botpsy_tui.engine.types import ToolCall
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.screens.chat import ChatScreen
from botpsy_tui.tui.screens.permissions import PermissionsScreen
from tests.agent.fakes import FakeSession
from tests.tui.fakes import FakeHouse
from tests.tui.test_chat import home, say, screen_text, shows, until  # noqa: F401

RULES = """# mine
[[rule]]
id = "notes"
tool = "write_note"
decision = "allow"
reason = "They are only mine."
limit = { count = 3, seconds = 3600 }

[[rule]]
id = "no-work"
tool = "*"
decision = "deny"
match = { calendar = "Work" }
"""
MILK = ToolCall("write_note", {"text": "milk"})


async def test_it_shows_each_rule_its_place_and_what_it_decided_lately(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."))
    house.policy.write_text(RULES)
    async with BotPsyApp(house).run_test(size=(100, 36)) as pilot:
        await say(pilot, "Note milk")
        await until(pilot, shows(pilot, "✓ done, approved by the rule notes"))
        await until(pilot, shows(pilot, "Done."))
        await say(pilot, "/permissions")
        await until(pilot, shows(pilot, "R takes the rule back"))
        text = screen_text(pilot)
        for part in (
            "notes",
            "Allow write_note, at most 3 times in 3600 seconds.",
            "They are only mine.",
            "policy.toml, line 2",
            "Used 1 of 3 times in 3600 seconds.",
            "allowed “Write a note”",
            "Deny *, where calendar is “Work”.",
            "policy.toml, line 9",
        ):
            assert part in text
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


async def test_r_twice_takes_a_rule_back_and_another_rule_in_between_leaves_it(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession())
    house.policy.write_text(RULES)
    async with BotPsyApp(house).run_test(size=(100, 36)) as pilot:
        await say(pilot, "/permissions")
        await until(pilot, shows(pilot, "R takes the rule back"))
        await pilot.press("r")
        await until(pilot, shows(pilot, "Take back notes?"))
        await pilot.press("down")
        await until(pilot, shows(pilot, "R takes the rule back"))
        assert house.policy.read_text() == RULES
        await pilot.press("up", "r", "r")
        await until(pilot, shows(pilot, "Gone: Allow write_note"))
        left = house.policy.read_text()
        assert left.startswith("# mine\n")
        assert "write_note" not in left
        assert "no-work" in left
        assert pilot.app.screen.query_one(OptionList).option_count == 1


async def test_mistakes_are_shown_with_line_and_column_and_nothing_is_taken_back(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession())
    broken = RULES + '\n[[rule]]\nid = "x"\ntool = "t"\n  decision = "alow"\n'
    house.policy.write_text(broken)
    async with BotPsyApp(house).run_test(size=(100, 36)) as pilot:
        await say(pilot, "/permissions")
        await until(pilot, shows(pilot, "line 18, column 3: decision must be allow, ask or deny"))
        assert "no rule allows anything" in screen_text(pilot)
        await pilot.press("r", "r")
        await until(pilot, shows(pilot, "mistake to mend first"))
        assert house.policy.read_text() == broken


async def test_without_rules_it_says_so_and_r_does_nothing(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=(60, 20)) as pilot:
        await say(pilot, "/permissions")
        await until(pilot, shows(pilot, "There are no rules: every call asks."))
        await pilot.press("r", "r")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PermissionsScreen)
        assert "botpsy policy add" in screen_text(pilot)


async def test_it_is_in_the_palette_and_in_help(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=(90, 30)) as pilot:
        await say(pilot, "/help")
        await until(pilot, shows(pilot, "/permissions  Show your rules, and take one back"))
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        await pilot.press(*"permissions")
        await until(pilot, shows(pilot, "Show your rules, and take one back"))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PermissionsScreen))


async def test_what_a_rule_holds_is_only_text(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession())
    hostile = "[@click=app.quit]x[/] [link=http://evil.example]y \\u202egnp \\u001b[31m"
    house.policy.write_text(
        f'[[rule]]\nid = "a"\ntool = "t"\ndecision = "allow"\n[rule.match]\nx = "{hostile}"\n'
    )
    async with BotPsyApp(house).run_test(size=(100, 36)) as pilot:
        await say(pilot, "/permissions")
        await until(pilot, shows(pilot, "[@click=app.quit]x[/]"))
        assert not {"\u202e", "\x1b"} & set(screen_text(pilot))
