"""What every dialect shares: a streaming parser that splits reasoning, text and calls."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from botpsy_tui.engine.grammar import Grammar, Words
from botpsy_tui.engine.types import CallWritten, ReasoningDelta, TextDelta, ToolCall, ToolSchema

Parsed = TextDelta | ReasoningDelta | CallWritten

_THINK_OPEN = "<think>"
_THINK_CLOSE = "</think>"


@dataclass(frozen=True)
class Opening:
    """A call has just been begun: by which opener, and what was written after it already."""

    opener: str
    overhang: str

    @property
    def lead(self) -> str:
        """What white space still belongs between the opener and the call."""
        return "" if self.overhang else "\n"


class StreamParser(ABC):
    """Takes text as it is generated, in any pieces, and gives what it means.

    Text that may turn out to be the beginning of a marker is held back until it is clear.
    """

    openers: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> None:
        self._tools: Mapping[str, ToolSchema] = {tool.name: tool for tool in tools}
        self._buffer = ""
        self._reasoning = in_reasoning
        self._opener: str | None = None
        self._said_something = False
        self.opening: Opening | None = None
        """Set while a call has been begun by the text fed last."""

    @property
    def in_reasoning(self) -> bool:
        """True while what is written is reasoning."""
        return self._reasoning

    @property
    def in_call(self) -> bool:
        """True while what is written is a call."""
        return self._opener is not None

    def feed(self, text: str) -> list[Parsed]:
        """Take more text; return what has become clear."""
        self._buffer += text
        self.opening = None
        return self._advance(ended=False)

    def finish(self) -> tuple[list[Parsed], str]:
        """End the text. Returns what was held back, and the text of a call left unfinished."""
        events = self._advance(ended=True)
        if self._opener is not None:
            unfinished, self._buffer = self._opener + self._buffer, ""
            return events, unfinished
        if self._buffer:
            events.extend(self._say(self._buffer))
            self._buffer = ""
        return events, ""

    @abstractmethod
    def read_call(self, opener: str, text: str, *, ended: bool) -> tuple[list[ToolCall], int] | None:
        """Read what follows an opener.

        Returns the calls and how many characters of `text` they took, or None where more text
        is needed. No calls and 0 characters: this is no call, but text. With `ended`, no more
        text comes: a complete call whose closing marker is missing is still a call.
        """

    def _advance(self, *, ended: bool) -> list[Parsed]:
        events: list[Parsed] = []
        while True:
            if self._reasoning:
                if not self._read_reasoning(events):
                    return events
            elif self._opener is not None:
                if not self._read_call(events, ended=ended):
                    return events
            elif not self._read_text(events, ended=ended):
                return events

    def _read_reasoning(self, events: list[Parsed]) -> bool:
        # A call inside unclosed reasoning ends the reasoning.
        stops = (_THINK_CLOSE, *(o for o in self.openers if o.startswith("<")))
        at, marker = _first(self._buffer, stops)
        if marker is None:
            held = _held_back(self._buffer, stops)
            self._emit_reasoning(events, self._buffer[: len(self._buffer) - held])
            self._buffer = self._buffer[len(self._buffer) - held :]
            return False
        self._emit_reasoning(events, self._buffer[:at])
        self._buffer = self._buffer[at:]
        if marker == _THINK_CLOSE:
            self._buffer = self._buffer[len(_THINK_CLOSE) :]
        self._reasoning = False
        return True

    def _read_text(self, events: list[Parsed], *, ended: bool) -> bool:
        markers = (_THINK_OPEN, *self.openers) if self._tools else (_THINK_OPEN,)
        at, marker = _first(self._buffer, markers)
        if marker is None:
            held = 0 if ended else _held_back(self._buffer, markers)
            events.extend(self._say(self._buffer[: len(self._buffer) - held]))
            self._buffer = self._buffer[len(self._buffer) - held :]
            return False
        events.extend(self._say(self._buffer[:at]))
        self._buffer = self._buffer[at + len(marker) :]
        if marker == _THINK_OPEN:
            self._reasoning = True
            return True
        self._opener = marker
        self.opening = Opening(marker, self._buffer)
        return True

    def _read_call(self, events: list[Parsed], *, ended: bool) -> bool:
        assert self._opener is not None
        read = self.read_call(self._opener, self._buffer, ended=ended)
        if read is None:
            return False
        calls, length = read
        opener, self._opener = self._opener, None
        if not calls and length == 0:
            # No call after all: what looked like an opener was text.
            events.extend(self._say(opener))
            return True
        self._buffer = self._buffer[length:]
        events.extend(CallWritten(call) for call in calls)
        return True

    def _say(self, text: str) -> list[Parsed]:
        if not self._said_something:
            text = text.lstrip()
        if not text:
            return []
        self._said_something = True
        return [TextDelta(text)]

    def _emit_reasoning(self, events: list[Parsed], text: str) -> None:
        if text:
            events.append(ReasoningDelta(text))


class Dialect(ABC):
    """A family's way of writing tool calls."""

    name: ClassVar[str]
    calls_tools: ClassVar[bool] = True
    reasoning_end: ClassVar[str] = f"\n{_THINK_CLOSE}\n\n"
    """What closes the reasoning, as the template itself writes it."""
    opener: ClassVar[str] = ""
    """What a call begins with, as the template itself writes it."""
    decides_first: ClassVar[bool] = False
    """True where models of this family are held to choose between the tools and a reply first.

    A general model of this size that has answered a few times goes on answering, and claims
    deeds it has not done. Asked for a tool's name, with a reply among the names, it chooses well.
    """
    slips: ClassVar[Mapping[str, str]] = {}
    """What this family begins a call with by mistake, and the opener it stands for.

    Looked at where an answer begins: the token is not decoded yet and is replaced for nothing.
    """

    @abstractmethod
    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""

    @abstractmethod
    def grammar(self, opening: Opening, tools: Sequence[ToolSchema], words: Words, grammar: Grammar) -> str:
        """Return the grammar (Lark, as llguidance reads it) of what follows an opening."""


class PlainParser(StreamParser):
    """Text and reasoning only."""

    def read_call(self, opener: str, text: str, *, ended: bool) -> tuple[list[ToolCall], int] | None:
        """Never called: there are no openers."""
        return [], 0


class PlainDialect(Dialect):
    """A model whose template knows no tools: it can talk, not act."""

    name = "plain"
    calls_tools = False

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a parser that finds no calls."""
        return PlainParser((), in_reasoning=in_reasoning)

    def grammar(self, opening: Opening, tools: Sequence[ToolSchema], words: Words, grammar: Grammar) -> str:
        """Never called: there are no openers."""
        raise NotImplementedError


def typed(value: str, schema: Mapping[str, Any]) -> Any:
    """Return an argument written as bare text as the JSON value its schema asks for.

    Python's ``True``, ``False`` and ``None`` are taken as JSON's. What does not fit stays text,
    for validation to refuse.
    """
    kinds = kinds_of(schema)
    if kinds == {"string"}:
        return value
    constants: dict[str, Any] = {"True": True, "False": False, "None": None}
    bare = value.strip()
    if bare in constants:
        return constants[bare]
    try:
        return json.loads(bare)
    except ValueError:
        return value


def kinds_of(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a property's schema allows, ``null`` left out."""
    options: Sequence[Mapping[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or [schema]
    kinds: set[str] = set()
    for option in options:
        kind = option.get("type", "string" if "enum" in option else "")
        kinds.update([kind] if isinstance(kind, str) else kind)
    return kinds - {"null"}


def _first(text: str, markers: Sequence[str]) -> tuple[int, str | None]:
    found = [(at, marker) for marker in markers if (at := text.find(marker)) >= 0]
    return min(found) if found else (len(text), None)


def _held_back(text: str, markers: Sequence[str]) -> int:
    """Return how much of the end of `text` may be the beginning of a marker."""
    longest = max(map(len, markers), default=0)
    for length in range(min(longest - 1, len(text)), 0, -1):
        if any(marker.startswith(text[-length:]) for marker in markers):
            return length
    return 0
