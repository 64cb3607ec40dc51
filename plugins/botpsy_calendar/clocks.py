"""The part of the grammar that names times of day: "3pm", "from 10 to 11:30", "afternoon"."""

from dataclasses import dataclass, replace

from botpsy_calendar.days import MONTHS
from botpsy_calendar.tokens import NUMBER_WORDS, Tokens
from botpsy_tui.plugin import ToolError

DAY_MINUTES = 24 * 60
PARTS: dict[tuple[str, ...], tuple[int, int]] = {
    ("early", "morning"): (6, 9), ("early", "afternoon"): (12, 15), ("late", "afternoon"): (15, 18),
    ("late", "morning"): (10, 12), ("end", "of", "the", "day"): (16, 18), ("end", "of", "day"): (16, 18),
    ("lunch", "time"): (12, 14), ("after", "lunch"): (13, 18), ("at", "lunch"): (12, 14),
    ("over", "lunch"): (12, 14), ("after", "work"): (18, 22), ("morning",): (9, 12), ("mornings",): (9, 12),
    ("lunchtime",): (12, 14), ("afternoon",): (13, 18), ("evening",): (18, 22), ("tonight",): (18, 23),
    ("night",): (18, 23),
}  # fmt: skip
"""Parts of a day and their hours."""
_LEADING = {
    "at",
    "by",
    "around",
    "about",
    "@",
    "from",
    "between",
    "after",
    "before",
    "until",
    "till",
    "since",
}
_LOOSE = {"about", "by", "since"}
"""Prepositions that may stand before a number that is no time."""
_AFTER_HOUR = {
    "", "on", "in", "for", "to", "till", "until", "with", "please", "and", "or", "when", "if", "today",
    "tomorrow", "tonight", "next", "this", "called", "call", "titled", "is", "work", "works", "sharp", "then",
}  # fmt: skip
"""What may follow a bare number that is an hour; "at 3 places" is none."""
_UNITS = {
    "minute", "minutes", "min", "mins", "hour", "hours", "hr", "hrs", "h", "m", "day", "days", "week",
    "weeks", "month", "months", "year", "years", "people", "persons", "percent", "times",
}  # fmt: skip


@dataclass(frozen=True)
class Clock:
    """Minutes since midnight; `end` where a range was said."""

    start: int
    end: int | None = None
    ambiguous: bool = False
    """Neither am nor pm was said, and the hour could be either."""
    bound: str = ""
    """``after`` or ``before``, where the time only bounds a window."""


@dataclass(frozen=True)
class Part:
    """A part of a day, in minutes since midnight."""

    start: int
    end: int
    name: str


def read_part(t: Tokens, i: int) -> tuple[Part, int] | None:
    """Return the part of a day named at a position, with the position after it."""
    for words, (opens, closes) in PARTS.items():
        if t.words(i, *words):
            return Part(opens * 60, closes * 60, words[-1]), i + len(words)
    return None


def read_clock(t: Tokens, i: int, *, after_day: bool) -> tuple[Clock, int] | None:
    """Return the time or range named at a position, with the position after it.

    A bare number is a time only after a word such as "at" or right after a day. Raises
    `ToolError` for a time that does not exist.
    """
    leading = t[i].text if t[i].text in _LEADING else ""
    j = i + bool(leading)
    led = bool(leading) and leading not in _LOOSE
    first = _read_time(t, j, led=led or after_day)
    if first is None:
        return None
    clock, explicit, j = first
    joins = t[j].kind == "dash" or t.word(j) in ("to", "until", "till") or (
        leading == "between" and t.word(j) == "and"
    )  # fmt: skip
    if joins:
        second = _read_time(t, j + 1, led=True)
        if second and (explicit or second[1] or leading in ("from", "between") or after_day):
            last, said_fully, end = second
            if said_fully or _ends_well(t, end):
                return _range(clock, last), end
        if not explicit and t[j + 1].kind in ("number", "nth"):
            return None  # "from 3 to 5 December" are days
    if explicit or ((led or after_day) and _ends_well(t, j)):
        bound = {"after": "after", "before": "before", "until": "before", "till": "before"}.get(leading, "")
        return replace(clock, bound=bound), j
    return None


def _ends_well(t: Tokens, i: int) -> bool:
    following = t[i]
    return following.kind not in ("word", "number", "nth") or following.text in _AFTER_HOUR


def _range(first: Clock, last: Clock) -> Clock:
    start, end = first.start, last.start
    if first.ambiguous:
        hour = start % (12 * 60)
        # "3-4pm", "9-5", "11-1pm": the start is the latest reading before the end.
        readings = [hour, hour + 12 * 60] if not last.ambiguous else [start]
        before = [reading for reading in readings if reading < end]
        start = max(before) if before else start
    if last.ambiguous and end <= start and end + 12 * 60 <= DAY_MINUTES:
        end += 12 * 60
    return Clock(start, end if end > start else end + DAY_MINUTES)


def _read_time(t: Tokens, i: int, *, led: bool) -> tuple[Clock, bool, int] | None:
    """Read one time; the second value says whether it can be nothing else."""
    word = t.word(i)
    if word in ("noon", "midday"):
        return Clock(12 * 60), True, i + 1
    if word == "midnight":
        return Clock(0), True, i + 1
    if past := _read_past(t, i):
        return past
    kind, text = t[i].kind, t[i].text
    if kind == "clock" or (kind == "point" and (led or t[i + 1].kind == "half")):
        hour, minute, *_ = map(int, text.replace(".", ":").split(":"))
        return *_time(t, i, hour, minute, written=len(text.replace(".", ":").split(":")[0]) == 2), i + 1 + (
            t[i + 1].kind == "half"
        )
    if kind == "hours" and led:
        hour, _, minute = text.partition("h")
        return *_time(t, i, int(hour), int(minute or 0), written=True), i + 1
    return _read_hour(t, i, led=led)


def _read_hour(t: Tokens, i: int, *, led: bool) -> tuple[Clock, bool, int] | None:
    number = int(t[i].text) if t[i].kind == "number" and len(t[i].text) <= 2 else None
    if number is None and led and t.word(i) not in ("a", "an", "few", "couple"):
        number = NUMBER_WORDS.get(t.word(i))
    if number is None:
        number = NUMBER_WORDS.get(t.word(i)) if _closes_hour(t, i + 1) else None
    if number is None:
        return None
    if _closes_hour(t, i + 1):
        return *_time(t, i, number, 0, written=False), i + 2
    if not led or number > 24 or t.word(i + 1) in _UNITS or t.word(i + 1) in MONTHS:
        return None
    minute = NUMBER_WORDS.get(t.word(i + 1)) if t[i].kind == "word" else None
    if minute in (15, 20, 30, 40):
        return *_time(t, i, number, minute, written=False), i + 2
    return _time(t, i, number, 0, written=t[i].text.startswith("0"))[0], False, i + 1


def _closes_hour(t: Tokens, i: int) -> bool:
    return t[i].kind == "half" or t.word(i) in ("o'clock", "oclock")


def _read_past(t: Tokens, i: int) -> tuple[Clock, bool, int] | None:
    """Read "half past two", "a quarter to three", "ten past nine"."""
    j = i + (t.word(i) == "a" and t.word(i + 1) == "quarter")
    minutes = {"half": 30, "quarter": 15}.get(t.word(j), t.count(j))
    direction = t.word(j + 1)
    hour = t.count(j + 2)
    if minutes is None or direction not in ("past", "to") or hour is None or not 1 <= hour <= 24:
        return None
    if direction == "to" and (t.word(j) != "quarter" and minutes not in (5, 10, 20, 25)):
        return None
    if direction == "to" and t[j].kind == "number":
        return None  # "10 to 3" is a range
    clock, _ = _time(t, j + 2, hour, 0, written=False)
    start = clock.start + (minutes if direction == "past" else -minutes)
    return replace(clock, start=start % DAY_MINUTES), True, j + 3 + (t[j + 3].kind == "half")


def _time(t: Tokens, i: int, hour: int, minute: int, *, written: bool) -> tuple[Clock, bool]:
    """Return a time, with am or pm if that follows; 1 to 6 without either are in the afternoon."""
    half = t[i + 1].text.replace(".", "") if t[i + 1].kind == "half" else ""
    wrong = hour > 24 or minute > 59 or (hour == 24 and minute) or (half and not 1 <= hour <= 12)
    if wrong and not (half and written and 13 <= hour <= 23 and half == "pm"):
        raise ToolError(f"There is no time {t.said(i, i + 1 + bool(half))!r}; give one such as 14:30.")
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    ambiguous = not half and not written and 1 <= hour <= 12
    if ambiguous and hour <= 6:
        hour += 12
    return Clock(hour * 60 + minute, ambiguous=ambiguous), True
