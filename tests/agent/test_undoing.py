"""Undo: shown, decided on, on record like any other call; refused where things have changed since."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from botpsy_tui.agent.events import CallFailed, CallFinished, CallInvalid, CallProposed, Event
from botpsy_tui.agent.undoing import Undoing
from botpsy_tui.agent.waiting import Nobody
from botpsy_tui.approval import Approve, Edit, Reject
from botpsy_tui.journal import CallState, Journal, JournalProblem
from botpsy_tui.plugin import ChangedSince, Context, Line, Outcome, Proposal, Risk, ToolError, Undo
from tests.agent.fakes import FakeSession, NoteTool, ScriptedApprover, clock, yes
from tests.journal.world import MILK, assistant, call_in, events_of


class PageTool(NoteTool):
    """Tears its notes out again; can be told to refuse."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.refuses: Exception | None = None
        self.keys: list[str] = []

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        await super().commit(proposal, context)
        self.keys.append(context.call_key)
        return Outcome("Noted.", "Noted.", Undo("Tear it out", {"page": len(self.committed)}))

    async def undo(self, undo: Undo, context: Context) -> Outcome:
        if self.refuses:
            raise self.refuses
        self.keys.append(context.call_key)
        self.committed.pop(int(str(undo.data["page"])) - 1)
        return Outcome("Torn out.", "Torn out.")


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


async def noted(journal: Journal, tool: NoteTool) -> None:
    await events_of(assistant(journal, FakeSession(MILK, "Done."), yes, tools=[tool]))


async def undone(
    journal: Journal, tool: NoteTool, *decisions: Any, number: int | None = None
) -> tuple[list[Event], ScriptedApprover]:
    approver = ScriptedApprover(*decisions)
    undoing = Undoing(tools=[tool], journal=journal, clock=clock)
    return [event async for event in undoing.undo(number, approver)], approver


async def test_the_last_change_is_shown_and_taken_back_with_the_key_it_was_made_with(
    journal: Journal,
) -> None:
    tool = PageTool()
    await noted(journal, tool)
    events, approver = await undone(journal, tool, yes)
    preview = approver.questions[0].proposal.preview
    assert preview.title == "Undo: Tear it out"
    assert [line.label for line in preview.lines] == ["Undoes", "Text"]
    assert isinstance(events[-1], CallFinished)
    assert tool.committed == []
    assert tool.keys[0] == tool.keys[1]
    assert [(e.call, e.state.value) for e in await journal.audit()][-5:] == [
        (2, "proposed"), (2, "approved"), (2, "started"), (2, "done"), (1, "undone"),
    ]  # fmt: skip
    assert await journal.verify() == []


async def test_it_is_taken_back_once(journal: Journal) -> None:
    tool = PageTool()
    await noted(journal, tool)
    await undone(journal, tool, yes)
    (event,), _ = await undone(journal, tool, number=1)
    assert isinstance(event, CallInvalid)
    assert "is undone already" in event.problem
    (event,), _ = await undone(journal, tool)
    assert isinstance(event, CallInvalid)
    assert event.problem == "There is nothing to undo."


@pytest.mark.parametrize("decision", [Reject("no"), Approve("0" * 64)])
async def test_without_a_yes_to_what_is_shown_nothing_is_taken_back(journal: Journal, decision: Any) -> None:
    tool = PageTool()
    await noted(journal, tool)
    await undone(journal, tool, decision)
    assert tool.committed == ["milk"]
    assert [call.state for call in await journal.calls()] == [CallState.DONE, CallState.REJECTED]
    await undone(journal, tool, Edit({"page": 9}), yes)
    assert tool.committed == [], "it can't be edited, and was asked again"


async def test_where_nobody_can_be_asked_nothing_is_taken_back(journal: Journal) -> None:
    tool = PageTool()
    await noted(journal, tool)
    async for _ in Undoing(tools=[tool], journal=journal, clock=clock).undo(1, Nobody()):
        pass
    assert tool.committed == ["milk"]


async def test_what_was_changed_since_is_left_and_the_difference_shown(journal: Journal) -> None:
    tool = PageTool()
    await noted(journal, tool)
    tool.refuses = ChangedSince("The page was written on since.", (Line("Text", "oat milk", "milk"),))
    events, _ = await undone(journal, tool, yes)
    assert isinstance(events[-1], CallFailed)
    assert events[-1].problem == "The page was written on since.\nText: milk → oat milk"
    assert (await journal.call(1)).state is CallState.DONE
    tool.refuses = None
    await undone(journal, tool, yes)
    assert tool.committed == [], "it can be tried again"


@pytest.mark.parametrize("problem", [ToolError("The answer was lost.", unknown=True), KeyError("x")])
async def test_an_undo_that_may_have_happened_is_unknown(journal: Journal, problem: Exception) -> None:
    tool = PageTool()
    await noted(journal, tool)
    tool.refuses = problem
    events, _ = await undone(journal, tool, yes)
    assert isinstance(events[-1], CallFailed)
    assert events[-1].unknown
    assert [call.state for call in await journal.calls()] == [CallState.DONE, CallState.UNKNOWN]


async def test_what_cannot_be_undone_says_why(journal: Journal) -> None:
    class SentTool(NoteTool):
        async def commit(self, proposal: Proposal, context: Context) -> Outcome:
            return Outcome("Sent.", "Sent.")

    async def problem(number: int) -> str:
        (event,), _ = await undone(journal, SentTool(), number=number)
        assert isinstance(event, CallInvalid)
        return event.problem

    await noted(journal, SentTool(risk=Risk.SEND))
    await noted(journal, SentTool(risk=Risk.READ))
    await noted(journal, SentTool())
    assert "what has left can't be called back" in await problem(1)
    assert "has only looked" in await problem(2)
    assert "its tool knows no way back" in await problem(3)
    assert "take it out of the outbox" in await problem(await call_in(journal, CallState.HELD))
    assert "was not done: it is rejected" in await problem(await call_in(journal, CallState.REJECTED))
    with pytest.raises(JournalProblem, match="no call 99"):
        await undone(journal, SentTool(), number=99)


async def test_the_last_one_is_the_last_that_changed_something(journal: Journal) -> None:
    tool = PageTool()
    await noted(journal, tool)
    await noted(journal, NoteTool(risk=Risk.READ))
    events, _ = await undone(journal, tool, yes)
    (proposed,) = (event for event in events if isinstance(event, CallProposed))
    assert proposed.proposal.facts == {"undoes": 1}
