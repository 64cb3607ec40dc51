"""One call's way: validated, proposed, decided, committed, each stage on record before the next."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from pydantic import BaseModel, ValidationError

from botpsy_tui.agent.events import (
    CallDecided,
    CallFailed,
    CallFinished,
    CallInvalid,
    CallProposed,
    CallStarted,
    Event,
)
from botpsy_tui.agent.pointing import NotPointedAt, pointed_at
from botpsy_tui.approval import (
    ApprovalGate,
    ApprovalMismatch,
    Approve,
    Approver,
    Decision,
    Edit,
    Question,
    Reject,
    Stop,
)
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import CallState, Journal
from botpsy_tui.plugin import Context, Proposal, Tool, ToolError


class CallVerdict(Enum):
    """How a call ended, for the turn."""

    ANSWERED = auto()
    STOPPED = auto()
    REFUSED = auto()


@dataclass
class Call:
    """One call on its way; `answer` is what the model is told."""

    call_id: str
    written: ToolCall
    conversation: int
    answer: str = ""
    verdict: CallVerdict = CallVerdict.ANSWERED
    edits: list[str] = field(default_factory=list[str])
    complete: bool = False
    """True where `answer` is all there is to say to the person too."""


class NobodyToAsk(Exception):
    """Raised by an approver that can't ask anyone: the call is not run and the turn ends."""


class CallRunner:
    """Runs calls: nothing is committed but what was approved, once, as it was shown."""

    def __init__(self, tools: Mapping[str, Tool[Any]], approver: Approver, journal: Journal) -> None:
        self._tools = tools
        self._approver = approver
        self._journal = journal
        self._gate = ApprovalGate()

    async def run(self, call: Call, context: Context, stopping: asyncio.Event) -> AsyncGenerator[Event, None]:
        """Take one call to its end."""
        tool = self._tools.get(call.written.name)
        if tool is None:
            yield self._invalid(
                call, f"There is no tool {call.written.name}; there are {', '.join(self._tools)}."
            )
            return
        try:
            arguments = pointed_at(tool.arguments.model_json_schema(), call.written.arguments, context)
        except NotPointedAt as problem:
            yield self._invalid(call, str(problem))
            return
        proposed = await self._propose(tool, arguments, context)
        if isinstance(proposed, str):
            yield self._invalid(call, proposed)
            return
        row, problem, proposal = (
            await self._journal.propose(call.conversation, call.call_id, proposed),
            "",
            proposed,
        )
        while True:
            if not problem:
                yield CallProposed(call.call_id, proposal, tool.arguments.model_json_schema())
            decision = await self._decide(call, proposal, tool, problem, stopping)
            yield CallDecided(call.call_id, decision)
            if not isinstance(decision, Edit):
                break
            edited = await self._propose(tool, decision.arguments, context)
            if isinstance(edited, str):
                problem = edited
                continue
            problem = ""
            call.edits.append(_difference(proposal, edited))
            await self._journal.record(row, CallState.REPLACED, {"arguments": dict(decision.arguments)})
            row, proposal = await self._journal.propose(call.conversation, call.call_id, edited), edited
        if not isinstance(decision, Approve):
            await self._reject(call, row, decision)
            return
        async for event in self._commit(call, row, decision, proposal, tool, context):
            yield event

    async def _decide(
        self, call: Call, proposal: Proposal, tool: Tool[Any], problem: str, stopping: asyncio.Event
    ) -> Decision:
        """Ask, unless and until the turn is stopped."""
        question = Question(call.call_id, proposal, tool.arguments.model_json_schema(), problem)
        asking = asyncio.ensure_future(self._approver.decide(question))
        waiting = asyncio.ensure_future(stopping.wait())
        try:
            await asyncio.wait({asking, waiting}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else Stop()
        except NobodyToAsk:
            call.verdict = CallVerdict.REFUSED
            return Reject("Nobody could be asked.")
        finally:
            asking.cancel()
            waiting.cancel()

    async def _reject(self, call: Call, row: int, decision: Reject | Stop) -> None:
        reason = decision.reason if isinstance(decision, Reject) else ""
        await self._journal.record(row, CallState.REJECTED, {"reason": reason})
        if isinstance(decision, Stop):
            call.verdict = CallVerdict.STOPPED
            call.answer = "Not run: the person stopped."
        else:
            call.answer = (
                f"Not run: the person said no. Their reason: {reason}"
                if reason
                else ("Not run: the person said no.")
            )

    async def _commit(
        self,
        call: Call,
        row: int,
        approval: Approve,
        proposal: Proposal,
        tool: Tool[Any],
        context: Context,
    ) -> AsyncGenerator[Event, None]:
        try:
            self._gate.spend(call.call_id, approval, proposal)
        except ApprovalMismatch as error:
            await self._journal.record(row, CallState.REJECTED, {"reason": str(error)})
            call.answer = f"Not run: {error}"
            yield CallFailed(call.call_id, str(error))
            return
        await self._journal.record(row, CallState.APPROVED, {"by": approval.by, "digest": approval.digest})
        await self._journal.record(row, CallState.STARTED)
        yield CallStarted(call.call_id)
        try:
            outcome = await tool.commit(proposal, context)
        except ToolError as error:
            unknown = bool(getattr(error, "unknown", False))
            await self._journal.record(
                row, CallState.UNKNOWN if unknown else CallState.FAILED, {"problem": str(error)}
            )
            call.answer = f"Failed: {error}"
            yield CallFailed(call.call_id, str(error), unknown)
            return
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the house down
            problem = (
                f"{tool.name} broke ({type(error).__name__}: {error}); it is not known whether it was done."
            )
            await self._journal.record(row, CallState.UNKNOWN, {"problem": problem})
            call.answer = f"Failed: {problem}"
            yield CallFailed(call.call_id, problem, unknown=True)
            return
        await self._journal.finish(row, outcome)
        edits = "".join(f" (The person changed {edit}.)" for edit in call.edits if edit)
        call.answer = outcome.text + edits
        call.complete = outcome.complete
        yield CallFinished(call.call_id, outcome)

    async def _propose(
        self, tool: Tool[Any], arguments: Mapping[str, Any], context: Context
    ) -> Proposal | str:
        """Return the tool's proposal, or what is wrong with the arguments."""
        try:
            validated: BaseModel = tool.arguments.model_validate(dict(arguments))
            proposal = await tool.propose(validated, context)
        except ValidationError as error:
            return "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
                for problem in error.errors(include_url=False)[:3]
            )
        except ToolError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the house down
            return f"{tool.name} can't be used now ({type(error).__name__}: {error})."
        if proposal.risk.exceeds(tool.highest_risk):
            return (
                f"{tool.name} wanted more than it declares ({proposal.risk.value}, and at worst "
                f"{tool.highest_risk.value}): it is not run."
            )
        return proposal

    def _invalid(self, call: Call, problem: str) -> CallInvalid:
        call.answer = f"Error: {problem}"
        return CallInvalid(call.call_id, call.written.name, call.written.arguments, problem)


def _difference(before: Proposal, after: Proposal) -> str:
    """Say which arguments an edit changed, in the model's terms."""
    names = sorted({*before.arguments, *after.arguments})
    return ", ".join(
        f"{name} to {after.arguments.get(name) or 'nothing'}"
        for name in names
        if before.arguments.get(name) != after.arguments.get(name)
    )
