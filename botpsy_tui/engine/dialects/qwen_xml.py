"""Qwen3.5's XML (BotPsy): ``<tool_call><function=…><parameter=…>``, values as bare text."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from botpsy_tui.engine.dialects.base import Dialect
from botpsy_tui.engine.dialects.json_calls import read_json_call
from botpsy_tui.engine.dialects.literals import skip_blanks
from botpsy_tui.engine.dialects.stream import Reading, StreamParser, comes_next
from botpsy_tui.engine.dialects.values import typed
from botpsy_tui.engine.grammar import Grammar, Property, literal
from botpsy_tui.engine.schemas import Schema
from botpsy_tui.engine.types import ToolCall, ToolSchema

_TAG = "<tool_call>"
_END = "</tool_call>"
_BARE = "<function="
_FUNCTION_END = "</function>"
_PARAMETER = "<parameter="
_VALUE_END = "</parameter>"
_STRUCTURE = (_PARAMETER, _VALUE_END, _FUNCTION_END, _END, _TAG, _BARE)
_NAME = re.compile(r"([^<>\n]+)>")
_MAYBE_END = re.compile(rf"\n?{_VALUE_END}|\n(?:{_FUNCTION_END}|{_PARAMETER}|{_TAG}|{_BARE})")
_NEXT = re.compile(f"{_END}|{_TAG}|{_BARE}")


class QwenXmlParser(StreamParser):
    """Reads calls from XML, in or out of ``<tool_call>``, as llama.cpp's own parser does.

    A value ends at a closing tag that the call's structure goes on after; other tags are part of it.
    """

    openers: ClassVar[tuple[str, ...]] = (_TAG, _BARE)
    closers: ClassVar[tuple[str, ...]] = (_END, _FUNCTION_END, _VALUE_END)
    strays: ClassVar[tuple[str, ...]] = (_END,)

    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Read one function, or one JSON object where the model fell back to that."""
        if opener == _BARE:
            known = _is_named(text, self._tools)
            if not known:
                return None if known is None else Reading(is_text=True)
            reading = self._function(text, 0, ended=ended)
            return replace(reading, goes_on=False) if reading else None
        at = skip_blanks(text, 0)
        rest = text[at:]
        if rest.startswith(("{", "[", ",", "]")):
            return read_json_call(text, _END, ended=ended, goes_on=self._goes_on)
        if rest.startswith(_BARE):
            return self._function(text, at + len(_BARE), ended=ended)
        if self._goes_on and rest.startswith(_END):
            return Reading(length=at + len(_END))
        if comes_next(rest, (_BARE, _END) if self._goes_on else (_BARE,)) is None:
            return Reading(length=len(text)) if ended and self._goes_on else None
        return Reading()

    def _function(self, text: str, at: int, *, ended: bool) -> Reading | None:
        """Read a function from its name on, up to its closing tag."""
        opened = _NAME.match(text, at)
        if opened is None:
            return None if "\n" not in text[at:] else self._given_up(text, at)
        name, at = opened[1].strip(), opened.end()
        properties = self.properties(name)
        arguments: dict[str, Any] = {}
        while True:
            at = skip_blanks(text, at)
            rest = text[at:]
            if rest.startswith(_PARAMETER):
                key = _NAME.match(text, at + len(_PARAMETER))
                read = self._value(text, key.end(), properties, ended=ended) if key else None
                if key is None or read is None:
                    return None
                written, at = read
                arguments[key[1].strip()] = typed(written, properties.get(key[1].strip(), {}))
            elif rest.startswith(_VALUE_END):
                at += len(_VALUE_END)
            elif rest.startswith(_FUNCTION_END):
                return Reading((ToolCall(name, arguments),), at + len(_FUNCTION_END), goes_on=True)
            elif rest.startswith(_END):
                return Reading((ToolCall(name, arguments),), at, goes_on=True)
            elif comes_next(rest, _STRUCTURE) is None:
                return None
            else:
                return self._given_up(text, at)

    def _value(
        self, text: str, at: int, properties: Mapping[str, Schema], *, ended: bool
    ) -> tuple[str, int] | None:
        """Return a value and where it ends, or None where that is not clear yet."""
        if at == len(text):
            return None
        start = at + (text[at] == "\n")
        for found in _MAYBE_END.finditer(text, start):
            tag = found[0].lstrip()
            rest = text[found.end() :]
            match tag:
                case "</parameter>":
                    ends = comes_next(rest.lstrip(), _STRUCTURE)
                case "</function>":
                    ends = comes_next(rest.lstrip(), (_END, _TAG, _BARE)) or (ended and not rest.strip())
                case "<parameter=":
                    ends = _is_named(rest, properties)
                case "<function=":
                    ends = _is_named(rest, self._tools)
                case _:
                    ends = comes_next(rest.lstrip(), (_BARE,))
            if ends is None:
                return None
            if ends:
                return text[start : found.start()], found.end() if tag == _VALUE_END else found.start()
        return None

    def _given_up(self, text: str, at: int) -> Reading | None:
        """Pass over what is no call, up to the next one's beginning or to its own end."""
        for found in _NEXT.finditer(text, at):
            if found[0] == _END:
                return Reading(length=found.end(), broken=True)
            if found[0] == _TAG or _is_named(text[found.end() :], self._tools):
                return Reading(length=found.start(), broken=True)
        return None


class QwenXmlDialect(Dialect):
    """Qwen3.5 and what is tuned from it, BotPsy first."""

    name = "qwen3.5"
    opener = _TAG
    name_end = ">\n"

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""
        return QwenXmlParser(tools, in_reasoning=in_reasoning)

    def lead(self, opener: str) -> str:
        """Return the function's beginning, on a line of its own within a tag."""
        return "" if opener == _BARE else f"\n{_BARE}"

    def arguments(self, opener: str, tool: ToolSchema, grammar: Grammar) -> str:
        """Hold each argument to its parameter's block, and end the function and the tag."""
        required, optional = (
            [self._parameter(p, grammar) for p in part] for part in grammar.properties(tool)
        )
        parameters = " ".join([*required, *(f"({parameter})?" for parameter in optional)])
        if opener == _BARE:
            return f"{parameters} {literal(_FUNCTION_END)}"
        return " ".join([parameters, literal(f"{_FUNCTION_END}\n"), grammar.marker(_END)])

    def _parameter(self, p: Property, grammar: Grammar) -> str:
        value = grammar.bare_value(p.schema, f"\n{_VALUE_END}\n", without=r"<\/parameter>")
        return " ".join([literal(f"{_PARAMETER}{p.name}>\n"), value])


def _is_named(rest: str, names: Collection[str]) -> bool | None:
    """Say whether one of `names` and a ``>`` come next; None where that can't be told yet."""
    return comes_next(rest, tuple(f"{name}>" for name in names))
