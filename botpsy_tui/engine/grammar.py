"""Grammars that hold the decoder to declared tools, in the Lark dialect of llguidance.

Some string arguments can't be made up by the model: ``user-words`` is a span of what the person
said (by ``substring_chunks``), ``user-address`` a web address in it, ``reference:KIND`` one of the
ids shown so far. Joined by ``|``, a value may come from any of them.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botpsy_tui.engine.addresses import addresses_in
from botpsy_tui.engine.formats import FORMATS
from botpsy_tui.engine.schemas import Schema, kinds_of, property_schemas, without_null
from botpsy_tui.engine.types import ToolSchema

SOURCE = "x-botpsy-source"
_USER_WORDS = "user-words"
_USER_ADDRESS = "user-address"
_REFERENCE = "reference:"
_AS_TEMPLATES_WRITE = {
    "x-guidance": {
        "whitespace_flexible": False,
        "item_separator": ", ",
        "key_separator": ": ",
        "lenient": True,  # what a grammar can't hold, such as ``uniqueItems``, validation does
    }
}
_CHUNK = re.compile(r"[^\S\n]+|\w(?:[\w.@+\-:/'’%&]*[\w/])?|[^\w\s]")
_COMPOSED = ("$ref", "allOf", "anyOf", "oneOf")
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_VALUES = ("enum", "const", "default", "examples")


@dataclass(frozen=True)
class Words:
    """What the person said, and the ids that tools have shown: all that may be pointed at."""

    said: str = ""
    references: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    def lines(self) -> list[list[str]]:
        """Return the words, blanks and marks of each line, in order."""
        return [chunks for line in self.said.splitlines() if (chunks := _CHUNK.findall(line))]


@dataclass(frozen=True)
class Property:
    """An argument that can be written now: its name and its JSON schema, made of what it may be."""

    name: str
    schema: dict[str, Any]
    required: bool


def literal(text: str) -> str:
    """Return `text` as a Lark string."""
    return json.dumps(text)


def choice(options: Sequence[str]) -> str:
    """Return a Lark choice."""
    return f"({' | '.join(options)})"


def comma_list(required: Sequence[str], optional: Sequence[str]) -> str:
    """Return a Lark sequence with a comma between any two that are there: all of `required`, then some."""
    comma = literal(", ")
    if required:
        return " ".join([f" {comma} ".join(required), *(f"({comma} {extra})?" for extra in optional)])
    starts = [
        " ".join([extra, *(f"({comma} {later})?" for later in optional[i + 1 :])])
        for i, extra in enumerate(optional)
    ]
    return f"{choice(starts)}?" if starts else ""


def callable_tools(tools: Sequence[ToolSchema], words: Words) -> list[ToolSchema]:
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


class Grammar:
    """Collects the rules of one grammar: of what one tool's arguments may be."""

    def __init__(
        self,
        words: Words,
        special: Callable[[str], str | None] = lambda _marker: None,
        *,
        patterns: bool = True,
    ) -> None:
        """`special` gives what stands in a grammar for a marker that is a token of its own.

        Without `patterns`, the regular expressions of schemas are left to validation.
        """
        self._words = words
        self._patterns = patterns
        self._special = special
        self._rules: dict[str, str] = {}

    def text(self, start: str) -> str:
        """Return the whole grammar, for which `start` is what it is about."""
        return "\n".join([f"start: {start}", *(f"{name}: {body}" for name, body in self._rules.items())])

    def marker(self, text: str) -> str:
        """Return a marker such as ``</tool_call>``: a special token where the model has one."""
        return self._special(text) or literal(text)

    def properties(self, tool: ToolSchema) -> tuple[list[Property], list[Property]]:
        """Return a tool's required and optional properties that can be written now, in order."""
        required = tool.parameters.get("required", ())
        given = [
            Property(
                name, without_null(schema if self._patterns else _without_patterns(schema)), name in required
            )
            for name, schema in property_schemas(tool).items()
            if _writable(schema, self._words)
        ]
        return [p for p in given if p.required], [p for p in given if not p.required]

    def json_value(self, schema: Schema) -> str:
        """Return what a value of that schema may be, written as JSON."""
        if (pointed := self._pointed(schema, _in_json)) is not None:
            return f'"\\"" {pointed} "\\""'
        return self._json(schema)

    def python_value(self, schema: Schema) -> str:
        """Return what a value may be: JSON, but Python's ``True``, ``False`` and ``None`` on their own."""
        if "enum" not in schema and "const" not in schema:
            if kinds_of(schema) == {"boolean"}:
                return choice([literal("True"), literal("False")])
            if kinds_of(schema) == {"null"}:
                return literal("None")
        return self.json_value(schema)

    def bare_value(self, schema: Schema, closer: str, *, without: str, cdata: bool = False) -> str:
        """Return what a value may be, text as it is and all else as `python_value`, and its closer.

        `without` is a regular expression of what text must not hold for the closer to be found.
        With `cdata`, text that could be taken for markup stands in a CDATA section (XML 1.0 §2.7).
        """
        end = self.marker(closer)
        excluded = f"~/(?s:.*)(?:{without})(?s:.*)/"
        if (pointed := self._pointed(schema, str)) is not None:
            return f"{self._terminal(f'{pointed} & {excluded}')} {end}"
        options = schema.get("enum", [schema["const"]] if "const" in schema else ())
        if options:
            return f"{choice([literal(_bare(option)) for option in options])} {end}"
        if kinds_of(schema) != {"string"}:
            return f"{self.python_value(schema)} {end}"
        shapes = " & ".join(_shapes(schema))
        if not cdata:
            return self._up_to(closer, f"{shapes} & {excluded}")
        plain = self._terminal(rf"{shapes} & ~/(?s:.*)[<&\n](?s:.*)/")
        section = self._up_to("]]>", shapes)
        return choice([f"{plain} {end}", f"{literal('<![CDATA[')} {section} {end}"])

    def _up_to(self, closer: str, body: str) -> str:
        """Return text that ends where its closer begins, and the closer."""
        terminal = self._terminal(body)
        if special := self._special(closer):
            return f"{terminal} {special}"
        name = f"text{len(self._rules)}"
        self._rules[f"{name}[suffix={literal(closer)}]"] = terminal
        return name

    def _terminal(self, body: str) -> str:
        name = f"T{len(self._rules)}"
        self._rules[name] = body
        return name

    def _json(self, schema: Schema) -> str:
        name = f"json{len(self._rules)}"
        self._rules[name] = f"%json {json.dumps({**_closed(schema), **_AS_TEMPLATES_WRITE})}"
        return name

    def _pointed(self, schema: Schema, written: Callable[[str], str]) -> str | None:
        """Return the terminal of what may be pointed at, if nothing else may be written."""
        choices: list[str] = []
        for source in _sources(schema):
            if source == _USER_WORDS and self._words.said.strip():
                choices.append(self._span(written))
            else:
                choices += [literal(written(name)) for name in _named(source, self._words)]
        return choice(choices) if choices else None

    def _span(self, written: Callable[[str], str]) -> str:
        """Return the terminal for any run of whole words, as the person wrote them."""
        if "SPAN" not in self._rules:
            lines = [[written(chunk) for chunk in line] for line in self._words.lines()]
            for i, chunks in enumerate(lines):
                self._rules[f"LINE{i}"] = f'%regex {{"substring_chunks": {json.dumps(chunks)}}}'
            union = choice([f"LINE{i}" for i in range(len(lines))])
            self._rules["SPAN"] = f"{union} & /[^ \\t](?s:.*[^ \\t])?/"
        return "SPAN"


def _shapes(schema: Schema) -> list[str]:
    """Return the terminals whose intersection a string's schema is."""
    shapes: list[str] = []
    if pattern := schema.get("pattern"):
        shapes.append(f"/{_slashed(_unanchored(pattern))}/")
    if known := FORMATS.get(schema.get("format", "")):
        shapes.append(f"/{_slashed(known)}/")
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", "")
    shapes.append(f"/(?s:.{{{shortest},{longest}}})/" if shortest or longest else "/(?s:.*)/")
    return shapes


def _unanchored(pattern: str) -> str:
    """Return a pattern, which finds its match anywhere, as one that all of a text matches."""
    start = "" if pattern.startswith("^") else "(?s:.*)"
    end = "" if pattern.endswith("$") and not pattern.endswith("\\$") else "(?s:.*)"
    inner = pattern[not start : len(pattern) - (not end)]
    return f"{start}(?:{inner}){end}"


def _slashed(expression: str) -> str:
    """Return a regular expression as it stands between slashes."""
    return re.sub(r"(?<!\\)((?:\\\\)*)/", r"\1\\/", expression)


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _bare(value: Any) -> str:
    """Return a value as templates write it where text needs no quotes."""
    if isinstance(value, bool | None):
        return str(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _writable(schema: Schema, words: Words) -> bool:
    """Say whether a value can be written: an id can be only once one was shown."""
    sources = _sources(schema)
    return not sources or _USER_WORDS in sources or any(_named(source, words) for source in sources)


def _sources(schema: Schema) -> list[str]:
    """Return where a value must come from; nothing where it may be made up."""
    joined = str(without_null(schema).get(SOURCE, ""))
    return joined.split("|") if joined else []


def _named(source: str, words: Words) -> Sequence[str]:
    """Return all that a source other than the person's words offers."""
    if source == _USER_ADDRESS:
        return addresses_in(words.said)
    return words.references.get(source.removeprefix(_REFERENCE), ())


def _without_patterns(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_patterns(v) for v in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, Mapping):
        return schema
    return {k: _without_patterns(v) for k, v in schema.items() if not (k == "pattern" and isinstance(v, str))}  # pyright: ignore


def _closed(schema: Any) -> Any:
    """Return a schema without the keywords that are ours, its objects closed to undeclared names."""
    if isinstance(schema, list):
        return [_closed(v) for v in schema]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(schema, Mapping):
        return schema
    closed: dict[str, Any] = {}
    for key, value in schema.items():  # pyright: ignore[reportUnknownVariableType]
        if key in _NAMED:
            closed[key] = {name: _closed(inner) for name, inner in value.items()}  # pyright: ignore
        elif not str(key).startswith("x-"):  # pyright: ignore[reportUnknownArgumentType]
            closed[key] = value if key in _VALUES else _closed(value)
    if "properties" in closed and not any(key in closed for key in _COMPOSED):
        closed.setdefault("additionalProperties", False)
    return closed
