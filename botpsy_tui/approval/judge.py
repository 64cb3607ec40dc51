"""What the rules, the taint and the count of calls say of a proposal, before anyone is asked."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from botpsy_tui.approval.permissions import Uses, times_used
from botpsy_tui.approval.policy import CallFacts, Policy, Rule
from botpsy_tui.plugin import Clock, Proposal, Risk, Tool

_SAME_CALL_LIMIT = 3
_MOST_WRITES = 5


@dataclass(frozen=True)
class Judgement:
    """What becomes of a proposal: it is allowed or denied by a rule, or the person is asked."""

    decision: Literal["allow", "ask", "deny"]
    rule: Rule | None = None
    reason: str = ""
    """In the person's words: why it is denied, allowed, or asked about although a rule allows it."""


class Judge:
    """Judges the calls of one conversation.

    It knows whose words from outside the conversation holds, and how often a call was made. The
    model has no way to any of it, and nothing but a new conversation takes it back.
    """

    def __init__(self, policy_path: Path | None, uses: Uses, clock: Clock) -> None:
        """Judge by the policy at that path, read afresh for each call; None for no rules."""
        self._path = policy_path
        self._uses = uses
        self._clock = clock
        self._sources: dict[str, None] = {}
        self._calls: Counter[str] = Counter()
        self._writes = 0

    @property
    def sources(self) -> tuple[str, ...]:
        """Whose words, from outside, the conversation holds."""
        return tuple(self._sources)

    def taint(self, sources: Sequence[str]) -> None:
        """Note that words of strangers have come into the conversation."""
        self._sources.update(dict.fromkeys(sources))

    def begin_task(self) -> None:
        """The person has spoken: writes are counted from nothing."""
        self._writes = 0

    def shown_to_model(self, tools: Sequence[Tool[Any]]) -> list[Tool[Any]]:
        """Return the tools without those of which no call can run: the model need not see them."""
        policy, now = self._policy(), self._clock()
        return [tool for tool in tools if not policy.denied_outright(tool.name, now)]

    def count(self, proposal: Proposal) -> None:
        """Count a call that is proposed for the first time."""
        self._calls[proposal.digest] += 1

    def count_done(self, proposal: Proposal) -> None:
        """Count a call that is about to be done."""
        self._writes += proposal.risk is not Risk.READ

    async def judge(self, proposal: Proposal) -> Judgement:
        """Say what the rules say, read afresh, unless the call repeats too often for rules."""
        policy, now = self._policy(), self._clock()
        call = CallFacts.of(proposal, tainted=bool(self._sources))
        verdict = policy.decide(call, now=now, used=await times_used(policy, self._uses, now))
        if verdict.decision == "allow" and (reason := self._breaker(proposal)):
            return Judgement("ask", verdict.rule, reason)
        return Judgement(verdict.decision, verdict.rule, verdict.reason)

    def _policy(self) -> Policy:
        return Policy.read(self._path) if self._path else Policy()

    def _breaker(self, proposal: Proposal) -> str:
        """Return why a call is asked about whatever the rules say, or nothing."""
        if (times := self._calls[proposal.digest]) >= _SAME_CALL_LIMIT:
            return f"The same call has been made {times} times in this conversation."
        if proposal.risk is not Risk.READ and self._writes >= _MOST_WRITES:
            return f"{self._writes} calls have already changed something in this task."
        return ""
