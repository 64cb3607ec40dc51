"""What the card lets happen, and what it does not."""

from pathlib import Path

import pytest
from pydantic import BaseModel
from textual.command import CommandPalette
from textual.events import Key, Paste
from textual.pilot import Pilot
from textual.widgets import Input, Switch

from botpsy_tui.engine.types import ToolCall
from botpsy_tui.plugin import Context, Line, Preview, Proposal, Risk
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.widgets import card as card_module
from botpsy_tui.tui.widgets.card import CallCard, CardButton
from botpsy_tui.tui.widgets.composer import Composer
from tests.agent.fakes import FakeSession, NoteTool
from tests.tui.fakes import FakeHouse
from tests.tui.test_chat import (
    MILK,
    card_in_focus,
    home,  # noqa: F401
    no_grace,  # noqa: F401
    say,
    screen_text,
    shows,
    until,
    waiting_card,
)

EGGS = ToolCall("write_note", {"text": "eggs"})


def in_one_breath(pilot: Pilot[None], *keys: str) -> None:
    """Press keys faster than the screen can follow, as a key that repeats does."""
    for key in keys:
        pilot.app.post_message(Key(key, key if len(key) == 1 else None))


@pytest.fixture
def long_grace(monkeypatch: pytest.MonkeyPatch) -> float:
    """A grace so long that a slow machine does not outlast it between two keys."""
    monkeypatch.setattr(card_module, "GRACE_SECONDS", 2.5)
    return 2.5


async def test_n_and_y_in_one_breath_approve_nothing(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        card = await card_in_focus(pilot)
        await pilot.pause(0.6)
        in_one_breath(pilot, *"nyyy")
        await pilot.pause(0.5)
        assert card.waits
        assert isinstance(pilot.app.focused, Input)
        assert house.tools[0].committed == []


async def test_e_and_y_in_one_breath_approve_nothing(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        card = await card_in_focus(pilot)
        await pilot.pause(0.6)
        in_one_breath(pilot, *"eyy")
        await until(pilot, lambda: pilot.app.screen.query("#field-text"))
        assert card.waits
        assert house.tools[0].committed == []


async def test_an_edited_call_is_not_approved_before_it_can_be_read(
    tmp_path: Path, long_grace: float
) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.pause(long_grace + 0.1)
        await pilot.press("e")
        await until(pilot, lambda: pilot.app.screen.query("#field-text"))
        pilot.app.screen.query_one("#field-text", Input).value = "oat milk"
        await pilot.press("enter", "y", "y")
        await until(pilot, shows(pilot, "oat milk"))
        assert house.tools[0].committed == []
        card = waiting_card(pilot)
        assert card.has_focus
        await pilot.pause(long_grace + 0.1)
        await pilot.press("y")
        await until(pilot, lambda: house.tools[0].committed == ["oat milk"])


async def test_a_paste_into_the_card_decides_nothing(tmp_path: Path, no_grace: None) -> None:  # noqa: F811
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        card = await card_in_focus(pilot)
        pilot.app.post_message(Paste("y\nyes\ny"))
        await pilot.pause(0.3)
        assert card.waits
        assert house.tools[0].committed == []


async def test_the_card_takes_the_focus_by_itself_once_it_is_quiet(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await until(pilot, lambda: any(c.waits for c in pilot.app.screen.query(CallCard)))
        card = waiting_card(pilot)
        await pilot.pause(0.3)
        assert not card.has_focus, "Enter came less than a second ago"
        await until(pilot, lambda: card.has_focus, 3)


async def test_the_card_takes_no_focus_below_an_open_palette(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    house.may_load.clear()
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        house.may_load.set()
        chat = pilot.app.screen_stack[1]
        await until(pilot, lambda: any(c.waits for c in chat.query(CallCard)))
        await pilot.pause(1.5)
        assert isinstance(chat.focused, Composer)
        await pilot.press("y", "escape")
        assert next(c for c in chat.query(CallCard)).waits


async def test_the_mouse_approves_but_not_in_the_moment_the_card_appears(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await until(pilot, lambda: any(c.waits for c in pilot.app.screen.query(CallCard)))
        approve = next(b for b in pilot.app.screen.query(CardButton) if b.name == "approve")
        approve.press()
        await pilot.pause(0.2)
        assert house.tools[0].committed == []
        await pilot.pause(0.6)
        await pilot.click(approve)
        await until(pilot, lambda: house.tools[0].committed == ["milk"])


async def test_two_calls_of_one_step_are_decided_one_after_the_other(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession([MILK, EGGS], "Done."))
    async with BotPsyApp(house).run_test(size=(90, 36)) as pilot:
        await say(pilot, "Note both")
        first = await card_in_focus(pilot)
        await pilot.pause(0.6)
        in_one_breath(pilot, *"yyy")
        await until(pilot, lambda: any(c.waits and c is not first for c in pilot.app.screen.query(CallCard)))
        assert house.tools[0].committed == ["milk"]
        await until(pilot, lambda: waiting_card(pilot).has_focus, 4)
        await pilot.pause(0.6)
        await pilot.press("y")
        await until(pilot, lambda: house.tools[0].committed == ["milk", "eggs"])
        await until(pilot, shows(pilot, "Done."))


async def test_ctrl_c_while_giving_a_reason_stops_and_the_composer_is_back(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        card = await card_in_focus(pilot)
        await pilot.pause(0.6)
        await pilot.press("n", "x", "ctrl+c")
        await until(pilot, shows(pilot, "Stopped."))
        await until(pilot, lambda: isinstance(pilot.app.focused, Composer))
        assert not card.has_class("-rejecting")
        assert "not run" in screen_text(pilot)


async def test_escape_in_the_reason_goes_back_and_an_empty_reason_is_a_plain_no(
    tmp_path: Path,
    no_grace: None,  # noqa: F811
) -> None:
    session = FakeSession(MILK, "All right.")
    house = FakeHouse(tmp_path, session)
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        card = await card_in_focus(pilot)
        await pilot.press("n", "escape")
        await until(pilot, lambda: card.has_focus)
        assert card.waits
        await pilot.press("n", "enter")
        await until(pilot, shows(pilot, "All right."))
        assert "said no" in session.requests[-1].messages[-1].content
        assert house.tools[0].committed == []


class ThingArguments(BaseModel):
    text: str
    loud: bool | None = None
    times: int | None = None
    tags: list[str] | None = None
    place: str | None = None


class ThingTool(NoteTool):
    """Takes all kinds of arguments, and keeps the last it was asked with."""

    name = "do_thing"
    arguments = ThingArguments  # type: ignore[assignment]
    asked: dict[str, object]

    async def propose(self, arguments, context: Context) -> Proposal:
        self.asked = arguments.model_dump()
        return self.propose_with(
            arguments,
            risk=Risk.WRITE,
            preview=Preview("Do a thing", (Line("Text", arguments.text),), ()),
            payload={"text": arguments.text},
        )


@pytest.mark.parametrize("height", [40, 20])
async def test_the_form_keeps_what_is_untouched_and_reads_the_kinds(
    tmp_path: Path,
    no_grace: None,  # noqa: F811
    height: int,
) -> None:
    hidden = "one\ntwo \u202ethree"
    tool = ThingTool()
    call = ToolCall("do_thing", {"text": hidden, "tags": ["a", "b"], "place": "here"})
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession(call, "Done."), tool)).run_test(
        size=(60, height)
    ) as pilot:
        await say(pilot, "Do it")
        await card_in_focus(pilot)
        await pilot.press("e")
        await until(pilot, lambda: pilot.app.screen.query("#field-text"))
        screen = pilot.app.screen
        assert "\u202e" not in screen.query_one("#field-text", Input).value
        assert isinstance(screen.query_one("#field-loud"), Switch)
        screen.query_one("#field-times", Input).value = "3"
        screen.query_one("#field-place", Input).value = ""
        await pilot.press("ctrl+s")
        await until(pilot, lambda: tool.asked["times"] == 3)
        assert tool.asked == {"text": hidden, "loud": None, "times": 3, "tags": ["a", "b"], "place": None}


async def test_what_could_not_be_taken_is_still_in_the_form(tmp_path: Path, no_grace: None) -> None:  # noqa: F811
    tool = ThingTool()
    call = ToolCall("do_thing", {"text": "one"})
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession(call, "Done."), tool)).run_test(
        size=(90, 40)
    ) as pilot:
        await say(pilot, "Do it")
        await card_in_focus(pilot)
        await pilot.press("e")
        await until(pilot, lambda: pilot.app.screen.query("#field-times"))
        pilot.app.screen.query_one("#field-times", Input).value = "many"
        await pilot.press("enter")
        await until(pilot, shows(pilot, "valid integer"))
        await card_in_focus(pilot)
        await pilot.press("e")
        await until(pilot, lambda: pilot.app.screen.query("#field-times"))
        assert pilot.app.screen.query_one("#field-times", Input).value == "many"
        assert "valid integer" in screen_text(pilot)
