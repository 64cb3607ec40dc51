"""Calls that wait: in the outbox until they leave, or for a decision that nobody could be asked for."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from botpsy_tui.agent.calls import HOLD, Call, CallRunner, NobodyToAsk, Proposed, change
from botpsy_tui.agent.events import CallFailed, CallFinished, CallInvalid, CallProposed, Event
from botpsy_tui.approval import Approver, Decision, Judge, Question
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import CallMoved, CallRecord, CallState, Journal
from botpsy_tui.journal.processes import is_running, this_process
from botpsy_tui.plugin import Clock, Context, References, Tool

_OVERDUE = timedelta(minutes=1)
"""A call that could not leave in time, as on a machine that slept, has waited unseen: it asks again."""


class Nobody:
    """An approver where nobody can be asked."""

    async def decide(self, question: Question) -> Decision:
        """Refuse."""
        raise NobodyToAsk


@dataclass(frozen=True)
class Left:
    """A call is not in the outbox any more."""

    number: int
    title: str
    state: CallState
    """``DONE``, ``FAILED``, ``UNKNOWN``, ``PENDING`` where it has to be decided on again, or what another
    run has made of it."""
    text: str
    """What came of it, for the person; it may hold text from outside."""


class WaitingCalls:
    """Decides on, sends and takes back the calls that wait. Everything is checked again before it is done."""

    def __init__(
        self,
        *,
        tools: Sequence[Tool[Any]],
        journal: Journal,
        clock: Clock,
        policy_path: Path | None = None,
        hold: timedelta = HOLD,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._journal = journal
        self._clock = clock
        self._policy_path = policy_path
        self._hold = hold
        self._leaving: set[asyncio.Task[Left]] = set()

    # -- the outbox

    async def outbox(self) -> list[CallRecord]:
        """Return the calls in the outbox, oldest first."""
        return await self._journal.held()

    async def mine(self) -> list[CallRecord]:
        """Return the calls in the outbox that this run has put there."""
        return [call for call in await self.outbox() if call.process == this_process()]

    async def left_behind(self) -> list[CallRecord]:
        """Return what waits for the person: pending calls, and those a run that ended left in the outbox."""
        held = [call for call in await self.outbox() if not is_running(call.process)]
        return sorted([*await self._journal.pending(), *held], key=lambda call: call.number)

    async def take_back(self, number: int, *, by: str = "person") -> None:
        """Cancel a call that waits. Raises `JournalProblem` where it has left, or was decided on."""
        await self._journal.record(number, CallState.CANCELLED, {"by": by})

    async def leave(self) -> AsyncGenerator[Left, None]:
        """Have each call of this run leave when its time has come; until cancelled.

        Once a call has begun to leave it does so to its end: `close` waits for that.
        """
        while True:
            for call in await self.mine():
                if call.until is not None and call.until <= datetime.now(UTC):
                    task = asyncio.ensure_future(self.release(call.number))
                    self._leaving.add(task)
                    task.add_done_callback(self._leaving.discard)
                    yield await asyncio.shield(task)
            times = [call.until for call in await self.mine() if call.until is not None]
            rest = (min(times) - datetime.now(UTC)).total_seconds() if times else 1.0
            await asyncio.sleep(min(max(rest, 0.0), 1.0))

    async def release(self, number: int) -> Left:
        """Have a call leave the outbox that the person has approved in this run.

        It is judged and proposed once more: where a rule forbids it now, or it would do something
        else, or it is long overdue, it stays and asks again.
        """
        call = await self._journal.call(number)
        if call.state is not CallState.HELD:
            return Left(number, call.title, call.state, f"It is {call.state.value} already.")
        try:
            tool, context, judge = await self._circumstances(call)
            runner = self._runner(Nobody(), judge)
            if problem := await self._what_hinders(call, runner, judge, tool, context):
                await self._journal.record(number, CallState.PENDING, {"reason": problem})
                return Left(number, call.title, CallState.PENDING, problem)
            end = Left(number, call.title, CallState.UNKNOWN, "")
            async for event in runner.do(_again(call), tool, call.proposal, context):
                match event:
                    case CallFinished(outcome=outcome):
                        end = Left(number, call.title, CallState.DONE, outcome.view)
                    case CallFailed(problem=problem, unknown=unknown):
                        state = CallState.UNKNOWN if unknown else CallState.FAILED
                        end = Left(number, call.title, state, problem)
                    case _:
                        pass
        except CallMoved as problem:
            return Left(number, call.title, (await self._journal.call(number)).state, str(problem))
        except CannotAsk as problem:
            await self._journal.record(number, CallState.PENDING, {"reason": str(problem)})
            return Left(number, call.title, CallState.PENDING, str(problem))
        return end

    async def close(self) -> None:
        """Wait for what has begun to leave; the rest stays in the outbox."""
        if self._leaving:
            await asyncio.wait(self._leaving)

    # -- deciding later

    async def decide(
        self, number: int, approver: Approver, stopping: asyncio.Event | None = None
    ) -> AsyncGenerator[Event, None]:
        """Ask about a call that waits, as it is now, and do what is decided.

        Raises `JournalProblem` where it does not wait any more.
        """
        record = await self._journal.call(number)
        if record.state not in (CallState.PENDING, CallState.HELD):
            raise CallMoved(f"Call {number} does not wait for a decision: it is {record.state.value}.")
        call = _again(record)
        try:
            tool, context, judge = await self._circumstances(record)
            runner = self._runner(approver, judge)
            proposed = await self._as_it_is_now(record, runner, tool, context)
        except CannotAsk as problem:
            yield CallInvalid(call.call_id, record.tool, record.proposal.arguments, str(problem))
            return
        because = _since(record)
        if proposed.proposal.digest != record.proposal.digest:
            because += " " + change(record.proposal, proposed.proposal)
            await runner.replace(call, proposed, context)
        schema = tool.arguments.model_json_schema()
        yield CallProposed(call.call_id, proposed.proposal, schema, call.number)
        async for event in runner.decide(call, tool, proposed, context, stopping or asyncio.Event(), because):
            yield event

    async def _circumstances(self, call: CallRecord) -> tuple[Tool[Any], Context, Judge]:
        """Return what a call runs in: its tool, its words and ids, whose words its conversation holds."""
        tool = self._tools.get(call.tool)
        if tool is None:
            raise CannotAsk(f"There is no tool {call.tool} any more.")
        if call.request is None:
            raise CannotAsk("It was kept by an earlier version, without what it was made from; ask anew.")
        past = await self._journal.conversation(call.conversation)
        context = Context(
            clock=self._clock,
            words=call.request.words,
            references=References(past.shown_ids),
            call_key=call.request.call_key,
        )
        judge = Judge(self._policy_path, self._journal.uses, self._clock)
        judge.taint(past.sources)
        judge.taint(tuple(call.detail.get("taint", ())))
        return tool, context, judge

    async def _as_it_is_now(
        self, call: CallRecord, runner: CallRunner, tool: Tool[Any], context: Context
    ) -> Proposed:
        """Propose a call again from its own words, by the clock of the first time."""
        request = call.request
        assert request is not None
        then = Context(
            clock=lambda: request.moment,
            words=context.words,
            references=context.references,
            call_key=context.call_key,
        )
        proposed = await runner.propose(tool, request.arguments, then)
        if isinstance(proposed, str):
            raise CannotAsk(proposed)
        return proposed

    async def _what_hinders(
        self, call: CallRecord, runner: CallRunner, judge: Judge, tool: Tool[Any], context: Context
    ) -> str:
        """Return why an approved call can't leave by itself, or nothing."""
        if call.until is not None and datetime.now(UTC) - call.until > _OVERDUE:
            return "It could not leave in time, so it asks again."
        judgement = await judge.judge(call.proposal)
        if judgement.decision == "deny":
            return f"A rule forbids it now. {judgement.reason}"
        now = await self._as_it_is_now(call, runner, tool, context)
        return "" if now.proposal.digest == call.proposal.digest else change(call.proposal, now.proposal)

    def _runner(self, approver: Approver, judge: Judge) -> CallRunner:
        return CallRunner(self._tools, approver, judge, self._journal, self._hold)


class CannotAsk(Exception):
    """A call that waits can't be made again now; it goes on waiting."""


def _again(record: CallRecord) -> Call:
    written = ToolCall(record.tool, record.proposal.arguments)
    return Call(record.call_id, written, record.conversation, record.number, waits=True)


def _since(record: CallRecord) -> str:
    """Say why a call that waits is asked about."""
    assert record.request is not None
    asked = (
        f"It was asked for on {record.request.moment:%a %d %b %Y, %H:%M}, and its words are taken from then."
    )
    if record.state is CallState.HELD:
        return f"You had approved it, and BotPsy ended before it left. {asked}"
    reason = str(record.detail.get("reason", ""))
    return f"{reason} {asked}".strip()
