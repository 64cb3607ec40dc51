"""Hermes JSON (Qwen2.5, Qwen3): a JSON object in ``<tool_call>`` tags, or in a Markdown fence."""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from botpsy_tui.engine.dialects.base import Dialect
from botpsy_tui.engine.dialects.json_calls import read_json_call
from botpsy_tui.engine.dialects.stream import Reading, StreamParser
from botpsy_tui.engine.grammar import Grammar, comma_list, literal
from botpsy_tui.engine.types import ToolSchema

_TAG = "<tool_call>"
_FENCE = "```json"
_DECLARATIONS = "<tools>"  # a small model's slip: the tag that the declarations stand in
_LIST = "<tool_calls>"  # around all calls at once, as Apriel does
_CLOSERS = {_TAG: "</tool_call>", _FENCE: "```", _DECLARATIONS: "</tools>", _LIST: "</tool_calls>"}
_OBJECTS_END = "}}\n"


class HermesParser(StreamParser):
    """Reads calls from tags and fences; tolerates a missing closing marker and several objects."""

    openers: ClassVar[tuple[str, ...]] = (_TAG, _FENCE, _DECLARATIONS, _LIST)
    closers: ClassVar[tuple[str, ...]] = (_CLOSERS[_TAG],)
    strays: ClassVar[tuple[str, ...]] = (_CLOSERS[_TAG],)
    calls_end_reasoning: ClassVar[bool] = False

    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Read a JSON object up to the closing marker. In a fence, only a known tool's is a call."""
        names = self._tools if opener == _FENCE else None
        return read_json_call(text, _CLOSERS[opener], ended=ended, goes_on=self._goes_on, names=names)


class HermesDialect(Dialect):
    """Qwen2.5, Qwen3 and the many models tuned on Hermes' format."""

    name = "hermes"
    opener = _TAG
    name_end = '", "arguments":'
    decides_first = True
    slips: ClassVar[Mapping[str, str]] = {"{": _TAG}

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""
        return HermesParser(tools, in_reasoning=in_reasoning)

    def lead(self, opener: str) -> str:
        """Return the object's beginning, on a line of its own."""
        return '\n{"name": "'

    def arguments(self, opener: str, tool: ToolSchema, grammar: Grammar) -> str:
        """Hold the arguments to one JSON object, and end the tag or the fence."""
        required, optional = (
            [f"{literal(json.dumps(p.name) + ': ')} {grammar.json_value(p.schema)}" for p in part]
            for part in grammar.properties(tool)
        )
        pairs = comma_list(required, optional)
        return f"{literal(' {')} {pairs} {literal(_OBJECTS_END)} {grammar.marker(_CLOSERS[opener])}"
