"""Grammars that hold the decoder to declared tools, in the Lark dialect of llguidance.

Two kinds of string argument can't be made up by the model: ``user-words`` (a span of what the
person said, by ``substring_chunks``) and ``reference:KIND`` (one of the ids shown so far).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botpsy_tui.engine.schemas import property_schemas, without_null
from botpsy_tui.engine.types import ToolSchema

SOURCE = "x-botpsy-source"
_USER_WORDS = "user-words"
_REFERENCE = "reference:"
_COMPACT = {"x-guidance": {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}}
_CHUNK = re.compile(r"[^\S\n]+|\w(?:[\w.@+\-:/'’%&]*[\w/])?|[^\w\s]")


@dataclass(frozen=True)
class Words:
    """What the person said, and the ids that tools have shown: all that may be pointed at."""

    said: str = ""
    references: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def lines(self) -> list[list[str]]:
        """Return the words, blanks and marks of each line, in order."""
        return [chunks for line in self.said.splitlines() if (chunks := _CHUNK.findall(line))]


Property = tuple[str, dict[str, Any]]
"""An argument's name and its JSON schema."""


def literal(text: str) -> str:
    """Return `text` as a Lark string."""
    return json.dumps(text)


class Grammar:
    """Collects the rules of one grammar."""

    def __init__(self, is_special: Callable[[str], bool] = lambda _marker: False) -> None:
        self._is_special = is_special
        self._rules: dict[str, str] = {}
        self._spans: dict[bool, str] = {}

    def rule(self, name: str, body: str) -> None:
        """Add a rule."""
        self._rules[name] = body

    def text(self) -> str:
        """Return the whole grammar."""
        return "\n".join(f"{name}: {body}" for name, body in self._rules.items())

    def marker(self, text: str) -> str:
        """Return a marker such as ``</tool_call>``: a special token where the model has one."""
        return text if self._is_special(text) else literal(text)

    def callable_tools(self, tools: Sequence[ToolSchema], words: Words) -> list[ToolSchema]:
        """Return the tools that can be called now: those whose required arguments can be written."""
        return [
            tool
            for tool in tools
            if all(
                _writable(schema, words)
                for name, schema in property_schemas(tool).items()
                if name in tool.parameters.get("required", ())
            )
        ]

    def properties(self, tool: ToolSchema, words: Words) -> tuple[list[Property], list[Property]]:
        """Return a tool's required and optional properties that can be written now, in order."""
        properties = property_schemas(tool)
        required = tool.parameters.get("required", ())
        writable = [(name, schema) for name, schema in properties.items() if _writable(schema, words)]
        return [p for p in writable if p[0] in required], [p for p in writable if p[0] not in required]

    def json_value(self, schema: Mapping[str, Any], words: Words) -> str:
        """Return what a value of that schema may be, written as JSON."""
        if (choice := self._pointed(schema, words, as_json=True)) is not None:
            return f'"\\"" {choice} "\\""'
        return self._json(schema)

    def bare_value(self, schema: Mapping[str, Any], words: Words, closer: str) -> str:
        """Return what a value may be, written as bare text (strings) or JSON, and its closer."""
        if (choice := self._pointed(schema, words, as_json=False)) is not None:
            return f"{choice} {literal(closer)}"
        plain = without_null(schema)
        if plain.get("type") == "string" and "enum" not in plain:
            name = f"text{len(self._rules)}"
            self._rules[f"{name}[suffix={literal(closer)}]"] = "/(?s:.*)/"
            return name
        if "enum" in plain and all(isinstance(v, str) for v in plain["enum"]):
            return f"({' | '.join(literal(v) for v in plain['enum'])}) {literal(closer)}"
        return f"{self._json(schema)} {literal(closer)}"

    def _json(self, schema: Mapping[str, Any]) -> str:
        name = f"json{len(self._rules)}"
        self._rules[name] = f"%json {json.dumps({**_strict(without_null(schema)), **_COMPACT})}"
        return name

    def _pointed(self, schema: Mapping[str, Any], words: Words, *, as_json: bool) -> str | None:
        source = without_null(schema).get(SOURCE)
        if source == _USER_WORDS and words.said.strip():
            return self._span(words, as_json=as_json)
        if isinstance(source, str) and source.startswith(_REFERENCE):
            names = words.references.get(source.removeprefix(_REFERENCE), ())
            return f"({' | '.join(literal(name) for name in names)})" if names else None
        return None

    def _span(self, words: Words, *, as_json: bool) -> str:
        """Return the terminal for any run of whole words, as the person wrote them."""
        if as_json not in self._spans:
            lines = [[_in_json(chunk) if as_json else chunk for chunk in line] for line in words.lines()]
            for i, chunks in enumerate(lines):
                self._rules[f"LINE{i}"] = f'%regex {{"substring_chunks": {json.dumps(chunks)}}}'
            union = " | ".join(f"LINE{i}" for i in range(len(lines)))
            self._rules["SPAN"] = f"({union}) & /[^ \\t](?s:.*[^ \\t])?/"
            self._spans[as_json] = "SPAN"
        return self._spans[as_json]


def _in_json(chunk: str) -> str:
    return json.dumps(chunk, ensure_ascii=False)[1:-1]


def _writable(schema: Mapping[str, Any], words: Words) -> bool:
    """Say whether a value can be written: an id can be only once one was shown."""
    source = without_null(schema).get(SOURCE, "")
    return not source.startswith(_REFERENCE) or bool(words.references.get(source.removeprefix(_REFERENCE)))


def _strict(schema: Any) -> Any:
    """Return a schema without the keywords that are ours."""
    if isinstance(schema, Mapping):
        return {k: _strict(v) for k, v in schema.items() if not str(k).startswith("x-")}  # pyright: ignore
    if isinstance(schema, list):
        return [_strict(v) for v in schema]  # pyright: ignore[reportUnknownVariableType]
    return schema
