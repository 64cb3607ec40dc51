"""The chat, as a person uses it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from botpsy_tui.engine.types import EngineError, Statistics, ToolCall
from botpsy_tui.plugin import Risk
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.widgets import card as card_module
from botpsy_tui.tui.widgets.card import CallCard
from botpsy_tui.tui.widgets.composer import Composer
from botpsy_tui.tui.widgets.log import MOST_MOUNTED, ConversationLog
from botpsy_tui.tui.widgets.status import StatusLine
from tests.agent.fakes import FakeSession, NoteTool
from tests.tui.fakes import FakeHouse

MILK = ToolCall("write_note", {"text": "milk"})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_module, "GRACE_SECONDS", 0.0)


async def until(pilot: Pilot[None], true: Callable[[], object], seconds: float = 8) -> None:
    for _ in range(int(seconds / 0.05)):
        await pilot.pause(0.05)
        if true():
            return
    raise AssertionError(f"it never came true; the screen says:\n{screen_text(pilot)}")


def screen_text(pilot: Pilot[None]) -> str:
    screen = pilot.app.screen
    strips = screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def shows(pilot: Pilot[None], text: str) -> Callable[[], bool]:
    return lambda: text in screen_text(pilot)


async def say(pilot: Pilot[None], words: str) -> None:
    composer = pilot.app.screen.query_one(Composer)
    composer.focus()
    composer.text = words
    await pilot.press("enter")


def waiting_card(pilot: Pilot[None]) -> CallCard:
    return next(card for card in pilot.app.screen.query(CallCard) if card.waits)


async def card_in_focus(pilot: Pilot[None]) -> CallCard:
    await until(pilot, lambda: any(c.waits for c in pilot.app.screen.query(CallCard)))
    await pilot.press("ctrl+g")
    card = waiting_card(pilot)
    await until(pilot, lambda: card.has_focus)
    return card


async def test_a_question_is_typed_and_the_answer_read(tmp_path: Path) -> None:
    app = BotPsyApp(FakeHouse(tmp_path, FakeSession("It is **sunny** today.")))
    async with app.run_test(size=(90, 30)) as pilot:
        await pilot.pause(0.2)
        await pilot.press(*"How is it?", "enter")
        await until(pilot, shows(pilot, "It is sunny today."))
        assert "How is it?" in screen_text(pilot)
        assert "tok/s" in screen_text(pilot)


async def test_a_stopped_step_does_not_empty_the_status_line(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=(90, 30)) as pilot:
        status = pilot.app.screen.query_one(StatusLine)
        status.show_statistics(Statistics(generated_tokens=8, context_used=900, context_size=4096))
        await until(pilot, shows(pilot, "context 900/4,096"))
        status.show_statistics(Statistics())
        status.state = "ready"
        await until(pilot, shows(pilot, "ready · 0 tok/s · 0 new tokens read · context 900/4,096"))


async def test_y_approves_what_the_card_shows(tmp_path: Path, no_grace: None) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "It is noted."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        assert "Write a note" in screen_text(pilot)
        assert house.tools[0].committed == []
        await pilot.press("y")
        await until(pilot, shows(pilot, "It is noted."))
        assert house.tools[0].committed == ["milk"]
        assert "✓ done" in screen_text(pilot)


async def test_n_rejects_with_a_reason_that_the_model_is_told(tmp_path: Path, no_grace: None) -> None:
    session = FakeSession(MILK, "All right.")
    house = FakeHouse(tmp_path, session)
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press(*"no need", "enter")
        await until(pilot, shows(pilot, "rejected: no need"))
        await until(pilot, shows(pilot, "All right."))
        assert house.tools[0].committed == []
        assert "no need" in session.requests[-1].messages[-1].content


async def test_e_opens_a_form_and_the_edited_call_is_shown_again(tmp_path: Path, no_grace: None) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."))
    async with BotPsyApp(house).run_test(size=(90, 34)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.press("e")
        await until(pilot, lambda: pilot.app.screen.query("#field-text"))
        field = pilot.app.screen.query_one("#field-text", Input)
        assert field.value == "milk"
        field.value = ""
        await pilot.press("ctrl+s")
        await until(pilot, shows(pilot, "say what to write"))
        await card_in_focus(pilot)
        await pilot.press("e")
        await until(pilot, lambda: pilot.app.screen.query("#field-text"))
        pilot.app.screen.query_one("#field-text", Input).value = "oat milk"
        await pilot.press("enter")
        await until(pilot, shows(pilot, "oat milk"))
        assert house.tools[0].committed == []
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "✓ done"))
        assert house.tools[0].committed == ["oat milk"]


async def test_escape_on_a_waiting_card_runs_nothing(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.press("escape")
        await until(pilot, shows(pilot, "Stopped."))
        assert "not run" in screen_text(pilot)
        assert house.tools[0].committed == []


async def test_escape_stops_an_answer_and_keeps_what_was_said(tmp_path: Path) -> None:
    class Endless(FakeSession):
        async def stream(self, request):
            async for event in super().stream(request):
                yield event
                await asyncio.sleep(3600)

    async with BotPsyApp(FakeHouse(tmp_path, Endless("Once upon a time"))).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Tell me")
        await until(pilot, shows(pilot, "Once"))
        await pilot.press("escape")
        await until(pilot, shows(pilot, "Stopped."))
        assert "Once" in screen_text(pilot)


async def test_typing_and_pasting_across_an_appearing_card_decides_nothing(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        typed = 0
        while typed < 200:
            await pilot.press("y", "n", "e", "d", "space")
            typed += 5
        await until(pilot, lambda: pilot.app.screen.query(CallCard))
        composer = pilot.app.screen.query_one(Composer)
        composer.post_message(Paste("yyyy\nyyyy\n"))
        await pilot.pause(1.5)
        assert composer.has_focus, "the composer holds text, so the card does not take the focus"
        assert len(composer.text) >= 200
        assert waiting_card(pilot).waits
        assert house.tools[0].committed == []
        assert "a call waits: Ctrl+G" in screen_text(pilot)


async def test_keys_within_the_grace_after_focusing_decide_nothing(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.press("y", "y")
        assert waiting_card(pilot).waits
        await pilot.pause(0.6)
        await pilot.press("y")
        await until(pilot, lambda: house.tools[0].committed == ["milk"])


@pytest.mark.parametrize("risk", [Risk.SEND, Risk.DESTRUCTIVE, Risk.WRITE])
async def test_enter_and_space_approve_nothing(tmp_path: Path, no_grace: None, risk: Risk) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."), NoteTool(risk=risk))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        card = await card_in_focus(pilot)
        await pilot.press("enter", "space", "backspace", "tab", "enter", "space")
        await pilot.pause(0.3)
        assert card.waits
        assert house.tools[0].committed == []


async def test_words_sent_before_the_model_is_there_are_answered_when_it_is(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession("One.", "Two."))
    house.may_load.clear()
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await pilot.pause(0.2)
        assert "loading fake" in screen_text(pilot)
        await say(pilot, "First")
        await say(pilot, "Second")
        house.may_load.set()
        await until(pilot, shows(pilot, "Two."))
        assert "One." in screen_text(pilot)


async def test_a_model_that_cannot_be_loaded_is_one_sentence(tmp_path: Path) -> None:
    house = FakeHouse(
        tmp_path, FakeSession(), load_problem=EngineError("The file is cut short; fetch it again.")
    )
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await until(pilot, shows(pilot, "The file is cut short; fetch it again."))


async def test_what_a_crash_left_half_way_is_said_at_the_start(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession())
    house.interrupted.append("It is not known whether it happened.")
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await until(pilot, shows(pilot, "It is not known whether it happened."))


async def test_up_brings_back_what_was_typed_also_in_the_next_session(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession("Well."))).run_test() as pilot:
        await say(pilot, "line one\nline two")
        await until(pilot, shows(pilot, "Well."))
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test() as pilot:
        await pilot.press("u", "up")
        composer = pilot.app.screen.query_one(Composer)
        assert composer.text == "line one\nline two"
        await pilot.press("down")
        assert composer.text == "u"


async def test_ctrl_j_begins_a_new_line_and_sends_nothing(tmp_path: Path) -> None:
    session = FakeSession()
    async with BotPsyApp(FakeHouse(tmp_path, session)).run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b")
        assert pilot.app.screen.query_one(Composer).text == "a\nb"
        assert not session.requests


HOSTILE = (
    "[@click=app.quit]press[/] [link=http://evil.example]x[/link] "
    "\x1b]52;c;aGk=\x07 \x1b[31mred \x9b31m \u202egnp.exe [b]bold"
)


async def test_hostile_text_is_only_text(tmp_path: Path, no_grace: None) -> None:
    call = ToolCall("write_note", {"text": HOSTILE})
    house = FakeHouse(tmp_path, FakeSession(call, HOSTILE))
    async with BotPsyApp(house).run_test(size=(110, 40)) as pilot:
        await say(pilot, HOSTILE)
        await card_in_focus(pilot)
        await pilot.press("d")
        await pilot.pause(0.2)
        check_inert(screen_text(pilot))
        await pilot.press("y")
        await until(pilot, shows(pilot, "✓ done"))
        await pilot.pause(0.3)
        check_inert(screen_text(pilot))
        assert "[@click=app.quit]press" in screen_text(pilot)
        assert pilot.app.is_running


def check_inert(text: str) -> None:
    assert not {c for c in text if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e")}


async def test_no_model_yet_leads_through_the_choice_to_the_chat(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession("Hello."), installed=None)
    house.pull_problem = EngineError("The network is down.")
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await until(pilot, shows(pilot, "Starter, 1.1 GB"))
        await pilot.press("enter")
        await until(pilot, shows(pilot, "The network is down."))
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen.query(Composer))
        assert house.pulled == ["starter"]


async def test_where_there_is_nothing_to_choose_the_model_is_fetched_without_a_question(
    tmp_path: Path,
) -> None:
    class OneOption(FakeHouse):
        def model_options(self):
            return super().model_options()[1:]

    house = OneOption(tmp_path, FakeSession("Hello."), installed=None)
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query(Composer))
        assert house.pulled == ["starter"]


async def test_the_card_and_the_form_fit_sixty_by_twenty(tmp_path: Path, no_grace: None) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Done."))
    async with BotPsyApp(house).run_test(size=(60, 20)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        text = screen_text(pilot)
        assert all(part in text for part in ("Write a note", "milk", "Approve (y)", "waiting for you"))
        await pilot.press("e")
        await until(pilot, shows(pilot, "Edit: Write a note"))


async def test_only_a_window_of_the_conversation_is_mounted(tmp_path: Path) -> None:
    house = FakeHouse(tmp_path, FakeSession(*["Well."] * 50))
    async with BotPsyApp(house).run_test() as pilot:
        for i in range(50):
            await say(pilot, f"Message {i}")
        await until(pilot, lambda: not pilot.app.screen.conversation.running, 30)  # type: ignore[attr-defined]
        assert len(pilot.app.screen.query_one(ConversationLog).children) <= MOST_MOUNTED


async def test_slash_commands_and_a_wrong_one(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession("Well."))).run_test(size=(90, 30)) as pilot:
        await say(pilot, "/nonsense")
        await until(pilot, shows(pilot, "There is no command /nonsense; there are /help, /new, /copy"))
        await say(pilot, "/help")
        await until(pilot, shows(pilot, "F1 shows all keys."))
        await say(pilot, "/new")
        await until(pilot, shows(pilot, "A new conversation."))
        await say(pilot, "/quit")
        await pilot.pause(0.2)
