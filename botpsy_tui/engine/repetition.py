"""Notices a small model that goes round in circles: the same words or lines again and again."""

import re
from dataclasses import dataclass

_WINDOW = 4096
"""Characters looked back on."""
_PROBE = 32
"""A loop's period is looked for by where the last characters stood before."""
_CANDIDATES = 8
_SHORT_UNIT = 120
_WORDS_LENGTH = 320
"""Characters that repeated words must fill: an empty table or a short list with equal rows stays below."""
_MARKS_LENGTH = 720
"""The same for what has no letters: rules, spaces, zeros and the borders of tables are long by nature."""
_LINES = 16
_DISTINCT_LINES = 4
_INTERVAL = 48
"""Characters between two looks: looking costs tens of microseconds."""

_SEGMENT_END = re.compile(r"\n+|(?<=[.!?]) +")
_STOP = re.compile(r"[.!?。…]")


@dataclass(frozen=True)
class Loop:
    """The end of a text that goes round in circles."""

    start: int
    """Where, in the text, the second round begins: what stands before is worth keeping."""


class RepetitionWatch:
    """Watches text as it is generated.

    A loop is noticed at the latest when its rounds fill 720 characters (320 where they have
    letters, or three rounds where those are longer), and 48 characters more.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._unseen = 0

    def repeats(self, text: str) -> bool:
        """Take more text; say whether all of it together ends in a loop."""
        self._tail += text
        self._unseen += len(text)
        if self._unseen < _INTERVAL:
            return False
        self._unseen = 0
        self._tail = self._tail[-_WINDOW:]
        return find_loop(self._tail) is not None


def find_loop(text: str) -> Loop | None:
    """Return the loop that `text` ends in, or None."""
    if len(text) < _WORDS_LENGTH:
        return None
    offset = max(0, len(text) - _WINDOW)
    tail = text[offset:]
    start = _periodic_end(tail)
    if start is None:
        start = _same_lines(tail)
    return None if start is None else Loop(offset + start)


def without_loop(text: str) -> str:
    """Return `text` with only the first round of the loop that it ends in."""
    loop = find_loop(text.rstrip()) or find_loop(text)  # blanks can be the loop themselves
    if loop is None:
        return text
    stop = _STOP.match(text, loop.start)
    return text[: stop.end() if stop else loop.start].rstrip()


def _periodic_end(text: str) -> int | None:
    """Return where the second round of an exactly repeating end begins."""
    probe = text[-_PROBE:]
    at = len(text) - len(probe)
    end = at + len(probe) - 1
    for _ in range(_CANDIDATES):
        found = text.rfind(probe, 0, end)
        if found < 0:
            return None
        period = at - found
        length = _length_of_period(text, period)
        if _is_loop(text[-period:], length):
            return len(text) - length + period
        end = found + len(probe) - 1
    return None


def _length_of_period(text: str, period: int) -> int:
    """Return how many characters at the end of `text` repeat with that period."""
    low, high = period, len(text)
    while low < high:  # the longest end that equals itself, moved by a period
        middle = (low + high + 1) // 2
        if text[-middle : len(text) - period] == text[len(text) - middle + period :]:
            low = middle
        else:
            high = middle - 1
    return low


def _is_loop(unit: str, length: int) -> bool:
    rounds = length / len(unit)
    if not any(character.isalpha() for character in unit):
        return length >= _MARKS_LENGTH and rounds >= 4
    return length >= _WORDS_LENGTH and rounds >= (4 if len(unit) < _SHORT_UNIT else 3)


def _same_lines(text: str) -> int | None:
    """Return where lines or sentences begin to be said again, where few make up the whole end."""
    segments: list[tuple[int, str]] = []
    at = 0
    for boundary in _SEGMENT_END.finditer(text):
        segments.append((at, text[at : boundary.start()].strip()))
        at = boundary.end()
    said = [(start, segment) for start, segment in segments if any(map(str.isalpha, segment))][-_LINES:]
    distinct = {segment for _, segment in said}
    if len(said) < _LINES or len(distinct) > _DISTINCT_LINES:
        return None
    if sum(len(segment) for _, segment in said) < _WORDS_LENGTH:
        return None
    seen: set[str] = set()
    for start, segment in said:
        if segment in seen and len(seen) == len(distinct):
            return start
        seen.add(segment)
    return None
