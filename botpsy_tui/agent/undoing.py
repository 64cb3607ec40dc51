"""Takes back what a call has done: shown, decided on and put on record like any other call."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from botpsy_tui.agent.calls import NobodyToAsk
from botpsy_tui.agent.events import (
    CallDecided,
    CallFailed,
    CallFinished,
    CallInvalid,
    CallProposed,
    CallStarted,
    Event,
)
from botpsy_tui.approval import Approve, Approver, Decision, Edit, Question, Stop
from botpsy_tui.journal import CallRecord, CallState, Journal
from botpsy_tui.plugin import (
    ChangedSince,
    Clock,
    Context,
    Line,
    Preview,
    Proposal,
    References,
    Risk,
    Tool,
    ToolError,
    Undo,
)

_CALL_ID = "undo"
_AS_IT_IS = "An undo takes back what was done as it was done: yes or no."


class CannotUndo(Exception):
    """The call can't be taken back; the message says why."""


class Undoing:
    """Takes calls back, each by the tool that has done it, with what the tool kept at that time."""

    def __init__(self, *, tools: Sequence[Tool[Any]], journal: Journal, clock: Clock) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._journal = journal
        self._clock = clock

    async def undo(
        self, number: int | None, approver: Approver, stopping: asyncio.Event | None = None
    ) -> AsyncGenerator[Event, None]:
        """Ask about taking back a call, or the last one that changed something, and do it.

        Where the thing has changed since, the tool refuses, and `CallFailed` shows the difference.
        Raises `JournalProblem` where there is no call of that number.
        """
        record = await self._journal.undoable(number)
        try:
            tool, kept = self._way_back(record)
        except CannotUndo as problem:
            yield CallInvalid(_CALL_ID, record.tool if record else "undo", {}, str(problem))
            return
        assert record is not None
        proposal = _proposal(record, kept, tool)
        mine = await self._journal.propose(record.conversation, _CALL_ID, proposal, undoes=record.number)
        yield CallProposed(_CALL_ID, proposal, {}, mine)
        decision = await _asked(Question(_CALL_ID, proposal, {}), approver, stopping or asyncio.Event())
        if not isinstance(decision, Approve) or decision.digest != proposal.digest:
            await self._journal.record(mine, CallState.REJECTED, {"by": "person"})
            yield CallDecided(_CALL_ID, Stop())
            return
        yield CallDecided(_CALL_ID, decision)
        by = {"by": decision.by, "digest": proposal.digest}
        await self._journal.record(mine, CallState.APPROVED, by)
        await self._journal.record(mine, CallState.STARTED)
        yield CallStarted(_CALL_ID)
        yield await self._do(record, mine, tool, kept)

    def _way_back(self, record: CallRecord | None) -> tuple[Tool[Any], Undo]:
        """Return the tool that takes a call back, and with what. Raises `CannotUndo`."""
        if record is None:
            raise CannotUndo("There is nothing to undo.")
        name = f"Call {record.number}, “{record.title}”,"
        if record.state is CallState.UNDONE:
            raise CannotUndo(f"{name} is undone already.")
        if record.state is CallState.HELD:
            raise CannotUndo(f"{name} has not left yet: take it out of the outbox.")
        if record.state is not CallState.DONE:
            raise CannotUndo(f"{name} was not done: it is {record.state.value}.")
        if record.risk is Risk.READ:
            raise CannotUndo(f"{name} has only looked: there is nothing to undo.")
        if record.undo is None:
            why = (
                "what has left can't be called back"
                if record.risk is Risk.SEND
                else "its tool knows no way back"
            )
            raise CannotUndo(f"{name} can't be undone: {why}.")
        tool = self._tools.get(record.tool)
        if tool is None:
            raise CannotUndo(f"{name} can't be undone: there is no tool {record.tool} any more.")
        return tool, record.undo

    async def _do(self, record: CallRecord, mine: int, tool: Tool[Any], kept: Undo) -> Event:
        past = await self._journal.conversation(record.conversation)
        context = Context(clock=self._clock, references=References(past.shown_ids))
        if request := record.request:
            context = replace(context, words=request.words, call_key=request.call_key)
        try:
            outcome = await tool.undo(kept, context)
        except ToolError as error:
            state = CallState.UNKNOWN if error.unknown else CallState.FAILED
            problem = in_words(error)
            await self._journal.record(mine, state, {"problem": problem})
            return CallFailed(_CALL_ID, problem, error.unknown)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the house down
            problem = (
                f"{tool.name} broke ({type(error).__name__}: {error}); it is not known what it has undone."
            )
            await self._journal.record(mine, CallState.UNKNOWN, {"problem": problem})
            return CallFailed(_CALL_ID, problem, unknown=True)
        await self._journal.finish(mine, outcome)
        return CallFinished(_CALL_ID, outcome)


class UndoApproved:
    """The person has named the call and said yes with the command itself."""

    async def decide(self, question: Question) -> Approve:
        """Approve."""
        return Approve(question.proposal.digest)


def in_words(error: ToolError) -> str:
    """Return what went wrong, with the difference where something had changed."""
    changes = error.changes if isinstance(error, ChangedSince) else ()
    lines = [f"{line.label}: {line.before or 'nothing'} → {line.value or 'nothing'}" for line in changes]
    return "\n".join([str(error), *lines])


async def _asked(question: Question, approver: Approver, stopping: asyncio.Event) -> Decision:
    """Ask, unless and until it is stopped."""
    waiting = asyncio.ensure_future(stopping.wait())
    try:
        while True:
            asking = asyncio.ensure_future(approver.decide(question))
            await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                asking.cancel()
                return Stop()
            if not isinstance(decision := asking.result(), Edit):
                return decision
            question = replace(question, problem=_AS_IT_IS)
    except NobodyToAsk:
        return Stop()
    finally:
        waiting.cancel()


def _proposal(record: CallRecord, kept: Undo, tool: Tool[Any]) -> Proposal:
    """Return the undo as a call of its own: what it takes back, and how."""
    done = record.at.astimezone(record.request.moment.tzinfo if record.request else None)
    preview = record.proposal.preview
    return Proposal(
        tool=record.tool,
        version=tool.version,
        risk=Risk.WRITE,
        preview=Preview(
            f"Undo: {kept.summary}",
            (
                Line("Undoes", f"{preview.title} (call {record.number}, done {done:%a %d %b %Y, %H:%M})"),
                *preview.lines,
            ),
        ),
        payload=dict(kept.data),
        arguments={},
        facts={"undoes": record.number},
    )
