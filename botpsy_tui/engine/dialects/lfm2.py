"""LFM2 and LFM2.5: calls as Python writes them, ``<|tool_call_start|>[f(a=1)]<|tool_call_end|>``."""

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from botpsy_tui.engine.dialects.base import Dialect
from botpsy_tui.engine.dialects.json_calls import read_json_call
from botpsy_tui.engine.dialects.literals import IncompleteLiteral, read_value, skip_blanks
from botpsy_tui.engine.dialects.stream import THINK_CLOSE, Opening, Reading, StreamParser
from botpsy_tui.engine.dialects.values import fitted
from botpsy_tui.engine.grammar import Grammar, Property, comma_list, literal
from botpsy_tui.engine.types import ToolCall, ToolSchema

_TAG = "<|tool_call_start|>"
_END = "<|tool_call_end|>"
_BETWEEN = re.compile(r"[\s,\[]*")
_NAME = re.compile(r"[^\W\d][\w.\-]*")
_CALL = re.compile(rf"{_NAME.pattern}\s*\(")
_KEY = re.compile(r"\w+")


class Lfm2Parser(StreamParser):
    """Reads calls from a list of Python calls; the tags may be missing around known tools.

    Values are Python's or JSON's; a list of JSON objects is read as well, since these models write
    one where the system prompt asks for it.
    """

    openers: ClassVar[tuple[str, ...]] = (_TAG,)
    closers: ClassVar[tuple[str, ...]] = (_END,)
    strays: ClassVar[tuple[str, ...]] = (_END,)
    calls_end_reasoning: ClassVar[bool] = False

    def all_openers(self) -> tuple[str, ...]:
        """Return the tag, and a bracket before a known tool's name."""
        return (*super().all_openers(), *(f"[{name}(" for name in self._tools))

    def opened(self, opener: str, text: str) -> Opening:
        """Return a known tool's name as written after the bracket that opened it."""
        return Opening(opener, text) if opener == _TAG else Opening("[", opener[1:] + text)

    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Read one call within the tags, or a whole list that stands without them."""
        try:
            return (
                self._within_tags(text, ended=ended)
                if opener == _TAG
                else self._bare(opener, text, ended=ended)
            )
        except IncompleteLiteral:
            return None

    def _bare(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        whole = opener[1:] + text
        calls: list[ToolCall] = []
        at = 0
        try:
            while True:
                call, at = self._call(whole, at)
                if call.name not in self._tools:
                    return Reading(is_text=True)
                calls.append(call)
                at = skip_blanks(whole, at)
                if whole[at : at + 1] != ",":
                    break
                at = skip_blanks(whole, at + 1)
        except ValueError:
            return Reading(is_text=True)
        if at == len(whole):
            return None
        is_link = whole[at + 1 : at + 2] == "("
        if whole[at] != "]" or is_link:
            return Reading(is_text=True)
        if at + 1 == len(whole) and not ended:
            return None
        return Reading(tuple(calls), at + 1 - len(opener[1:]))

    def _within_tags(self, text: str, *, ended: bool) -> Reading | None:
        between = _BETWEEN.match(text)
        at = between.end() if between else 0
        rest = text[at:]
        if rest.startswith("{"):
            return read_json_call(text, _END, ended=ended, goes_on=self._goes_on)
        if rest.startswith("]"):
            at = skip_blanks(text, at + 1)
            rest = text[at:]
            if _END.startswith(rest) and rest != _END:
                return Reading(length=len(text)) if ended else None
            return Reading(length=at + len(_END) * rest.startswith(_END))
        if rest.startswith(_END):
            return Reading(length=at + len(_END))
        if _END.startswith(rest):
            return Reading(length=len(text)) if ended and self._goes_on else None
        closed_at = text.find(_END, at)
        try:
            call, end = self._call(text, at)
        except IncompleteLiteral:
            if closed_at < 0:
                raise
        except ValueError:
            if not _CALL.match(text, at):
                return Reading(length=at if self._goes_on else 0)
        else:
            if closed_at < 0 or end <= closed_at:
                return Reading((call,), end, goes_on=True)
        return Reading(length=closed_at + len(_END), broken=True) if closed_at >= 0 else None

    def _call(self, text: str, at: int) -> tuple[ToolCall, int]:
        """Read one call; raises `IncompleteLiteral`, or `ValueError` where there is none."""
        name = _matched(_NAME, text, at)
        at = _past("(", text, at + len(name))
        properties = self.properties(name)
        arguments: dict[str, Any] = {}
        while True:
            at = skip_blanks(text, at)
            if text[at : at + 1] == ")":
                return ToolCall(name, arguments), at + 1
            if arguments:
                at = skip_blanks(text, _past(",", text, at))
            key = _matched(_KEY, text, at)
            start = skip_blanks(text, _past("=", text, at + len(key)))
            value, at = read_value(text, start)
            arguments[key] = fitted(value, text[start:at], properties.get(key, {}))


class Lfm2Dialect(Dialect):
    """LFM2 and LFM2.5, whose templates write calls unescaped or not at all: they are written here."""

    name = "lfm2"
    opener = _TAG
    reasoning_end = THINK_CLOSE
    name_end = "("
    joint = ","

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""
        return Lfm2Parser(tools, in_reasoning=in_reasoning)

    def lead(self, opener: str) -> str:
        """Return the bracket of a list that a tag opens."""
        return "[" if opener == _TAG else ""

    def arguments(self, opener: str, tool: ToolSchema, grammar: Grammar) -> str:
        """Hold the arguments to literals, and end the list or go on to another call."""
        required, optional = ([_argument(p, grammar) for p in part] for part in grammar.properties(tool))
        end = f"{literal(']')} {grammar.marker(_END)}" if opener == _TAG else literal("]")
        return f"{comma_list(required, optional)} {literal(')')} ({literal(self.joint)} | {end})"

    def written(self, calls: Sequence[ToolCall], *, after: str) -> str | None:
        """Return the calls as a list in tags, strings quoted as JSON quotes them."""
        return f"{_TAG}[{', '.join(map(_written, calls))}]{_END}"


def _argument(p: Property, grammar: Grammar) -> str:
    return f"{literal(p.name + '=')} {grammar.python_value(p.schema)}"


def _written(call: ToolCall) -> str:
    arguments = (f"{name}={_literal(value)}" for name, value in call.arguments.items())
    return f"{call.name}({', '.join(arguments)})"


def _literal(value: Any) -> str:
    return str(value) if isinstance(value, bool | None) else json.dumps(value, ensure_ascii=False)


def _matched(expression: re.Pattern[str], text: str, at: int) -> str:
    found = expression.match(text, at)
    if at == len(text) or (found and found.end() == len(text)):
        raise IncompleteLiteral
    if found is None:
        raise ValueError("no name")
    return found[0]


def _past(character: str, text: str, at: int) -> int:
    at = skip_blanks(text, at)
    if at == len(text):
        raise IncompleteLiteral
    if text[at] != character:
        raise ValueError(f"no {character}")
    return at + 1
