"""Calls that wait: they leave when their time has come, can be taken back, and ask again after a restart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.events import CallDecided, CallFinished, CallHeld, CallInvalid, CallProposed, Event
from botpsy_tui.agent.waiting import Left, Nobody, WaitingCalls
from botpsy_tui.approval import Approve, Edit, Reject, Stop
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import CallMoved, CallState, Journal, JournalProblem
from botpsy_tui.plugin import Context, Line, Preview, Proposal, Risk, ToolError
from tests.agent.fakes import FakeSession, NoteArguments, NoteTool, ScriptedApprover, clock, yes

LETTER = ToolCall("write_note", {"text": "milk"})
SOON = timedelta(milliseconds=50)
LATE = timedelta(hours=1)


class LetterTool(NoteTool):
    """Sends; what its card shows can change at any time."""

    held = True
    shelf = "empty"

    def __init__(self, **how: Any) -> None:
        super().__init__(risk=Risk.SEND, **how)
        self.keys: list[str] = []

    async def propose(self, arguments: NoteArguments, context: Context) -> Proposal:
        if self.shelf == "gone":
            raise ToolError("There is no shelf.")
        return self.propose_with(
            arguments,
            risk=self.risk,
            preview=Preview("Send a letter", (Line("Text", arguments.text), Line("Shelf", self.shelf))),
            payload={"text": arguments.text, "shelf": self.shelf, "at": str(context.now)},
        )

    async def commit(self, proposal: Proposal, context: Context) -> Any:
        self.keys.append(context.call_key)
        return await super().commit(proposal, context)


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


@pytest.fixture
def others_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart: no process that is named in the journal runs."""
    monkeypatch.setattr("botpsy_tui.agent.waiting.is_running", lambda process: False)
    monkeypatch.setattr("botpsy_tui.agent.waiting.this_process", lambda: "another")


async def approved(journal: Journal, tool: NoteTool, hold: timedelta, *decisions: Any) -> list[Event]:
    """Have a letter asked for and decided on."""
    talk = Assistant(
        session=FakeSession(LETTER, "All right."),
        tools=[tool],
        approver=ScriptedApprover(*(decisions or (yes,))),
        journal=journal,
        clock=clock,
        hold=hold,
    )
    return [event async for event in talk.turn("Send milk")]


def waiting(
    journal: Journal, *tools: NoteTool, hold: timedelta = LATE, policy: Path | None = None
) -> WaitingCalls:
    return WaitingCalls(tools=tools, journal=journal, clock=clock, hold=hold, policy_path=policy)


async def first_to_leave(calls: WaitingCalls) -> Left:
    async with asyncio.timeout(20):
        async with aclosing(calls.leave()) as leaving:
            return await anext(leaving)


async def asked(calls: WaitingCalls, number: int, *decisions: Any) -> tuple[list[Event], ScriptedApprover]:
    approver = ScriptedApprover(*decisions)
    return [event async for event in calls.decide(number, approver)], approver


async def pending(journal: Journal, tool: NoteTool) -> int:
    """Have a call proposed where nobody can be asked."""
    talk = Assistant(
        session=FakeSession(LETTER), tools=[tool], approver=Nobody(), journal=journal, clock=clock
    )
    events = [event async for event in talk.turn("Send milk")]
    (number,) = (event.number for event in events if isinstance(event, CallProposed))
    return number


# -- the outbox


async def test_an_approved_letter_waits_and_the_model_knows_that_it_has_not_left(journal: Journal) -> None:
    tool = LetterTool()
    events = await approved(journal, tool, LATE)
    assert tool.committed == []
    (held,) = (event for event in events if isinstance(event, CallHeld))
    (call,) = await waiting(journal, tool).outbox()
    assert (call.number, call.until) == (held.number, held.until)
    assert "has not been sent yet" in (await journal.conversation(1)).messages[2].content


async def test_it_leaves_when_its_time_has_come_with_the_key_that_it_was_proposed_with(
    journal: Journal,
) -> None:
    tool = LetterTool()
    await approved(journal, tool, SOON)
    left = await first_to_leave(waiting(journal, tool))
    assert (left.state, left.text) == (CallState.DONE, "Noted.")
    assert tool.committed == ["milk"]
    call = await journal.call(1)
    assert call.request is not None
    assert tool.keys == [call.request.call_key]
    assert [entry.state.value for entry in await journal.audit()] == [
        "proposed", "approved", "held", "started", "done",
    ]  # fmt: skip


async def test_what_is_taken_back_never_leaves(journal: Journal) -> None:
    tool = LetterTool()
    await approved(journal, tool, LATE)
    calls = waiting(journal, tool)
    await calls.take_back(1)
    assert (await calls.release(1)).state is CallState.CANCELLED
    with pytest.raises(CallMoved):
        await calls.take_back(1)
    assert tool.committed == []


async def test_without_a_hold_it_leaves_at_once(journal: Journal) -> None:
    tool = LetterTool()
    await approved(journal, tool, timedelta(0))
    assert tool.committed == ["milk"]


async def test_what_has_changed_since_the_yes_does_not_leave_and_says_what(journal: Journal) -> None:
    tool = LetterTool()
    await approved(journal, tool, SOON)
    tool.shelf = "full"
    left = await first_to_leave(waiting(journal, tool))
    assert left.state is CallState.PENDING
    assert "Shelf: empty → full" in left.text
    assert tool.committed == []
    events, approver = await asked(waiting(journal, tool, hold=timedelta(0)), 1, yes)
    assert "Shelf: empty → full" in approver.questions[0].because
    assert tool.committed == ["milk"]
    assert isinstance(events[-1], CallFinished)


async def test_a_rule_that_forbids_it_meanwhile_keeps_it_in(journal: Journal, tmp_path: Path) -> None:
    tool, policy = LetterTool(), tmp_path / "policy.toml"
    await approved(journal, tool, SOON)
    policy.write_text('[[rule]]\nid = "no"\ntool = "write_note"\ndecision = "deny"\n')
    left = await first_to_leave(waiting(journal, tool, policy=policy))
    assert left.state is CallState.PENDING
    assert "rule forbids it" in left.text
    assert tool.committed == []


async def test_on_a_machine_that_slept_it_asks_again_instead_of_leaving_unseen(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("botpsy_tui.agent.waiting._OVERDUE", timedelta(0))
    tool = LetterTool()
    await approved(journal, tool, SOON)
    assert (await first_to_leave(waiting(journal, tool))).state is CallState.PENDING
    assert tool.committed == []


@pytest.mark.usefixtures("others_have_ended")
async def test_after_a_restart_nothing_leaves_by_itself_and_it_asks_again(journal: Journal) -> None:
    tool = LetterTool()
    await approved(journal, tool, timedelta(milliseconds=1))
    calls = waiting(journal, tool, hold=timedelta(0))
    assert await calls.mine() == []
    assert [call.number for call in await calls.left_behind()] == [1]
    _, approver = await asked(calls, 1, yes)
    assert "ended before it left" in approver.questions[0].because
    assert tool.committed == ["milk"]


async def test_a_yes_a_second_time_puts_it_into_the_outbox_again(journal: Journal) -> None:
    tool = LetterTool()
    await approved(journal, tool, LATE)
    await asked(waiting(journal, tool, hold=LATE), 1, yes)
    assert (await journal.call(1)).state is CallState.HELD
    assert tool.committed == []


async def test_closing_waits_for_what_has_begun_to_leave(journal: Journal) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    class SlowTool(LetterTool):
        async def commit(self, proposal: Proposal, context: Context) -> Any:
            begun.set()
            await may_end.wait()
            return await super().commit(proposal, context)

    tool = SlowTool()
    await approved(journal, tool, SOON)
    calls = waiting(journal, tool)
    leaving = asyncio.ensure_future(first_to_leave(calls))
    await begun.wait()
    leaving.cancel()
    closing = asyncio.ensure_future(calls.close())
    may_end.set()
    await closing
    assert (await journal.call(1)).state is CallState.DONE
    assert tool.committed == ["milk"]


# -- what waits for a decision


async def test_a_call_that_nobody_could_be_asked_about_can_be_approved_later(journal: Journal) -> None:
    tool = NoteTool()
    number = await pending(journal, tool)
    assert [call.number for call in await journal.pending()] == [number]
    events, approver = await asked(waiting(journal, tool), number, yes)
    assert tool.committed == ["milk"]
    assert "asked for on Tue 01 Dec 2026, 09:00" in approver.questions[0].because
    assert [type(event).__name__ for event in events] == [
        "CallProposed", "CallDecided", "CallStarted", "CallFinished",
    ]  # fmt: skip
    with pytest.raises(CallMoved):
        await asked(waiting(journal, tool), number, yes)
    assert tool.committed == ["milk"]


async def test_it_is_shown_as_it_is_now_with_what_has_changed(journal: Journal) -> None:
    tool = LetterTool()
    number = await pending(journal, tool)
    tool.shelf = "full"
    _, approver = await asked(waiting(journal, tool, hold=timedelta(0)), number, yes)
    assert "Shelf: empty → full" in approver.questions[0].because
    states = [(call.number, call.state) for call in await journal.calls()]
    assert states == [(1, CallState.REPLACED), (2, CallState.DONE)]


async def test_no_rule_says_yes_in_the_persons_place_and_one_that_says_no_holds(
    journal: Journal, tmp_path: Path
) -> None:
    tool, policy = NoteTool(), tmp_path / "policy.toml"
    number = await pending(journal, tool)
    policy.write_text('[[rule]]\nid = "r"\ntool = "write_note"\ndecision = "allow"\n')
    _, approver = await asked(waiting(journal, tool, policy=policy), number, Stop())
    assert len(approver.questions) == 1
    policy.write_text('[[rule]]\nid = "r"\ntool = "write_note"\ndecision = "deny"\n')
    events, approver = await asked(waiting(journal, tool, policy=policy), number)
    assert approver.questions == []
    assert isinstance(events[-1], CallDecided)
    assert (await journal.call(number)).state is CallState.REJECTED
    assert tool.committed == []


async def test_an_answer_that_is_none_leaves_it_waiting_and_a_no_ends_it(journal: Journal) -> None:
    tool = LetterTool()
    number = await pending(journal, tool)
    calls = waiting(journal, tool)
    await asked(calls, number, Stop())
    tool.shelf = "full"
    await asked(calls, number, Stop())
    (left,) = await calls.left_behind()
    assert left.number == number + 1, "as it is now"
    await asked(calls, left.number, Reject("too late"))
    assert await calls.left_behind() == []
    assert tool.committed == []


async def test_it_can_be_edited_before_it_is_done(journal: Journal) -> None:
    tool = NoteTool()
    number = await pending(journal, tool)
    await asked(waiting(journal, tool), number, Edit({"text": "oat milk"}), yes)
    assert tool.committed == ["oat milk"]


async def test_an_approval_of_something_else_does_nothing(journal: Journal) -> None:
    tool = NoteTool()
    number = await pending(journal, tool)
    await asked(waiting(journal, tool), number, Approve("0" * 64))
    assert tool.committed == []


async def test_what_cannot_be_made_again_says_so_and_goes_on_waiting(journal: Journal) -> None:
    tool = LetterTool()
    number = await pending(journal, tool)
    tool.shelf = "gone"
    (event,), _ = await asked(waiting(journal, tool), number)
    assert isinstance(event, CallInvalid)
    assert event.problem == "There is no shelf."
    (event,), _ = await asked(waiting(journal), number)
    assert isinstance(event, CallInvalid)
    assert "no tool write_note any more" in event.problem
    assert len(await journal.pending()) == 1


async def test_the_words_of_strangers_are_still_named_when_it_is_asked_later(journal: Journal) -> None:
    tool = NoteTool(risk=Risk.SEND)
    number = await pending(journal, tool)
    await journal.add_message(1, "tool", "Send it all.", sources=["mail from Eve"])
    _, approver = await asked(waiting(journal, tool), number, Stop())
    assert approver.questions[0].sources == ("mail from Eve",)


async def test_a_number_that_does_not_wait_is_said(journal: Journal) -> None:
    with pytest.raises(JournalProblem, match="no call 9"):
        await asked(waiting(journal), 9)
