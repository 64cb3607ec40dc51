"""Reads rules out of TOML, with the line and column of each mistake."""

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, cast

from botpsy_tui.approval.policy.matching import KINDS, Matcher
from botpsy_tui.approval.policy.rule import COMMAND, Example, Limit, Rule
from botpsy_tui.approval.policy.shell import argv_problem
from botpsy_tui.plugin import Risk

_FIELDS = {
    "id", "tool", "decision", "match", "risk", "limit", "reason", "expires", "must_match", "must_not_match"
}  # fmt: skip
_UNMATCHED = (Risk.SEND, Risk.DESTRUCTIVE)


@dataclass(frozen=True)
class Problem:
    """One mistake: where it stands, from 1, and what it is."""

    line: int
    column: int
    sentence: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.sentence}"


class RuleProblem(Exception):
    """A rule can't be taken; the message says where and why."""


class _Mistake(Exception):
    def __init__(self, path: tuple[str, ...], sentence: str) -> None:
        super().__init__(sentence)
        self.path, self.sentence = path, sentence


def read_rules(text: str) -> tuple[list[Rule], list[Problem]]:
    """Return the rules that can be read, and what is wrong with the rest."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers too long, and brackets too deep
        return _denials_that_stand(text), [_syntax_problem(text, str(error))]
    places = _Places(text)
    rules: list[Rule] = []
    problems = [
        Problem(*places.of(None, (key,)), f"there is no {key} here; a policy holds [[rule]] tables")
        for key in document
        if key != "rule"
    ]
    tables = document.get("rule", [])
    if not isinstance(tables, list):
        return [], [Problem(1, 1, "a rule begins with [[rule]], in double brackets")]
    seen: set[str] = set()
    for index, table in enumerate(cast(list[Any], tables)):
        try:
            rule = _rule(table, places.of(index, ())[0])
            if rule.id in seen:
                raise _Mistake(("id",), f"a second rule has the id {rule.id}")
            seen.add(rule.id)
            rules.append(rule)
        except _Mistake as mistake:
            problems.append(Problem(*places.of(index, mistake.path), mistake.sentence))
    return rules, problems


def _denials_that_stand(text: str) -> list[Rule]:
    """Return the rules of a broken file that deny or ask and can be read by themselves."""
    starts = [start.start() for start in re.finditer(r"^[ \t]*\[\[[ \t]*rule[ \t]*\]\]", text, re.MULTILINE)]
    standing: list[Rule] = []
    for start, end in pairwise([*starts, len(text)]):
        with contextlib.suppress(ValueError, RecursionError, _Mistake):
            table = tomllib.loads(text[start:end])["rule"][0]
            standing.append(_rule(table, text.count("\n", 0, start) + 1))
    return [rule for rule in standing if rule.decision != "allow"]


def parse_rule(text: str) -> Rule:
    """Read exactly one rule. Raises `RuleProblem`."""
    rules, problems = read_rules(text)
    if problems:
        raise RuleProblem(str(problems[0]))
    if len(rules) != 1:
        raise RuleProblem("Write exactly one [[rule]].")
    return rules[0]


def _rule(table: Any, line: int) -> Rule:
    if not isinstance(table, dict):
        raise _Mistake((), "a rule is a table")
    fields = cast(dict[str, Any], table)
    for key in fields:
        if key not in _FIELDS:
            raise _Mistake((key,), f"a rule has no field {key}")
    decision = fields.get("decision")
    if decision not in ("allow", "ask", "deny"):
        raise _Mistake(("decision",), "decision must be allow, ask or deny")
    rule = Rule(
        id=_text(fields, "id"),
        tool=_text(fields, "tool"),
        decision=decision,
        match=_match(fields.get("match", {}), allows=decision == "allow"),
        risks=_risks(fields.get("risk", [])),
        limit=_limit(fields),
        reason=_text(fields, "reason", needed=False),
        expires=_expires(fields),
        examples=tuple(_examples(fields)),
        line=line,
    )
    if decision == "allow" and any(risk in _UNMATCHED for risk in rule.risks):
        raise _Mistake(("risk",), "what sends or deletes can't be allowed here: it asks each time")
    if decision == "allow" and COMMAND in rule.match and not rule.names_words:
        raise _Mistake(("match", COMMAND), f"a {COMMAND} can be allowed only by its words, with argv")
    if rule.takes_any_tool:
        raise _Mistake(
            ("tool",),
            f"{rule.tool} takes every tool of that name, now and later, and what it writes: "
            'add risk = "read", or a condition under match, or name one tool',
        )
    if rule.limit and decision != "allow":
        raise _Mistake(("limit",), "a limit belongs to a rule that allows")
    return rule


def _text(fields: Mapping[str, Any], key: str, *, needed: bool = True) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str) or (needed and not value):
        raise _Mistake((key,), f"a rule needs {key}, a text" if needed else f"{key} must be a text")
    if not value.isprintable():
        raise _Mistake((key,), f"{key} holds characters that can't be shown")
    return value


def _risks(value: Any) -> tuple[Risk, ...]:
    given = cast(list[Any], value) if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each in set(Risk) for each in given):
        raise _Mistake(("risk",), f"risk must be among {', '.join(Risk)}")
    return tuple(Risk(each) for each in given)


def _match(value: Any, *, allows: bool) -> dict[str, tuple[Matcher, ...]]:
    if not isinstance(value, dict):
        raise _Mistake(("match",), "match is a table of conditions")
    match: dict[str, tuple[Matcher, ...]] = {}
    for name, conditions in cast(dict[str, Any], value).items():
        given = cast(dict[str, Any], conditions) if isinstance(conditions, dict) else {"equals": conditions}
        if not given:
            raise _Mistake(("match", name), f"{name} has no condition")
        match[name] = tuple(_matcher(name, kind, operand, allows) for kind, operand in given.items())
    return match


def _matcher(name: str, kind: str, operand: Any, allows: bool) -> Matcher:
    if kind not in KINDS:
        raise _Mistake(("match", name), f"there is no condition {kind}; there are {', '.join(KINDS)}")
    if not KINDS[kind].takes(operand):
        raise _Mistake(("match", name), f"{kind} takes {KINDS[kind].wants}")
    if kind == "argv" and allows and (problem := argv_problem(operand)):
        raise _Mistake(("match", name), problem)
    return Matcher(kind, operand)


def _limit(fields: Mapping[str, Any]) -> Limit | None:
    value = fields.get("limit")
    if value is None:
        return None
    given = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    if set(given) != {"count", "seconds"} or not all(
        isinstance(number, int) and not isinstance(number, bool) and number > 0 for number in given.values()
    ):
        raise _Mistake(("limit",), "limit is { count = …, seconds = … }, whole numbers above 0")
    return Limit(given["count"], given["seconds"])


def _expires(fields: Mapping[str, Any]) -> datetime | None:
    value = fields.get("expires")
    if value is not None and (not isinstance(value, datetime) or value.tzinfo is None):
        raise _Mistake(("expires",), "expires is a date and time with its zone, as 2030-01-31T12:00:00+01:00")
    return value


def _examples(fields: Mapping[str, Any]) -> Iterator[Example]:
    for key in ("must_match", "must_not_match"):
        given = fields.get(key, [])
        if not isinstance(given, list):
            raise _Mistake((key,), f"{key} is a list of tables")
        for values in cast(list[Any], given):
            if not isinstance(values, dict):
                raise _Mistake((key,), f"{key} is a list of tables")
            yield Example(cast(dict[str, Any], values), key == "must_match")


def _syntax_problem(text: str, message: str) -> Problem:
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place:
        return Problem(int(place[1]), int(place[2]), f"this is not TOML: {message[: place.start()]}")
    last = text.count("\n") + 1
    return Problem(last, 1, f"this is not TOML: {message.removesuffix(' (at end of document)')}")


class _Places:
    """Where the keys of each rule stand in the text."""

    _KEY = re.compile(r"""^(\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*[=.]""")
    _TABLE = re.compile(r"^(\s*)(\[\[?)\s*([^\]]+?)\s*\]")

    def __init__(self, text: str) -> None:
        self._places: dict[tuple[int | None, tuple[str, ...]], tuple[int, int]] = {}
        rule: int | None = None
        inside: tuple[str, ...] = ()
        for number, line in enumerate(text.split("\n"), 1):
            if table := self._TABLE.match(line):
                path = tuple(part.strip().strip("\"'") for part in table[3].split("."))
                if table[2] == "[[" and path == ("rule",):
                    rule = 0 if rule is None else rule + 1
                inside = path[1:] if path[0] == "rule" else path
                owner = rule if path[0] == "rule" else None
                self._places.setdefault((owner, inside), (number, len(table[1]) + 1))
            elif key := self._KEY.match(line):
                self._places.setdefault((rule, (*inside, key[2].strip("\"'"))), (number, len(key[1]) + 1))

    def of(self, rule: int | None, path: tuple[str, ...]) -> tuple[int, int]:
        """Return line and column of the nearest key above that is written out."""
        while path and (rule, path) not in self._places:
            path = path[:-1]
        return self._places.get((rule, path), (1, 1))
