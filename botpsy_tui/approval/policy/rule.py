"""A rule: which calls it is about, and what becomes of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from textwrap import shorten
from typing import Any, Literal

from botpsy_tui.approval.policy.matching import Matcher, holds, said
from botpsy_tui.approval.policy.shell import is_pattern
from botpsy_tui.plugin import Json, Proposal, Risk

RuleDecision = Literal["allow", "ask", "deny"]

OUTBOUND_DATA = "outbound_data"
"""The fact by which a tool says that its call could carry data out of the house."""

COMMAND = "command"
"""The value that holds a shell line."""


@dataclass(frozen=True)
class CallFacts:
    """What rules may look at: the tool, its risk, its resolved values, and whether strangers spoke."""

    tool: str
    risk: Risk
    values: Mapping[str, Json]
    tainted: bool = False

    @classmethod
    def of(cls, proposal: Proposal, *, tainted: bool) -> "CallFacts":
        """Take them of a proposal: its arguments, and over them the facts that its tool resolved."""
        values = {**proposal.arguments, **proposal.facts}
        return cls(proposal.tool, proposal.risk, values, tainted)

    @property
    def always_asks(self) -> bool:
        """True where strangers' words are about and the call could carry something out or destroy."""
        outbound = self.values.get(OUTBOUND_DATA) not in (None, False)
        return self.tainted and (self.risk in (Risk.SEND, Risk.DESTRUCTIVE) or outbound)


@dataclass(frozen=True)
class Limit:
    """How often a rule may allow: `count` times in any `seconds`."""

    count: int
    seconds: int

    def in_words(self) -> str:
        """Return it as a person says it."""
        return f"{self.count} times in {self.seconds} seconds"


@dataclass(frozen=True)
class Example:
    """A call, as a few values, that a rule must or must not match."""

    values: Mapping[str, Json]
    must_match: bool


@dataclass(frozen=True)
class Rule:
    """One rule of the policy."""

    id: str
    tool: str
    """A tool's name, or a glob over names."""
    decision: RuleDecision
    match: Mapping[str, tuple[Matcher, ...]] = field(default_factory=dict[str, tuple[Matcher, ...]])
    risks: tuple[Risk, ...] = ()
    """The risks it is about; empty for all."""
    limit: Limit | None = None
    reason: str = ""
    expires: datetime | None = None
    examples: tuple[Example, ...] = ()
    line: int = 0
    """Where it stands in the policy file, from 1; 0 for none."""

    def matches(self, call: CallFacts) -> bool:
        """Return whether the rule is about this call, beyond doubt."""
        return self.about(call) is True

    def about(self, call: CallFacts) -> bool | None:
        """Return whether the rule is about this call; None where a value can't be read for certain.

        To allow, every element of a list must meet a condition; to deny or ask, one is enough. A
        call with a shell line is allowed only by a rule on the line's words.
        """
        certain = True
        for met, _ in self._conditions(call):
            if met is False:
                return False
            certain = certain and met is not None
        return True if certain else None

    def unmet(self, call: CallFacts) -> str:
        """Return the condition that keeps the rule from being about this call, and what is so instead.

        Else the one of which it can't be told; nothing where the rule is about the call.
        """
        conditions = list(self._conditions(call))
        return next((words for wanted in (False, None) for met, words in conditions if met is wanted), "")

    def _conditions(self, call: CallFacts) -> Iterator[tuple[bool | None, str]]:
        """Give each condition: whether it is met (None: can't be told), and its words."""
        allows = self.decision == "allow"
        yield fnmatchcase(call.tool, self.tool), f"the tool is {self.tool} (here {call.tool})"
        yield (
            not self.risks or call.risk in self.risks,
            f"it is a {' or '.join(self.risks)} (here {call.risk})",
        )
        if allows and call.values.get(COMMAND) is not None:
            yield self.names_words, f"a {COMMAND} is allowed by its words, with argv"
        for name, matchers in self.match.items():
            value = call.values.get(name)
            here = "not given" if value is None else f"here {shorten(said(value), 80)}"
            for matcher in matchers:
                met = holds(matcher, call.values, name, every=allows)
                yield met, f"{name} {matcher.in_words()} ({here})"

    @property
    def names_words(self) -> bool:
        """True where the rule has a condition on the words of a shell line."""
        return any(matcher.kind == "argv" for matcher in self.match.get(COMMAND, ()))

    @property
    def has_condition(self) -> bool:
        """True where it wants something of a value that is there; else it takes whatever a call holds."""
        return any(
            matcher.kind != "present" or matcher.operand
            for matchers in self.match.values()
            for matcher in matchers
        )

    @property
    def takes_any_tool(self) -> bool:
        """True where it allows by a pattern of names alone: then it takes whatever a plugin brings."""
        by_name_alone = is_pattern(self.tool) and self.risks != (Risk.READ,)
        return self.decision == "allow" and by_name_alone and not self.has_condition

    def expired(self, now: datetime) -> bool:
        """Return whether its time is over."""
        return self.expires is not None and now >= self.expires

    def in_words(self) -> str:
        """Return the rule as one sentence."""
        verb = {"allow": "Allow", "ask": "Ask about", "deny": "Deny"}[self.decision]
        parts = [f"{verb} {self.tool}"]
        if self.risks:
            parts.append(f"that is {' or '.join(self.risks)}")
        conditions = [
            f"{name} {matcher.in_words()}" for name, matchers in self.match.items() for matcher in matchers
        ]
        if conditions:
            parts.append("where " + " and ".join(conditions))
        if self.limit:
            parts.append(f"at most {self.limit.in_words()}")
        if self.expires:
            parts.append(f"until {self.expires:%Y-%m-%d %H:%M}")
        return ", ".join(parts) + "."

    def as_toml(self) -> str:
        """Return the rule as it stands in the policy file."""
        lines = ["[[rule]]", f"id = {_toml(self.id)}", f"tool = {_toml(self.tool)}"]
        lines.append(f"decision = {_toml(self.decision)}")
        if self.risks:
            lines.append(f"risk = {_toml([str(risk) for risk in self.risks])}")
        if self.reason:
            lines.append(f"reason = {_toml(self.reason)}")
        if self.expires:
            lines.append(f"expires = {self.expires.isoformat()}")
        if self.limit:
            lines.append(f"limit = {{ count = {self.limit.count}, seconds = {self.limit.seconds} }}")
        for key, wanted in (("must_match", True), ("must_not_match", False)):
            if examples := [dict(e.values) for e in self.examples if e.must_match is wanted]:
                lines.append(f"{key} = {_toml(examples)}")
        if self.match:
            lines.append("[rule.match]")
            for name, matchers in self.match.items():
                conditions = ", ".join(f"{m.kind} = {_toml(m.operand)}" for m in matchers)
                lines.append(f"{_toml(name)} = {{ {conditions} }}")
        return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"  # pyright: ignore
        case dict():
            return "{" + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + "}"  # pyright: ignore
        case _:
            return str(value)
