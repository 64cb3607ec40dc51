"""Reads the cases of llama.cpp's ``tests/test-chat.cpp``: what a model wrote, and what it must parse to.

The file is C++; of that, what its cases are made of is understood: string literals, braces, calls of
its message builders, and the chains ``tst.test(…).tools({…}).expect(…).run()``.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botpsy_tui.engine.types import ToolCall, ToolSchema

_TOKEN = re.compile(
    r'R"(?P<fence>[^(\s]*)\((?P<raw>.*?)\)(?P=fence)"'
    r'|"(?P<string>(?:[^"\\]|\\.)*)"'
    r"|(?P<word>[A-Za-z_][\w:]*)|(?P<number>\d+)|(?P<mark>[(){}.,;=&<>*+\[\]!?-])"
    r"|(?P<skipped>\s+|//[^\n]*|/\*.*?\*/|\S)",
    re.DOTALL,
)
_TESTER = re.compile(
    r'(?:auto (?P<name>\w+) = peg_tester\((?:"(?P<path>[^"]+)"|template_path)|test_lfm2_parser\(tmpl)'
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


@dataclass(frozen=True)
class Expected:
    """A message as the file expects it."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Case:
    """One chain."""

    template: str
    line: int
    written: str
    tools: tuple[ToolSchema, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    expected: Expected = Expected()

    @property
    def name(self) -> str:
        """The template's name and the line in the file."""
        return f"{self.template.split('/')[-1].removesuffix('.jinja')}:{self.line}"


def read_cases(source: str, templates: Collection[str]) -> list[Case]:
    """Return the file's cases for some templates, named by their paths."""
    return list(_Reader(source).cases(templates))


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: list[Any]


class _Reader:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tools = dict(self._declared_tools())
        self._messages: dict[str, Expected] = {}
        for found in re.finditer(r"const common_chat_msg (\w+)\s*=\s*(?=simple_assist_msg)", source):
            self._messages[found[1]] = self._message(_Expression(source, found.end()).value())

    def cases(self, templates: Collection[str]) -> Iterator[Case]:
        shared = self._source.index("static void test_lfm2_parser")
        shared_end = _block_end(self._source, self._source.index("{", shared))
        for found in _TESTER.finditer(self._source):
            if found["path"] in templates:
                end = _block_end(self._source, self._source.rindex("{", 0, found.start()))
                yield from self._chains(found["path"], found["name"], found.end(), end)
            elif found["name"] is None:
                start = self._source.rindex("for (const char * tmpl", 0, found.start())
                paths = re.findall(r'"(models/templates/[^"]+)"', self._source[start : found.start()])
                for path in set(paths) & set(templates):
                    yield from self._chains(path, "tst", shared, shared_end)

    def _chains(self, path: str, tester: str, start: int, end: int) -> Iterator[Case]:
        for found in re.finditer(rf"\b{tester}\.test\(", self._source[start:end]):
            at = start + found.start()
            yield self._case(path, at, _Expression(self._source, at + len(tester) + 1).chain())

    def _case(self, path: str, at: int, chain: list[_Call]) -> Case:
        options: dict[str, Any] = {}
        content, reasoning, calls = "", "", ()
        tools: tuple[ToolSchema, ...] = ()
        for step in chain[1:]:
            first = step.arguments[0] if step.arguments else True
            match step.name:
                case "tools":
                    tools = tuple(self._tools[name] for name in first)
                case "expect":
                    whole = self._messages[first] if isinstance(first, str) else self._message(first)
                    content, reasoning, calls = whole.content, whole.reasoning, whole.calls
                case "expect_content":
                    content = first
                case "expect_reasoning":
                    reasoning = first
                case "expect_tool_calls":
                    calls = tuple(_call(*call[:2]) for call in first)
                case name:
                    options[name] = first
        line = self._source.count("\n", 0, at) + 1
        expected = Expected(content, reasoning, calls)
        return Case(path, line, chain[0].arguments[0], tools, options, expected)

    def _message(self, built: _Call) -> Expected:
        arguments = built.arguments
        match built.name:
            case "simple_assist_msg":
                content, reasoning, name, written = [*arguments[:4], *[""] * (4 - len(arguments))]
                return Expected(content, reasoning, (_call(name, written),) if name else ())
            case "message_with_tool_calls":
                return Expected(calls=(_call(*arguments),))
            case "message_with_reasoning_content_and_multiple_tool_calls":
                reasoning, content, calls = arguments
                return Expected(content, reasoning, tuple(_call(*call) for call in calls))
            case "message_with_content_and_tool_call":
                return Expected(arguments[0], calls=(_call(*arguments[1:]),))
            case "message_with_reasoning_and_tool_call":
                return Expected("", arguments[0], (_call(*arguments[1:]),))
            case "message_with_tool_calls_and_reasoning":
                return Expected("", arguments[2], (_call(*arguments[:2]),))
            case other:
                raise ValueError(f"the file builds a message in a new way: {other}")

    def _declared_tools(self) -> Iterator[tuple[str, ToolSchema]]:
        for found in re.finditer(r"static common_chat_tool (\w+)\s*(?=\{)", self._source):
            name, description, parameters = _Expression(self._source, found.end()).value()
            yield found[1], ToolSchema(name, description, json.loads(parameters))


def _call(name: str, arguments: str) -> ToolCall:
    try:
        return ToolCall(name, json.loads(arguments or "{}"))
    except ValueError:
        return ToolCall(name, {"(unfinished)": arguments})


class _Expression:
    """An expression from a place in the source on. Words come as text, strings too."""

    def __init__(self, source: str, at: int) -> None:
        self._tokens = (found for found in _TOKEN.finditer(source, at) if found["skipped"] is None)
        self._next = next(self._tokens)

    def chain(self) -> list[_Call]:
        """Return the calls of ``a(…).b(…).run()``."""
        calls: list[_Call] = []
        while not calls or calls[-1].name != "run":
            name = self._take()["word"]
            calls.append(_Call(name, self._list(")")))
            if self._next["mark"] == ".":
                self._take()
        return calls

    def value(self) -> Any:
        """Return a string, a word, a list in braces, or a call."""
        token = self._take()
        if token["word"] is not None:
            return (
                _Call(token["word"], self._list(")")) if self._next["mark"] == "(" else _word(token["word"])
            )
        if token["number"] is not None:
            return int(token["number"])
        if token["mark"] == "{":
            return self._items("}")
        text = _text(token)
        while self._next["string"] is not None or self._next["raw"] is not None:
            text += _text(self._take())
        return text

    def _list(self, closing: str) -> list[Any]:
        self._take()
        return self._items(closing)

    def _items(self, closing: str) -> list[Any]:
        items: list[Any] = []
        while self._next["mark"] != closing:
            items.append(self.value())
            if self._next["mark"] == ",":
                self._take()
        self._take()
        return items

    def _take(self) -> re.Match[str]:
        token = self._next
        self._next = next(self._tokens, token)
        return token


def _word(word: str) -> Any:
    return {"true": True, "false": False}.get(word, word)


def _text(token: re.Match[str]) -> str:
    if token["raw"] is not None:
        return token["raw"]
    if token["string"] is None:
        raise ValueError(f"not understood: {token[0]}")
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token["string"], flags=re.DOTALL)


def _block_end(source: str, at: int) -> int:
    """Return where the block that begins at `at` ends."""
    depth = 0
    for token in _TOKEN.finditer(source, at):
        depth += (token["mark"] == "{") - (token["mark"] == "}")
        if depth == 0:
            return token.end()
    raise ValueError("a block has no end")
