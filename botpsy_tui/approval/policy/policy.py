"""The policy file: the person's rules, read afresh, changed whole or not at all."""

import fcntl
import re
import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from botpsy_tui.approval.policy.reading import Problem, RuleProblem, read_rules
from botpsy_tui.approval.policy.rule import CallFacts, Rule
from botpsy_tui.config import write_private
from botpsy_tui.plugin import Risk


@dataclass(frozen=True)
class Verdict:
    """What the rules make of a call, by which rule, and why."""

    decision: Literal["allow", "ask", "deny"]
    rule: Rule | None = None
    reason: str = ""


@dataclass(frozen=True)
class Policy:
    """Rules, and what is wrong with the file they stand in."""

    rules: tuple[Rule, ...] = ()
    problems: tuple[Problem, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Policy":
        """Read the file; a missing one is an empty policy. What is wrong with it is in `problems`."""
        try:
            text = path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            text = ""
        except (OSError, UnicodeDecodeError) as error:
            return cls(problems=(Problem(1, 1, f"the policy {path} can't be read: {error}"),))
        rules, problems = read_rules(text)
        problems += [
            Problem(1, 1, f"{place} can be written by others; `chmod go-w` it")
            for place in _open_to_others(path)
        ]
        return cls(tuple(rules), tuple(problems))

    def decide(
        self,
        call: CallFacts,
        *,
        now: datetime,
        used: Mapping[str, int] | None = None,
    ) -> Verdict:
        """Say what the rules say: deny before ask before allow; nothing that matches means ask.

        What sends or deletes is never allowed by a rule, and where strangers have spoken, what writes
        only by a rule that has a condition on the call's values. `used` is how often each rule with a
        limit has allowed within its time.
        """
        valid = [rule for rule in self.rules if not rule.expired(now)]
        matching = [rule for rule in valid if rule.matches(call)]
        for rule in matching:
            if rule.decision == "deny":
                return Verdict("deny", rule, rule.reason or f"The rule {rule.id} denies it.")
        for rule in matching:
            if rule.decision == "ask":
                return Verdict("ask", rule, rule.reason or f"The rule {rule.id} asks about it.")
        for rule in valid:
            if rule.decision != "allow" and rule.about(call) is None:
                return Verdict(
                    "ask",
                    rule,
                    f"It can't be told for certain whether the rule {rule.id} is about it: "
                    f"{rule.unmet(call)}.",
                )
        if not matching:
            return Verdict("ask")
        if call.risk in (Risk.SEND, Risk.DESTRUCTIVE):
            return Verdict("ask", matching[0], "What sends or deletes is asked about whatever the rules say.")
        if self.problems:
            return Verdict("ask", None, f"The policy file has a mistake: {self.problems[0]}.")
        if call.always_asks:
            return Verdict("ask", matching[0], "Words of strangers are in this conversation.")
        if call.tainted and call.risk is not Risk.READ:
            by_name = matching[0]
            matching = [rule for rule in matching if rule.has_condition]
            if not matching:
                return Verdict(
                    "ask",
                    by_name,
                    f"Words of strangers are about, and the rule {by_name.id} has no condition.",
                )
        for rule in matching:
            if rule.limit is None or (used or {}).get(rule.id, 0) < rule.limit.count:
                return Verdict("allow", rule, rule.reason or f"The rule {rule.id} allows it.")
        full = next(rule for rule in matching if rule.limit)
        assert full.limit is not None
        return Verdict(
            "ask", full, f"The rule {full.id} has allowed {full.limit.in_words()}, as often as it may."
        )

    def denied_outright(self, tool: str, now: datetime) -> bool:
        """Return whether no call of this tool can ever run, so that the model need not see it."""
        return any(
            rule.decision == "deny"
            and not rule.match
            and not rule.risks
            and not rule.expired(now)
            and rule.matches(CallFacts(tool, Risk.READ, {}))
            for rule in self.rules
        )


def append_rule(path: Path, rule: Rule) -> None:
    """Add a rule to the file. Raises `RuleProblem`, changing nothing."""
    with _changing(path) as text:
        if rule.id in {other.id for other in read_rules(text[0])[0]}:
            raise RuleProblem(
                f"There is a rule {rule.id} in {path} already; revoke it first, or name another id."
            )
        added = rule.as_toml()
        if problems := read_rules(added)[1]:
            raise RuleProblem(problems[0].sentence)
        gap = "" if not text[0] or text[0].endswith("\n\n") else "\n" if text[0].endswith("\n") else "\n\n"
        text[0] += gap + added


def revoke_rule(path: Path, rule_id: str) -> Rule:
    """Take a rule out of the file; return it. Raises `RuleProblem`, changing nothing."""
    with _changing(path) as text:
        rules, _ = read_rules(text[0])
        rule = next((rule for rule in rules if rule.id == rule_id), None)
        if rule is None:
            known = ", ".join(each.id for each in rules) or "none"
            raise RuleProblem(f"There is no rule {rule_id} in {path}; there are: {known}.")
        lines = re.split(r"(?<=\n)", text[0])
        start = rule.line - 1
        ends = (i for i in range(start + 1, len(lines)) if re.match(r"\s*\[\[?\s*rule\s*\]", lines[i]))
        end = next(ends, len(lines))
        while end < len(lines) and end - 1 > start and lines[end - 1].lstrip().startswith("#"):
            end -= 1  # a comment above the next rule is that rule's
        text[0] = "".join([*lines[:start], *lines[end:]])
        left = [replace(each, line=0) for each in read_rules(text[0])[0]]
        if left != [replace(each, line=0) for each in rules if each.id != rule_id]:
            raise RuleProblem(f"The rule {rule_id} can't be cut out cleanly; take it out of {path} by hand.")
        return rule


@contextmanager
def _changing(path: Path) -> Generator[list[str]]:
    """Give the file's text to be changed in place; write it whole, or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (path.parent / f".{path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            policy = Policy.read(path)
            if policy.problems:
                raise RuleProblem(f"The policy {path} has a mistake to mend first: {policy.problems[0]}.")
            text = [path.read_bytes().decode("utf-8") if path.exists() else ""]
            yield text
            write_private(path, text[0])
    except OSError as error:
        raise RuleProblem(f"The policy {path} can't be written: {error}.") from error


def _open_to_others(path: Path) -> list[Path]:
    mask = stat.S_IWGRP | stat.S_IWOTH
    return [place for place in (path, path.parent) if place.exists() and place.stat().st_mode & mask]
