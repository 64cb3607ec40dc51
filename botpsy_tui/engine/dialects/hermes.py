"""Hermes JSON (Qwen2.5, Qwen3): a JSON object in ``<tool_call>`` tags, or in a Markdown fence."""

import json
from collections.abc import Mapping, Sequence
from typing import ClassVar

from botpsy_tui.engine.dialects.base import Dialect
from botpsy_tui.engine.dialects.json_calls import read_json_call
from botpsy_tui.engine.dialects.stream import Opening, Reading, StreamParser
from botpsy_tui.engine.grammar import Grammar, Words, literal
from botpsy_tui.engine.types import ToolSchema

_TAG = "<tool_call>"
_FENCE = "```json"
_DECLARATIONS = "<tools>"  # a small model's slip: the tag that the declarations stand in
_CLOSERS = {_TAG: "</tool_call>", _FENCE: "```", _DECLARATIONS: "</tools>"}


class HermesParser(StreamParser):
    """Reads calls from tags and fences; tolerates a missing closing marker and several objects."""

    openers: ClassVar[tuple[str, ...]] = (_TAG, _FENCE, _DECLARATIONS)
    closers: ClassVar[tuple[str, ...]] = (_CLOSERS[_TAG],)
    strays: ClassVar[tuple[str, ...]] = (_CLOSERS[_TAG],)

    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Read a JSON object up to the closing marker. In a fence, only a known tool's is a call."""
        names = self._tools if opener == _FENCE else None
        return read_json_call(text, _CLOSERS[opener], ended=ended, goes_on=self._goes_on, names=names)


class HermesDialect(Dialect):
    """Qwen2.5, Qwen3 and the many models tuned on Hermes' format."""

    name = "hermes"
    opener = _TAG
    decides_first = True
    slips: ClassVar[Mapping[str, str]] = {"{": _TAG}

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""
        return HermesParser(tools, in_reasoning=in_reasoning)

    def grammar(self, opening: Opening, tools: Sequence[ToolSchema], words: Words, grammar: Grammar) -> str:
        """Hold the rest of the call to one declared tool, as the template itself writes it."""
        names = grammar.callable_tools(tools, words)
        for i, tool in enumerate(names):
            body = self._arguments(tool, words, grammar)
            head = literal(json.dumps(tool.name) + ', "arguments": {')
            grammar.rule(f"call{i}", " ".join([head, body, literal("}}")]))
        choice = " | ".join(f"call{i}" for i in range(len(names)))
        closer = grammar.marker(_CLOSERS[opening.opener])
        head = literal(("" if opening.overhang else "\n") + '{"name": ')
        grammar.rule("start", " ".join([head, f"({choice})", literal("\n"), closer]))
        return grammar.text()

    def _arguments(self, tool: ToolSchema, words: Words, grammar: Grammar) -> str:
        required, optional = grammar.properties(tool, words)
        pairs, extras = (
            [
                literal(json.dumps(name) + ": ") + " " + grammar.json_value(schema, words)
                for name, schema in part
            ]
            for part in (required, optional)
        )
        comma = literal(", ")
        if pairs:
            tail = " ".join(f"({comma} {extra})?" for extra in extras)
            return f" {comma} ".join(pairs) + f" {tail}"
        starts = [
            " ".join([extra, *(f"({comma} {later})?" for later in extras[i + 1 :])])
            for i, extra in enumerate(extras)
        ]
        return f"({' | '.join(starts)})?" if starts else ""
