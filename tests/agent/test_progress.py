"""What a running call tells as it goes, and how it is stopped."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.events import CallFinished, CallProgress, CallStarted, Event, TurnFinished
from botpsy_tui.cli.reporting import TextReporter
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import CallState, Journal
from botpsy_tui.plugin import Context, Outcome, Proposal
from botpsy_tui.tui import BotPsyApp
from tests.agent.fakes import FakeSession, NoteTool, ScriptedApprover, clock, yes
from tests.tui.fakes import FakeHouse
from tests.tui.test_chat import card_in_focus, say, shows, until

MILK = ToolCall("write_note", {"text": "milk"})


@dataclass
class SlowNote(NoteTool):
    """Tells two lines, then waits until it may go on or the person stops."""

    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str = ""

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        context.progress("first line\nsec")
        await asyncio.sleep(0)
        context.progress("ond line \x1b[2J\n")
        going, stopping = map(asyncio.ensure_future, (self.may_go_on.wait(), context.stopping.wait()))
        try:
            await asyncio.wait({going, stopping}, return_when=asyncio.FIRST_COMPLETED)
            self.ended = "stopped" if context.stopping.is_set() else "done"
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        finally:
            self.has_ended.set()
        context.progress("last")
        return Outcome("Noted.", "Noted, after 3 s.\nfirst line\nsecond line\nlast")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.sqlite")


def assistant(journal: Journal, tool: NoteTool, *said: str) -> Assistant:
    session = FakeSession(MILK, *said)
    return Assistant(
        session=session, tools=[tool], approver=ScriptedApprover(yes), journal=journal, clock=clock
    )


async def test_what_a_call_tells_comes_while_it_runs_and_whole(journal: Journal) -> None:
    tool = SlowNote()
    kinds: list[type[Event]] = []
    told = ""
    async for event in assistant(journal, tool, "Done.").turn("Note milk"):
        kinds.append(type(event))
        if isinstance(event, CallProgress):
            told += event.text
            if "second line" in told:
                tool.may_go_on.set()
    assert told == "first line\nsecond line \x1b[2J\nlast"
    assert kinds.index(CallStarted) < kinds.index(CallProgress) < kinds.index(CallFinished)


async def test_stopping_reaches_a_call_that_runs(journal: Journal) -> None:
    tool = SlowNote()
    one = assistant(journal, tool, "never said")
    async for event in one.turn("Note milk"):
        if isinstance(event, CallProgress):
            one.stop()
        last = event
    assert tool.ended == "stopped"
    assert isinstance(last, TurnFinished)
    assert last.end == "stopped"
    assert [call.state for call in await journal.calls()] == [CallState.DONE]


async def test_a_turn_that_is_given_up_cancels_the_call_that_runs(journal: Journal) -> None:
    tool = SlowNote()
    turn = assistant(journal, tool).turn("Note milk")
    async for event in turn:
        if isinstance(event, CallProgress):
            break
    await turn.aclose()
    await asyncio.wait_for(tool.has_ended.wait(), 5)
    assert tool.ended == "cancelled"


async def test_the_card_shows_the_last_lines_while_it_runs(tmp_path: Path) -> None:
    tool = SlowNote()
    app = BotPsyApp(FakeHouse(tmp_path, FakeSession(MILK, "Done."), tool))
    async with app.run_test(size=(100, 40)) as pilot:
        await say(pilot, "Note milk")
        await card_in_focus(pilot)
        await pilot.pause(0.6)
        await pilot.press("y")
        await until(pilot, shows(pilot, "second line ␛[2J"))
        tool.may_go_on.set()
        await until(pilot, shows(pilot, "✓ done"))


def test_the_command_line_shows_whole_lines_as_they_come_and_then_how_it_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reporter = TextReporter(with_calls=True)
    outcome = Outcome("Done.", "Done, after 3 s.\none\ntwo\nthree")
    reporter.report(CallProgress("1", "one\ntw"))
    assert capsys.readouterr().err == "  one\n"
    reporter.report(CallProgress("1", "o\x1b[2J\nthree"))
    reporter.report(CallFinished("1", outcome))
    assert capsys.readouterr().err == "  two␛[2J\n  three\n  Done, after 3 s.\n"
    reporter.report(CallFinished("2", outcome))
    assert capsys.readouterr().err == "  Done, after 3 s.\n  one\n  two\n  three\n"
