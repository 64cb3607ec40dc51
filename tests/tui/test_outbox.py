"""The record in the chat: the outbox counts down and u takes a call back; /pending, /undo and /audit."""

from datetime import timedelta
from pathlib import Path

import pytest

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.waiting import Nobody
from botpsy_tui.journal import Journal
from botpsy_tui.plugin import Context, Outcome, Risk, Undo
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.widgets.card import CallCard, CardButton
from botpsy_tui.tui.widgets.composer import Composer
from tests.agent.fakes import FakeSession, NoteTool, clock
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
)

pytestmark = pytest.mark.usefixtures("no_grace")


class LetterTool(NoteTool):
    held = True


def house_of(folder: Path, *said: object, hold: timedelta = timedelta(hours=1)) -> FakeHouse:
    return FakeHouse(folder, FakeSession(*said), LetterTool(risk=Risk.SEND), hold=hold)  # type: ignore[arg-type]


async def leave_pending(folder: Path, *texts: str) -> None:
    """What a run without a terminal leaves behind."""
    journal = Journal(folder / "journal.sqlite")
    for _ in texts:
        talk = Assistant(
            session=FakeSession(MILK), tools=[NoteTool()], approver=Nobody(), journal=journal, clock=clock
        )
        async for _event in talk.turn("Note milk"):
            pass
    journal.close()


async def test_an_approved_letter_counts_down_on_its_card_and_leaves(tmp_path: Path) -> None:
    house = house_of(tmp_path, MILK, "It will leave.", hold=timedelta(seconds=1))
    async with BotPsyApp(house).run_test(size=(100, 30)) as pilot:
        await say(pilot, "Send milk")
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "in the outbox, leaves in"))
        assert house.tools[0].committed == []
        await until(pilot, shows(pilot, "✓ done"))
        assert house.tools[0].committed == ["milk"]


async def test_u_takes_it_back_and_other_words_can_be_typed_meanwhile(tmp_path: Path) -> None:
    house = house_of(tmp_path, MILK, "It will leave.")
    async with BotPsyApp(house).run_test(size=(100, 30)) as pilot:
        await say(pilot, "Send milk")
        card = await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "leaves in 3600 s"))
        await until(pilot, lambda: isinstance(pilot.app.focused, Composer))
        await pilot.press("u")
        assert card.held, "that u was typed"
        assert pilot.app.screen.query_one(Composer).text == "u"
        await pilot.press("ctrl+g")
        await pilot.pause(0.6)
        assert card.has_focus
        await pilot.press("u")
        await until(pilot, shows(pilot, "taken back, nothing was sent"))
        await say(pilot, "/outbox")
        await until(pilot, shows(pilot, "The outbox is empty"))
    assert house.tools[0].committed == []


async def test_the_mouse_takes_it_back_too(tmp_path: Path) -> None:
    house = house_of(tmp_path, MILK, "It will leave.")
    async with BotPsyApp(house).run_test(size=(100, 30)) as pilot:
        await say(pilot, "Send milk")
        card = await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "leaves in"))
        shown = [button.name for button in card.query(CardButton) if button.display]
        assert shown == ["take-back"]
        await pilot.click(card.query_one(".take-back"))
        await until(pilot, shows(pilot, "taken back"))
    assert house.tools[0].committed == []


async def test_a_new_conversation_keeps_what_counts_down_in_sight(tmp_path: Path) -> None:
    house = house_of(tmp_path, MILK, "It will leave.")
    async with BotPsyApp(house).run_test(size=(100, 30)) as pilot:
        await say(pilot, "Send milk")
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "It will leave."))
        await say(pilot, "/new")
        await until(pilot, shows(pilot, "A new conversation."))
        assert [card.held for card in pilot.app.screen.query(CallCard)] == [True]
        await say(pilot, "/outbox")
        await until(pilot, shows(pilot, "Write a note, leaves at"))


async def test_closing_the_chat_sends_nothing_and_the_next_one_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_of(tmp_path, MILK, "It will leave.")
    async with BotPsyApp(house).run_test(size=(100, 30)) as pilot:
        await say(pilot, "Send milk")
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "leaves in"))
    assert house.tools[0].committed == []

    monkeypatch.setattr("botpsy_tui.agent.waiting.is_running", lambda process: False)
    monkeypatch.setattr("botpsy_tui.agent.waiting.this_process", lambda: "another")
    house = house_of(tmp_path, hold=timedelta(0))
    async with BotPsyApp(house).run_test(size=(100, 30)) as pilot:
        await until(pilot, shows(pilot, "A call from before waits for your decision"))
        await until(pilot, shows(pilot, "ready"))
        await say(pilot, "/pending")
        await card_in_focus(pilot)
        assert "BotPsy ended before it left" in screen_text(pilot).replace("\n", " ")
        await pilot.press("y")
        await until(pilot, shows(pilot, "✓ done"))
    assert house.tools[0].committed == ["milk"]


async def test_pending_asks_one_after_the_other_and_escape_leaves_the_rest(tmp_path: Path) -> None:
    await leave_pending(tmp_path, "one", "two", "three")
    house = FakeHouse(tmp_path, FakeSession())
    async with BotPsyApp(house).run_test(size=(100, 40)) as pilot:
        await until(pilot, shows(pilot, "3 calls from before wait"))
        await until(pilot, shows(pilot, "ready"))
        await say(pilot, "/pending")
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "✓ done"))
        await card_in_focus(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not any(card.waits for card in pilot.app.screen.query(CallCard)))
        await pilot.pause(0.3)
        assert len(pilot.app.screen.query(CallCard)) == 2
        assert [call.number for call in await house.waiting.left_behind()] == [2, 3]
    assert house.tools[0].committed == ["milk"]


async def test_undo_shows_a_card_and_takes_the_last_change_back(tmp_path: Path) -> None:
    class PageTool(NoteTool):
        async def undo(self, undo: Undo, context: Context) -> Outcome:
            self.committed.clear()
            return Outcome("Torn out.", "Torn out.")

    house = FakeHouse(tmp_path, FakeSession(MILK, "It is noted."), PageTool())
    async with BotPsyApp(house).run_test(size=(100, 40)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "It is noted."))
        await until(pilot, shows(pilot, "ready"))
        await say(pilot, "/undo")
        card = await card_in_focus(pilot)
        assert "Undo: Tear it out" in screen_text(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: not card.waits)
        assert house.tools[0].committed == ["milk"]
        await until(pilot, shows(pilot, "ready"))
        await say(pilot, "/undo 1")
        await card_in_focus(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "Torn out."))
        assert house.tools[0].committed == []
        await until(pilot, shows(pilot, "ready"))
        await say(pilot, "/undo")
        await until(pilot, shows(pilot, "There is nothing to undo."))
        await say(pilot, "/audit")
        await until(pilot, shows(pilot, "Write a note: undone by call 3"))
        assert "approved by you" in screen_text(pilot)
