"""Splits what a model writes into reasoning, text and calls, as it is written."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from botpsy_tui.engine.schemas import Schema, property_schemas
from botpsy_tui.engine.types import CallWritten, ReasoningDelta, TextDelta, ToolCall, ToolSchema

Parsed = TextDelta | ReasoningDelta | CallWritten

THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"

_SHORTEST_FRAGMENT = 4
"""Of a tag cut off at the end; less may as well be meant, as in ``a <b``."""


@dataclass(frozen=True)
class Opening:
    """A call has just been begun: by which opener, and what was written after it already."""

    opener: str
    overhang: str


@dataclass(frozen=True)
class Reading:
    """What follows an opener turned out to be."""

    calls: tuple[ToolCall, ...] = ()
    length: int = 0
    """How many characters it took."""
    goes_on: bool = False
    """More calls may follow within the same opening."""
    broken: bool = False
    """What it took is a call that can't be read, or was given up: never an action."""
    is_text: bool = False
    """What looked like an opener is text, to be shown."""


class StreamParser(ABC):
    """Takes text as it is generated, in any pieces, and gives what it means.

    Text that may turn out to be the beginning of a marker is held back until it is clear, so that
    no part of a tag is ever shown, and so that the pieces make no difference.
    """

    openers: ClassVar[tuple[str, ...]] = ()
    """What a call begins with."""
    closers: ClassVar[tuple[str, ...]] = ()
    """What may be left over after a call, to be passed over."""
    strays: ClassVar[tuple[str, ...]] = ()
    """What is never text, wherever it stands."""
    calls_end_reasoning: ClassVar[bool] = True
    """True where an opener inside unclosed reasoning begins a call."""

    def __init__(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._buffer = ""
        self._reasoning = in_reasoning
        self._reasoned = False
        self._opener: str | None = None
        self._goes_on = False
        self._after_call = False
        self._said_something = False
        self._broken: list[str] = []
        self._opening: Opening | None = None

    @property
    def in_reasoning(self) -> bool:
        """True while what is written is reasoning."""
        return self._reasoning

    @property
    def in_call(self) -> bool:
        """True while what is written is a call."""
        return self._opener is not None

    @property
    def opening(self) -> Opening | None:
        """The call that the text fed last has begun and not completed."""
        return self._opening

    def feed(self, text: str) -> list[Parsed]:
        """Take more text; return what has become clear."""
        self._buffer += text
        self._opening = None
        return self._advance(ended=False)

    def finish(self) -> tuple[list[Parsed], str]:
        """End the text. Returns what was held back, and the text of calls that came to nothing."""
        events = self._advance(ended=True)
        unfinished = (self._opener or "") + self._buffer
        self._buffer, self._opener, self._opening = "", None, None
        return events, "\n".join(filter(None, [*self._broken, unfinished]))

    @abstractmethod
    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Read what follows an opener, or None where more text is needed to tell.

        What is returned for a text is returned for every longer one too. A `Reading` of nothing:
        the opener is passed over. With `ended`, no more text comes: a complete call whose closing
        marker is missing is still a call. `goes_on` of the last reading is in `self._goes_on`.
        """

    def opened(self, opener: str, text: str) -> Opening:
        """Return what `text`, after `opener`, is to a grammar."""
        return Opening(opener, text)

    def properties(self, tool: str) -> dict[str, Schema]:
        """Return the schemas of a tool's arguments; none for a tool that is not known."""
        return dict(property_schemas(self._tools[tool])) if tool in self._tools else {}

    # -- one step of the text at a time

    def _advance(self, *, ended: bool) -> list[Parsed]:
        events: list[Parsed] = []
        while True:
            if self._reasoning:
                goes_on = self._read_reasoning(events, ended=ended)
            elif self._opener is not None:
                goes_on = self._read_call(events, ended=ended)
            elif self._after_call:
                goes_on = self._read_left_over(ended=ended)
            else:
                goes_on = self._read_text(events, ended=ended)
            if not goes_on:
                return events

    def _read_reasoning(self, events: list[Parsed], *, ended: bool) -> bool:
        stops = (THINK_CLOSE, THINK_OPEN, *(self.all_openers() if self.calls_end_reasoning else ()))
        at, marker = _first(self._buffer, stops)
        if marker is None:
            held = self._held_back(stops, ended=ended)
            clear = self._buffer[: len(self._buffer) - held].rstrip()
            self._reason(events, clear)
            self._buffer = "" if ended else self._buffer[len(clear) :]
            return False
        self._reason(events, self._buffer[:at].rstrip())
        self._buffer = self._buffer[at:]
        if marker in (THINK_CLOSE, THINK_OPEN):
            self._buffer = self._buffer[len(marker) :]
        self._reasoning = marker == THINK_OPEN
        return True

    def _read_text(self, events: list[Parsed], *, ended: bool) -> bool:
        dropped = (THINK_CLOSE, *self.strays) if self._tools else (THINK_CLOSE,)
        markers = (THINK_OPEN, *self.all_openers(), *dropped)
        at, marker = _first(self._buffer, markers)
        if marker is None:
            held = self._held_back(markers, ended=ended)
            self._say(events, self._buffer[: len(self._buffer) - held])
            self._buffer = self._buffer[len(self._buffer) - held :]
            return False
        self._say(events, self._buffer[:at])
        self._buffer = self._buffer[at + len(marker) :]
        if marker == THINK_OPEN:
            self._reasoning = True
        elif marker not in dropped:
            self._opener = marker
            self._opening = self.opened(marker, self._buffer)
        return True

    def _read_call(self, events: list[Parsed], *, ended: bool) -> bool:
        assert self._opener is not None
        reading = self.read_call(self._opener, self._buffer, ended=ended)
        if reading is None:
            return False
        opener, taken = self._opener, self._buffer[: reading.length]
        self._buffer = self._buffer[reading.length :]
        self._opener = opener if reading.goes_on else None
        self._opening = None
        if reading.is_text:
            self._say(events, opener)
        elif reading.broken:
            self._broken.append(("" if self._goes_on else opener) + taken)
        self._goes_on = reading.goes_on
        self._after_call = not (reading.is_text or reading.goes_on)
        events.extend(map(CallWritten, reading.calls))
        return True

    def _read_left_over(self, *, ended: bool) -> bool:
        """Pass over blanks and closers after a call, if no text follows them."""
        rest = self._buffer.lstrip()
        closer = next((closer for closer in self.closers if rest.startswith(closer)), None)
        if closer is not None:
            self._buffer = rest[len(closer) :]
            return True
        openers = (THINK_OPEN, *self.all_openers())
        if not ended and any(marker.startswith(rest) for marker in (*openers, *self.closers)):
            return False
        if rest.startswith(openers):
            self._buffer = rest
        elif any(closer.startswith(rest) for closer in self.closers):
            self._buffer = ""
        self._after_call = False
        return True

    def all_openers(self) -> tuple[str, ...]:
        """Return what a call begins with, where there are tools to call."""
        return self.openers if self._tools else ()

    def _held_back(self, markers: Sequence[str], *, ended: bool) -> int:
        """Return how much of the buffer's end may be the beginning of a marker."""
        text = self._buffer
        longest = max(map(len, markers), default=0)
        for length in range(min(longest - 1, len(text)), 0, -1):
            fragment = text[-length:]
            if any(marker.startswith(fragment) for marker in markers):
                is_tag = fragment.startswith("<") and length >= _SHORTEST_FRAGMENT
                return length if is_tag or not ended else 0
        return 0

    def _say(self, events: list[Parsed], text: str) -> None:
        if not self._said_something:
            text = text.lstrip()
        if text:
            self._said_something = True
            events.append(TextDelta(text))

    def _reason(self, events: list[Parsed], text: str) -> None:
        if not self._reasoned:
            text = text.lstrip()
        if text:
            self._reasoned = True
            events.append(ReasoningDelta(text))


def comes_next(rest: str, tags: tuple[str, ...]) -> bool | None:
    """Say whether `rest` begins with one of `tags`; None where more text is needed to tell."""
    if rest.startswith(tags):
        return True
    return None if any(tag.startswith(rest) for tag in tags) else False


def _first(text: str, markers: Sequence[str]) -> tuple[int, str | None]:
    found = [(at, marker) for marker in markers if (at := text.find(marker)) >= 0]
    return min(found) if found else (len(text), None)
