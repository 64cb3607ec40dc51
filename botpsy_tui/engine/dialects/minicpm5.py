"""MiniCPM5's XML: ``<function name="…"><param name="…">value</param></function>``, CDATA where needed."""

import json
import re
from collections.abc import Sequence
from typing import Any, ClassVar

from botpsy_tui.engine.dialects.base import Dialect
from botpsy_tui.engine.dialects.literals import skip_blanks
from botpsy_tui.engine.dialects.stream import Reading, StreamParser, comes_next
from botpsy_tui.engine.dialects.values import typed
from botpsy_tui.engine.grammar import Grammar, Property, literal
from botpsy_tui.engine.types import ToolCall, ToolSchema

_FUNCTION = '<function name="'
_FUNCTION_END = "</function>"
_PARAMETER = '<param name="'
_VALUE_END = "</param>"
_CDATA = "<![CDATA["
_CDATA_END = "]]>"
_NAME_END = '">'
_STRUCTURE = (_PARAMETER, _VALUE_END, _FUNCTION_END, _FUNCTION)
_NAME = re.compile(r'([^"<>\n]+)"\s*>')
_HALF_A_NAME = re.compile(r'[^"<>\n]*("\s*)?')
_MAYBE_END = re.compile(f"{_VALUE_END}|{_FUNCTION}")
_NEEDS_CDATA = re.compile(r"[<&\n]")


class MiniCpm5Parser(StreamParser):
    """Reads calls from XML; a value is what stands there, entities and all.

    A value ends at a closing tag that the call's structure goes on after; other tags are part of it.
    """

    openers: ClassVar[tuple[str, ...]] = (_FUNCTION,)
    closers: ClassVar[tuple[str, ...]] = (_FUNCTION_END, _VALUE_END)
    calls_end_reasoning: ClassVar[bool] = False

    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Read one function from its name on."""
        opened = _NAME.match(text)
        if opened is None:
            return None if _HALF_A_NAME.fullmatch(text) else self._given_up(text, 0)
        properties = self.properties(opened[1])
        arguments: dict[str, Any] = {}
        at = opened.end()
        while True:
            at = skip_blanks(text, at)
            rest = text[at:]
            if rest.startswith(_PARAMETER):
                key = _NAME.match(text, at + len(_PARAMETER))
                if key is None:
                    is_half = _HALF_A_NAME.fullmatch(text, at + len(_PARAMETER))
                    return None if is_half else self._given_up(text, at)
                read = self._value(text, key.end())
                if read is None:
                    return None
                written, at = read
                arguments[key[1]] = typed(written, properties.get(key[1], {}))
            elif rest.startswith(_VALUE_END):
                at += len(_VALUE_END)
            elif rest.startswith(_FUNCTION_END):
                return Reading((ToolCall(opened[1], arguments),), at + len(_FUNCTION_END))
            elif comes_next(rest, _STRUCTURE) is None:
                return None
            else:
                return self._given_up(text, at)

    def _value(self, text: str, at: int) -> tuple[str, int] | None:
        """Return a value and where it ends, or None where that is not clear yet."""
        if text.startswith(_CDATA, at):
            return _section(text, at)
        if _CDATA.startswith(text[at:]):
            return None
        for found in _MAYBE_END.finditer(text, at):
            rest = text[found.end() :]
            if found[0] == _VALUE_END:
                ends = comes_next(rest.lstrip(), _STRUCTURE)
            else:
                ends = comes_next(rest, tuple(f"{name}{_NAME_END}" for name in self._tools))
            if ends is None:
                return None
            if ends:
                return text[at : found.start()], found.end() if found[0] == _VALUE_END else found.start()
        return None

    def _given_up(self, text: str, at: int) -> Reading | None:
        """Pass over what is no call, up to the next one's beginning or to its own end."""
        ends = [
            end
            for marker, past in ((_FUNCTION_END, len(_FUNCTION_END)), (_FUNCTION, 0))
            if (found := text.find(marker, at)) >= 0 and (end := found + past)
        ]
        return Reading(length=min(ends), broken=True) if ends else None


class MiniCpm5Dialect(Dialect):
    """MiniCPM5, whose template writes each call of the history twice: they are written here."""

    name = "minicpm5"
    opener = _FUNCTION
    name_end = _NAME_END

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""
        return MiniCpm5Parser(tools, in_reasoning=in_reasoning)

    def lead(self, opener: str) -> str:
        """Return nothing: the name follows at once."""
        return ""

    def arguments(self, opener: str, tool: ToolSchema, grammar: Grammar) -> str:
        """Hold each argument to its parameter, text in CDATA where it could be taken for markup."""
        required, optional = ([_argument(p, grammar) for p in part] for part in grammar.properties(tool))
        return " ".join(
            [*required, *(f"({argument})?" for argument in optional), grammar.marker(_FUNCTION_END)]
        )

    def written(self, calls: Sequence[ToolCall], *, after: str) -> str | None:
        """Return the calls, each on a line of its own."""
        lead = "\n" if after and not after.endswith("\n") else ""
        return lead + "\n".join(map(_written, calls))


def _section(text: str, at: int) -> tuple[str, int] | None:
    """Return what stands in a CDATA section, and where its parameter ends; None if that is not clear yet."""
    start = at + len(_CDATA)
    for found in re.finditer(re.escape(_CDATA_END), text[start:]):
        end = start + found.end()
        ends = comes_next(text[end:].lstrip(), (_VALUE_END,))
        if ends is None:
            return None
        if ends:
            return text[start : start + found.start()], end
    return None


def _argument(p: Property, grammar: Grammar) -> str:
    opening = f"{grammar.marker('<param')} {literal(_PARAMETER.removeprefix('<param') + p.name + _NAME_END)}"
    value = grammar.bare_value(p.schema, _VALUE_END, without=r"<\/param>|<!\[CDATA\[", cdata=True)
    return f"{opening} {value}"


def _written(call: ToolCall) -> str:
    parameters = "".join(
        f"{_PARAMETER}{name}{_NAME_END}{_bare(value)}{_VALUE_END}" for name, value in call.arguments.items()
    )
    return f"{_FUNCTION}{call.name}{_NAME_END}{parameters}{_FUNCTION_END}"


def _bare(value: Any) -> str:
    if isinstance(value, str):
        return f"{_CDATA}{value}{_CDATA_END}" if _NEEDS_CDATA.search(value) else value
    return str(value) if isinstance(value, bool | None) else json.dumps(value, ensure_ascii=False)
