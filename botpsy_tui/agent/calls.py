"""One call's way: validated, proposed, decided, committed, each stage on record before the next."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from botpsy_tui.agent.events import (
    CallDecided,
    CallFailed,
    CallFinished,
    CallHeld,
    CallInvalid,
    CallProgress,
    CallProposed,
    CallStarted,
    Event,
)
from botpsy_tui.agent.pointing import NotPointedAt, pointed_at
from botpsy_tui.agent.progress import told_while
from botpsy_tui.approval import (
    ApprovalGate,
    ApprovalMismatch,
    Approve,
    Approver,
    Decision,
    Edit,
    Judge,
    Judgement,
    Question,
    Reject,
    Stop,
)
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import CallRequest, CallState, Journal
from botpsy_tui.plugin import Context, Proposal, Risk, Tool, ToolError

HOLD = timedelta(seconds=30)
"""How long an approved call waits in the outbox, unless the settings say otherwise."""


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
    number: int = 0
    """Its number in the journal, once it is proposed."""
    waits: bool = False
    """True where it has waited for a decision before: it goes on waiting where it gets none."""
    answer: str = ""
    verdict: CallVerdict = CallVerdict.ANSWERED
    edits: list[str] = field(default_factory=list[str])
    complete: bool = False
    """True where `answer` is all there is to say to the person too."""


@dataclass(frozen=True)
class Proposed:
    """A proposal, and what it can be made again from."""

    proposal: Proposal
    arguments: Mapping[str, Any]
    moment: datetime


class NobodyToAsk(Exception):
    """Raised by an approver that can't ask anyone: the call is not run and the turn ends."""


class CallRunner:
    """Runs calls: nothing is committed but what was approved, once, as it was shown."""

    def __init__(
        self,
        tools: Mapping[str, Tool[Any]],
        approver: Approver,
        judge: Judge,
        journal: Journal,
        hold: timedelta = HOLD,
    ) -> None:
        """`hold`: how long an approved call waits in the outbox, where it is one that is held."""
        self._tools = tools
        self._approver = approver
        self._judge = judge
        self._journal = journal
        self._hold = hold
        self._gate = ApprovalGate()

    async def run(self, call: Call, context: Context, stopping: asyncio.Event) -> AsyncGenerator[Event, None]:
        """Take one call to its end."""
        context = replace(context, call_key=str(uuid4()))
        tool = self._tools.get(call.written.name)
        if tool is None:
            yield self._invalid(
                call, f"There is no tool {call.written.name}; there are {', '.join(self._tools)}."
            )
            return
        schema = tool.arguments.model_json_schema()
        try:
            arguments = pointed_at(schema, call.written.arguments, context)
        except NotPointedAt as problem:
            yield self._invalid(call, str(problem))
            return
        proposed = await self.propose(tool, arguments, context)
        if isinstance(proposed, str):
            yield self._invalid(call, proposed)
            return
        self._judge.count(proposed.proposal)
        call.number = await self._record(call, proposed, context)
        yield CallProposed(call.call_id, proposed.proposal, schema, call.number)
        async for event in self.decide(call, tool, proposed, context, stopping):
            yield event

    async def decide(
        self,
        call: Call,
        tool: Tool[Any],
        proposed: Proposed,
        context: Context,
        stopping: asyncio.Event,
        because: str = "",
    ) -> AsyncGenerator[Event, None]:
        """Have a call that is on record decided on, and do what was decided.

        `because`: why it is asked whatever the rules allow.
        """
        schema = tool.arguments.model_json_schema()
        problem, asked = "", bool(because)
        while True:
            judgement = await self._judge.judge(proposed.proposal)
            decision = _ruled(judgement, proposed.proposal, asked=asked)
            if decision is None:
                asked = True
                because = because or judgement.reason
                decision = await self._ask(call, proposed.proposal, schema, problem, because, stopping)
            yield CallDecided(call.call_id, decision)
            problem = because = ""
            if isinstance(decision, Edit):
                other = await self.propose(tool, decision.arguments, context)
                if isinstance(other, str):
                    problem = other
                    continue
                call.edits.append(_difference(proposed.proposal, other.proposal))
            elif isinstance(decision, Approve) and not decision.rule:
                other = await self._as_it_is_now(tool, proposed, decision, context)
                if isinstance(other, str):
                    await self._give_up(call, other)
                    yield CallFailed(call.call_id, other)
                    return
                if other is proposed:
                    break
                because = change(proposed.proposal, other.proposal)
            else:
                break
            proposed = other
            await self.replace(call, proposed, context)
            yield CallProposed(call.call_id, proposed.proposal, schema, call.number)
        if not isinstance(decision, Approve):
            await self._reject(call, decision)
            return
        async for event in self._commit(call, decision, proposed.proposal, tool, context):
            yield event

    async def replace(self, call: Call, proposed: Proposed, context: Context) -> None:
        """Put another proposal in a call's place: after an edit, or because something has changed."""
        call.number = await self._record(call, proposed, context, replaces=call.number)

    async def _record(
        self, call: Call, proposed: Proposed, context: Context, *, replaces: int | None = None
    ) -> int:
        """Keep a proposal with all that it can be made again from; return its number."""
        request = CallRequest(proposed.arguments, context.words, context.call_key, proposed.moment)
        return await self._journal.propose(
            call.conversation,
            call.call_id,
            proposed.proposal,
            request,
            replaces=replaces,
            waits=call.waits,
        )

    async def _ask(
        self,
        call: Call,
        proposal: Proposal,
        schema: Mapping[str, Any],
        problem: str,
        because: str,
        stopping: asyncio.Event,
    ) -> Decision:
        """Ask, unless and until the turn is stopped."""
        sources = self._judge.sources if proposal.risk is not Risk.READ else ()
        question = Question(call.call_id, proposal, schema, problem, because, sources)
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

    async def _as_it_is_now(
        self, tool: Tool[Any], approved: "Proposed", approval: Approve, context: Context
    ) -> "Proposed | str":
        """Return what was approved where it is still what would be done; else what would be done now.

        The world and the rules may have changed while the person was thinking. What only reads is
        not looked at twice, nor is an approval that names something else.
        """
        proposal = approved.proposal
        if (denied := await self._judge.judge(proposal)).decision == "deny":
            return denied.reason
        if proposal.risk is Risk.READ or approval.digest != proposal.digest:
            return approved
        moment = approved.moment
        now = await self.propose(tool, approved.arguments, replace(context, clock=lambda: moment))
        return now if isinstance(now, str) or now.proposal.digest != proposal.digest else approved

    async def _give_up(self, call: Call, problem: str) -> None:
        await self._journal.record(call.number, CallState.REJECTED, {"reason": problem})
        call.answer = f"Not run: {problem}"

    async def _reject(self, call: Call, decision: Reject | Stop) -> None:
        if call.verdict is CallVerdict.REFUSED or (call.waits and isinstance(decision, Stop)):
            await self._leave_pending(call)
            call.answer = "Not run: nobody could be asked. It is kept for the person to decide on later."
            return
        reason = decision.reason if isinstance(decision, Reject) else ""
        rule = decision.rule if isinstance(decision, Reject) else ""
        await self._journal.record(call.number, CallState.REJECTED, {"reason": reason, "rule": rule})
        if rule:
            call.answer = f"Not run: a rule of the person forbids it. {reason}"
        elif isinstance(decision, Stop):
            call.verdict = CallVerdict.STOPPED
            call.answer = "Not run: the person stopped."
        else:
            call.answer = (
                f"Not run: the person said no. Their reason: {reason}"
                if reason
                else ("Not run: the person said no.")
            )

    async def _leave_pending(self, call: Call) -> None:
        """See to it that a call waits for a decision, where it does not already."""
        if (await self._journal.call(call.number)).state is CallState.PROPOSED:
            await self._journal.record(call.number, CallState.PENDING, {"taint": self._judge.sources})

    async def _commit(
        self,
        call: Call,
        approval: Approve,
        proposal: Proposal,
        tool: Tool[Any],
        context: Context,
    ) -> AsyncGenerator[Event, None]:
        try:
            self._gate.spend(call.call_id, approval, proposal)
        except ApprovalMismatch as error:
            await self._give_up(call, str(error))
            yield CallFailed(call.call_id, str(error))
            return
        approved = {"by": approval.by, "rule": approval.rule, "digest": approval.digest}
        await self._journal.record(
            call.number, CallState.APPROVED, {**approved, "taint": self._judge.sources}
        )
        self._judge.count_done(proposal)
        if proposal.held and self._hold:
            until = datetime.now(UTC) + self._hold
            await self._journal.record(call.number, CallState.HELD, {"until": until.isoformat()})
            call.answer = (
                f"Approved. It waits in the outbox for {self._hold.total_seconds():.0f} seconds, and leaves "
                "then unless the person takes it back. It has not been sent yet."
            )
            yield CallHeld(call.call_id, call.number, until)
            return
        async for event in self.do(call, tool, proposal, context):
            yield event

    async def do(
        self, call: Call, tool: Tool[Any], proposal: Proposal, context: Context
    ) -> AsyncGenerator[Event, None]:
        """Do a call that is approved and on record as that."""
        await self._journal.record(call.number, CallState.STARTED)
        yield CallStarted(call.call_id)
        told: asyncio.Queue[str] = asyncio.Queue()
        running = asyncio.ensure_future(tool.commit(proposal, replace(context, progress=told.put_nowait)))
        async with aclosing(told_while(running, told)) as pieces:
            async for piece in pieces:
                yield CallProgress(call.call_id, piece)
        try:
            outcome = running.result()
        except ToolError as error:
            self._judge.taint(error.sources)
            state = CallState.UNKNOWN if error.unknown else CallState.FAILED
            await self._journal.record(call.number, state, {"problem": str(error)})
            call.answer = f"Failed: {error}"
            yield CallFailed(call.call_id, str(error), error.unknown)
            return
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the house down
            problem = (
                f"{tool.name} broke ({type(error).__name__}: {error}); it is not known whether it was done."
            )
            await self._journal.record(call.number, CallState.UNKNOWN, {"problem": problem})
            call.answer = f"Failed: {problem}"
            yield CallFailed(call.call_id, problem, unknown=True)
            return
        self._judge.taint(outcome.sources)
        await self._journal.finish(call.number, outcome)
        edits = "".join(f" (The person changed {edit}.)" for edit in call.edits if edit)
        call.answer = outcome.text + edits
        call.complete = outcome.complete
        yield CallFinished(call.call_id, outcome)

    async def propose(
        self, tool: Tool[Any], arguments: Mapping[str, Any], context: Context
    ) -> "Proposed | str":
        """Return the tool's proposal, or what is wrong with the arguments.

        The clock stands still meanwhile: the same arguments proposed again for that moment are the same.
        """
        moment = context.now
        context = replace(context, clock=lambda: moment)
        try:
            validated: BaseModel = tool.arguments.model_validate(dict(arguments))
            proposal = await tool.propose(validated, context)
        except ValidationError as error:
            return "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
                for problem in error.errors(include_url=False)[:3]
            )
        except ToolError as error:
            self._judge.taint(error.sources)
            return str(error)
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the house down
            return f"{tool.name} can't be used now ({type(error).__name__}: {error})."
        if proposal.risk.exceeds(tool.highest_risk):
            return (
                f"{tool.name} wanted more than it declares ({proposal.risk.value}, and at worst "
                f"{tool.highest_risk.value}): it is not run."
            )
        return Proposed(proposal, dict(arguments), moment)

    def _invalid(self, call: Call, problem: str) -> CallInvalid:
        call.answer = f"Error: {problem}"
        return CallInvalid(call.call_id, call.written.name, call.written.arguments, problem)


def _ruled(judgement: Judgement, proposal: Proposal, *, asked: bool) -> Decision | None:
    """Return what a rule decides. Once the person has been asked, no rule says yes in their place."""
    rule = judgement.rule.id if judgement.rule else ""
    if judgement.decision == "deny":
        return Reject(judgement.reason, rule=rule)
    if judgement.decision == "allow" and not asked:
        return Approve(proposal.digest, by=f"the rule {rule}", rule=rule)
    return None


def change(before: Proposal, after: Proposal) -> str:
    """Say what the preview shows otherwise than it did."""
    old = {line.label: line.value for line in before.preview.lines}
    new = {line.label: line.value for line in after.preview.lines}
    changes = [
        f"{label}: {old.get(label, 'nothing')} → {new.get(label, 'nothing')}"
        for label in dict.fromkeys([*old, *new])
        if old.get(label) != new.get(label)
    ]
    return "It has changed since you were asked. " + "; ".join(changes or ["What lies behind it is new."])


def _difference(before: Proposal, after: Proposal) -> str:
    """Say which arguments an edit changed, in the model's terms."""
    names = sorted({*before.arguments, *after.arguments})
    return ", ".join(
        f"{name} to {after.arguments.get(name) or 'nothing'}"
        for name in names
        if before.arguments.get(name) != after.arguments.get(name)
    )
