"""Hermes JSON (Qwen2.5, Qwen3): a JSON object in ``<tool_call>`` tags, or in a Markdown fence."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from botpsy_tui.engine.dialects.base import Dialect, Opening, StreamParser
from botpsy_tui.engine.grammar import Grammar, Words, literal
from botpsy_tui.engine.types import ToolCall, ToolSchema

_TAG = "<tool_call>"
_FENCE = "```json"
_DECLARATIONS = "<tools>"  # a small model's slip: the tag that the declarations stand in
_CLOSERS = {_TAG: "</tool_call>", _FENCE: "```", _DECLARATIONS: "</tools>"}


class HermesParser(StreamParser):
    """Reads calls from tags and fences; tolerates a missing closing marker and several objects."""

    openers: ClassVar[tuple[str, ...]] = (_TAG, _FENCE, _DECLARATIONS)

    def read_call(self, opener: str, text: str, *, ended: bool) -> tuple[list[ToolCall], int] | None:
        """Read JSON objects up to the closing marker."""
        closer = _CLOSERS[opener]
        calls: list[ToolCall] = []
        at = 0
        while True:
            while at < len(text) and (text[at].isspace() or text[at] == ","):
                at += 1
            rest = text[at:]
            if rest.startswith(closer):
                return (calls, at + len(closer)) if calls or opener != _FENCE else ([], 0)
            if not rest or closer.startswith(rest):
                return (calls, len(text)) if ended and calls else None
            if rest[0] != "{":
                # Not JSON: a fence of something else is text, a tag's rubbish is dropped.
                return (calls, at) if calls else ([], 0)
            end = _object_end(rest)
            if end is None:
                return None
            call = self._call(rest[:end])
            if call is None and not calls:
                return [], 0
            if call is not None:
                calls.append(call)
            at += end

    def _call(self, text: str) -> ToolCall | None:
        try:
            value: Any = json.loads(text, strict=False)
        except ValueError:
            return None
        name = value.get("name") or value.get("function")
        arguments = value.get("arguments", value.get("parameters", {}))
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except ValueError:
                return None
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return None
        return ToolCall(name, arguments)  # pyright: ignore[reportUnknownArgumentType]


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
        head = literal(opening.lead + '{"name": ')
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


def _object_end(text: str) -> int | None:
    """Return where the JSON object that begins `text` ends, or None where it does not yet."""
    depth = 0
    in_string = escaped = False
    for i, character in enumerate(text):
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return i + 1
    return None
