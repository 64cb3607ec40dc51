"""Qwen3.5's XML (BotPsy): ``<tool_call><function=…><parameter=…>``, values as bare text."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from botpsy_tui.engine.dialects.base import Dialect, Opening, StreamParser, typed
from botpsy_tui.engine.grammar import Grammar, Words, literal
from botpsy_tui.engine.types import ToolCall, ToolSchema

_TAG = "<tool_call>"
_BARE = "<function="
_FUNCTION = re.compile(r"\s*<function=([^>\s]+)>\s*")
_PARAMETER = re.compile(r"\s*<parameter=([^>\s]+)>\n?")
_VALUE_END = re.compile(r"\n?</parameter>|\n(?=<parameter=|</function>)")
_FUNCTION_END = re.compile(r"\s*(?:</parameter>\s*)*</function>")
_CALL_END = re.compile(r"\s*</tool_call>")


class QwenXmlParser(StreamParser):
    """Reads calls from XML, in or out of ``<tool_call>``, as llama.cpp's own parser does."""

    openers: ClassVar[tuple[str, ...]] = (_TAG, _BARE)

    def read_call(self, opener: str, text: str, *, ended: bool) -> tuple[list[ToolCall], int] | None:
        """Read one function, or one JSON object where the model fell back to that."""
        if opener == _BARE:
            if not ended and ">" not in text:
                return None
            name = text.partition(">")[0]
            if name not in self._tools:
                return [], 0
            text, shift = _BARE + text, len(_BARE)
        else:
            shift = 0
        function = _FUNCTION.match(text)
        if function is None:
            if text.strip() and not _could_open(text):
                return [], 0
            return None
        arguments: dict[str, Any] = {}
        at = function.end()
        properties = self._properties(function[1])
        while parameter := _PARAMETER.match(text, at):
            end = _VALUE_END.search(text, parameter.end())
            if end is None:
                return None
            value = text[parameter.end() : end.start()]
            arguments[parameter[1]] = typed(value, properties.get(parameter[1], {}))
            at = end.end()
        closed = _FUNCTION_END.match(text, at)
        if closed is None:
            return None
        at = closed.end()
        call = ToolCall(function[1], arguments)
        if opener == _BARE:
            return [call], at - shift
        if end := _CALL_END.match(text, at):
            return [call], end.end()
        if ended or (text[at:].strip() and not "</tool_call>".startswith(text[at:].strip())):
            return [call], at
        return None

    def _properties(self, tool: str) -> dict[str, Any]:
        schema = self._tools.get(tool)
        return dict(schema.parameters.get("properties", {})) if schema else {}


class QwenXmlDialect(Dialect):
    """Qwen3.5 and what is tuned from it, BotPsy first."""

    name = "qwen3.5"
    opener = _TAG

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""
        return QwenXmlParser(tools, in_reasoning=in_reasoning)

    def grammar(self, opening: Opening, tools: Sequence[ToolSchema], words: Words, grammar: Grammar) -> str:
        """Hold the rest of the call to one declared tool, as the template itself writes it."""
        allowed = grammar.callable_tools(tools, words)
        for i, tool in enumerate(allowed):
            required, optional = grammar.properties(tool, words)
            parameters = [self._parameter(name, schema, words, grammar) for name, schema in required]
            parameters += [f"({self._parameter(name, schema, words, grammar)})?" for name, schema in optional]
            grammar.rule(f"call{i}", " ".join([literal(tool.name + ">\n"), *parameters]))
        choice = " | ".join(f"call{i}" for i in range(len(allowed)))
        if opening.opener == _BARE:
            grammar.rule("start", f"({choice}) " + literal("</function>"))
        else:
            end = literal("</function>\n") + " " + grammar.marker("</tool_call>")
            grammar.rule("start", " ".join([literal(opening.lead + _BARE), f"({choice})", end]))
        return grammar.text()

    def _parameter(self, name: str, schema: dict[str, Any], words: Words, grammar: Grammar) -> str:
        value = grammar.bare_value(schema, words, "\n</parameter>\n")
        return literal(f"<parameter={name}>\n") + " " + value


def _could_open(text: str) -> bool:
    """Say whether `text` may still grow into a function's opening."""
    bare = text.lstrip()
    return bare.startswith(_BARE[: len(bare)]) or (bare.startswith(_BARE) and ">" not in bare)
