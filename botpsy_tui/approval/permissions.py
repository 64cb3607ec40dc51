"""The rules in force as a person looks at them: where each stands, what it decided lately, what is wrong."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from botpsy_tui.approval.policy import Policy, Problem, Rule
from botpsy_tui.journal import Journal, Ruling

Uses = Callable[[str, datetime], Awaitable[int]]
"""How often calls were approved by the rule with this id, since then."""

NO_RULES = "There are no rules: every call asks."

WITH_PROBLEMS = "Until this is mended no rule allows anything; a denial that can be read still denies."
"""What a mistake in the file means."""

_LATELY = 3


@dataclass(frozen=True)
class Permission:
    """A rule, and what came of it."""

    rule: Rule
    source: str
    """Where it stands: the file and the line."""
    expired: bool
    used: int
    """How often it has allowed within the time of its limit; 0 for a rule without one."""
    lately: Sequence[Ruling]
    """The last calls that it decided, the last one first."""

    @property
    def limit_used(self) -> str:
        """How much of its limit is used, in words; nothing where it has none."""
        return f"Used {self.used} of {self.rule.limit.in_words()}." if self.rule.limit else ""

    def details(self) -> list[str]:
        """Return what a person may want to know beside the rule itself, a line each."""
        said = {True: "allowed", False: "denied"}
        return [
            *(["It has expired."] if self.expired else []),
            *([self.rule.reason] if self.rule.reason else []),
            self.source,
            *filter(None, [self.limit_used]),
            *(
                f"{each.at.astimezone():%Y-%m-%d %H:%M} {said[each.allowed]} “{each.title}”"
                for each in self.lately
            ),
        ]


@dataclass(frozen=True)
class Permissions:
    """All rules, and what is wrong with the file that they stand in."""

    path: Path
    rules: tuple[Permission, ...]
    problems: tuple[Problem, ...]


async def read_permissions(path: Path, journal: Journal, now: datetime) -> Permissions:
    """Read the policy file at `path`, and what the journal tells of its rules."""
    policy = Policy.read(path)
    used = await times_used(policy, journal.uses, now)
    rules = [
        Permission(
            rule,
            source=f"{path.name}, line {rule.line}",
            expired=rule.expired(now),
            used=used.get(rule.id, 0),
            lately=await journal.rulings(rule.id, _LATELY),
        )
        for rule in policy.rules
    ]
    return Permissions(path, tuple(rules), policy.problems)


async def times_used(policy: Policy, uses: Uses, now: datetime) -> dict[str, int]:
    """Return how often each rule with a limit has allowed within its time."""
    return {
        rule.id: await uses(rule.id, now - timedelta(seconds=rule.limit.seconds))
        for rule in policy.rules
        if rule.limit is not None
    }
