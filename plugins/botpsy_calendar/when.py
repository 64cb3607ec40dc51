"""Finds the date and time in what a person wrote: a small grammar of its own, no guessing.

The rules, where words leave a choice:

- a weekday means the next one, today left out; "this Friday" is the same; "next Friday" is the
  Friday of next week (weeks begin on Monday)
- a day of the month or a date without a year means the next one from today on
- a time without a date means today if it is still ahead, else tomorrow
- "3" after "at" means 15:00, as people make appointments: 1 to 6 are in the afternoon
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from botpsy_calendar.moments import Precision, When, at, later, midnight
from botpsy_tui.plugin import ToolError

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAY = (
    r"(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday|s)?|thu(?:rs(?:day)?|r)?"
    r"|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_PARTS = {
    "early morning": (time(6), time(9)),
    "morning": (time(9), time(12)),
    "lunchtime": (time(12), time(14)),
    "lunch time": (time(12), time(14)),
    "afternoon": (time(13), time(18)),
    "late afternoon": (time(15), time(18)),
    "evening": (time(18), time(22)),
    "tonight": (time(18), time(23)),
    "night": (time(18), time(23)),
}
_NUMBER_NAMES = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NUMBERS = {name: i for i, name in enumerate(_NUMBER_NAMES, 1)} | {"a": 1, "an": 1, "couple of": 2}
_COUNT = r"(\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_CLOCK = (
    r"(?P<{0}h>\d{{1,2}})(?:[:.](?P<{0}m>\d{{2}})|h(?P<{0}n>\d{{2}})?)?"
    r"\s*(?P<{0}ap>am|pm|a\.m\.?|p\.m\.?|o'?clock)?(?![\w:])"
)
_HORIZON = 366 * 50


@dataclass(frozen=True)
class _Days:
    """The first day, the day after the last, and whether the words named one day or several."""

    first: date
    end: date
    single: bool = True


@dataclass(frozen=True)
class _Clock:
    """A time of day; `end` where a range was said."""

    start: time
    end: time | None = None
    next_day_end: bool = False


def find_when(text: str, now: datetime) -> When | None:
    """Return the stretch of time that `text` names, or None where it names none.

    Words around it do not matter. `now` is aware, its zone a ZoneInfo. Raises `ToolError` where
    a date or a time is named that does not exist, such as February 30.
    """
    words = " ".join(text.lower().replace("’", "'").replace("–", "-").replace("—", "-").split())
    if exact := _relative_moment(words, now):
        return exact
    days, rest = _find_days(words, now)
    clock = _find_clock(rest)
    part = _find_part(rest)
    if clock is not None:
        return _with_clock(days, clock, part, now)
    zone = _zone(now)
    if part is not None:
        day = days.first if days else now.date()
        start, end = (at(day, edge, zone) for edge in _PARTS[part])
        if days is None and end <= now:
            start, end = (at(day + timedelta(1), edge, zone) for edge in _PARTS[part])
        return When(start, end, Precision.PART)
    if days is None:
        return None
    precision = Precision.DAY if days.single else Precision.SPAN
    return When(midnight(days.first, zone), midnight(days.end, zone), precision)


def resolve_when(text: str, sentence: str, now: datetime) -> When | None:
    """Return what `text` names; what it leaves open is taken from the whole sentence.

    A model that points at "afternoon" or "3pm" in "tomorrow afternoon" has cut its span short:
    the day is in the sentence. What `text` says itself is never overruled, and one that is no
    part of the sentence was typed by the person and stands for itself.
    """
    found = find_when(text, now)
    is_span = text.lower() in sentence.lower() and text != sentence
    whole = _whole_or_none(sentence, now) if is_span else None
    if found is None:
        return whole
    if whole is None or names_a_day(text, now):
        narrower = whole is not None and found.precision in (Precision.DAY, Precision.SPAN)
        if narrower and whole and whole.precision in (Precision.TIME, Precision.RANGE, Precision.PART):
            same_day = found.start <= whole.start and whole.end <= later(found.end, timedelta(hours=6))
            if same_day and found.precision is Precision.DAY:
                return whole
        return found
    if found.has_time or found.precision is Precision.PART:
        shift = whole.start.date() - found.start.date()
        zone = _zone(now)
        return When(
            at(found.start.date() + shift, found.start.time(), zone),
            at(found.end.date() + shift, found.end.time(), zone),
            found.precision,
        )
    return found


def _whole_or_none(sentence: str, now: datetime) -> When | None:
    try:
        return find_when(sentence, now)
    except ToolError:
        return None


def names_a_day(text: str, now: datetime) -> bool:
    """Say whether `text` names a day, and not only a time."""
    words = " ".join(text.lower().split())
    return _find_days(words, now)[0] is not None or _relative_moment(words, now) is not None


def without_days(text: str, now: datetime) -> str:
    """Return `text` without the words that name a day."""
    return _find_days(" ".join(text.lower().split()), now)[1]


def _zone(now: datetime) -> ZoneInfo:
    if not isinstance(now.tzinfo, ZoneInfo):
        raise TypeError("`now` must have a ZoneInfo")
    return now.tzinfo


def _relative_moment(words: str, now: datetime) -> When | None:
    """Read "in 2 hours", "in half an hour", "right now"."""
    if re.search(r"\b(?:right )?now\b", words) and not re.search(r"\bby now\b", words):
        return When(now, now, Precision.TIME)
    if re.search(r"\bin half an hour\b", words):
        start = later(now, timedelta(minutes=30))
        return When(start, start, Precision.TIME)
    found = re.search(rf"\bin (?:about )?{_COUNT}\s*(minutes?|mins?|hours?|hrs?|h)\b", words)
    if not found:
        return None
    unit = timedelta(hours=1) if found[2][0] == "h" else timedelta(minutes=1)
    start = later(now, _count(found[1]) * unit)
    return When(start, start, Precision.TIME)


def _count(text: str) -> int:
    return _NUMBERS[text] if text in _NUMBERS else int(text)


def _find_days(words: str, now: datetime) -> tuple[_Days | None, str]:
    """Return the days that are named, and the words without what named them."""
    for pattern, reading in _DAY_READINGS:
        if found := pattern.search(words):
            days = reading(found, now.date())
            if days is not None:
                return days, words[: found.start()] + " ; " + words[found.end() :]
    return None, words


def _one(day: date) -> _Days:
    return _Days(day, day + timedelta(1))


def _make_date(year: int, month: int, day: int, said: str) -> date:
    try:
        return date(year, month, day)
    except ValueError:
        raise ToolError(f"There is no date {said.strip()!r}; give a day that exists.") from None


def _iso(found: re.Match[str], _today: date) -> _Days:
    return _one(_make_date(int(found[1]), int(found[2]), int(found[3]), found[0]))


def _dotted(found: re.Match[str], today: date) -> _Days | None:
    day, month = int(found[1]), int(found[2])
    if found[3]:
        year = int(found[3])
        return _one(_make_date(year + 2000 if year < 100 else year, month, day, found[0]))
    return _one(_next_date(month, day, today, found[0]))


def _next_date(month: int, day: int, today: date, said: str) -> date:
    """Return the next such date from today on (29 February: the next leap year)."""
    _make_date(2024, month, day, said)
    for year in range(today.year, today.year + 9):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    raise ToolError(f"There is no date {said.strip()!r}; give a day that exists.")


def _named_month(found: re.Match[str], today: date) -> _Days:
    month = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(found["month"][:3]))
    day = int(found["day"])
    if found["year"]:
        return _one(_make_date(int(found["year"]), month, day, found[0]))
    return _one(_next_date(month, day, today, found[0]))


def _weekday(found: re.Match[str], today: date) -> _Days:
    number = next(i for i, name in enumerate(_WEEKDAYS) if name.startswith(found["weekday"][:3]))
    if (found["which"] or "").strip() == "next":
        monday = today - timedelta(today.weekday()) + timedelta(7)
        return _one(monday + timedelta(number))
    if (found["which"] or "").strip() == "last":
        return _one(today - timedelta((today.weekday() - number - 1) % 7 + 1))
    ahead = (number - today.weekday() - 1) % 7 + 1
    return _one(today + timedelta(ahead))


def _week(found: re.Match[str], today: date) -> _Days:
    monday = today - timedelta(today.weekday())
    which = found[1].strip()
    if which == "next":
        return _Days(monday + timedelta(7), monday + timedelta(14), single=False)
    if which == "last":
        return _Days(monday - timedelta(7), monday, single=False)
    return _Days(today, monday + timedelta(7), single=False)


def _weekend(found: re.Match[str], today: date) -> _Days:
    monday = today - timedelta(today.weekday())
    if (found[1] or "").strip() == "next":
        monday += timedelta(7)
    return _Days(max(monday + timedelta(5), today), monday + timedelta(7), single=False)


def _month_span(found: re.Match[str], today: date) -> _Days:
    first = today.replace(day=1)
    following = (first + timedelta(32)).replace(day=1)
    if found[1].strip() == "next":
        return _Days(following, (following + timedelta(32)).replace(day=1), single=False)
    return _Days(today, following, single=False)


def _whole_month(found: re.Match[str], today: date) -> _Days:
    month = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(found["month"][:3]))
    year = int(found["year"]) if found["year"] else today.year + (month < today.month)
    first = _make_date(year, month, 1, found[0])
    return _Days(first, (first + timedelta(32)).replace(day=1), single=False)


def _ahead(found: re.Match[str], today: date) -> _Days:
    count = _count(found[1])
    days = count * (7 if found[2].startswith("week") else 1)
    if days > _HORIZON:
        raise ToolError(f"{found[0].strip()!r} is too far away.")
    return _one(today + timedelta(days))


def _next_days(found: re.Match[str], today: date) -> _Days:
    count = _count(found[1]) * (7 if found[2].startswith("week") else 1)
    return _Days(today, today + timedelta(count), single=False)


def _end_of_month(_found: re.Match[str], today: date) -> _Days:
    return _one((today.replace(day=1) + timedelta(32)).replace(day=1) - timedelta(1))


def _day_of_month(found: re.Match[str], today: date) -> _Days:
    day = int(found[1])
    if not 1 <= day <= 31:
        raise ToolError(f"There is no {found[0].strip()!r}; a month has 31 days at most.")
    first = today.replace(day=1)
    for _ in range(12):
        try:
            candidate = first.replace(day=day)
        except ValueError:
            candidate = None
        if candidate is not None and candidate >= today:
            return _one(candidate)
        first = (first + timedelta(32)).replace(day=1)
    raise ToolError(f"There is no {found[0].strip()!r}.")


def _from_today(days: int) -> Callable[[re.Match[str], date], _Days]:
    return lambda _found, today: _one(today + timedelta(days))


_YEAR = r"(?:,?\s+(?P<year>(?:19|20)\d{2}))?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DAY_READINGS: list[tuple[re.Pattern[str], Callable[[re.Match[str], date], _Days | None]]] = [
    (re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})(?=\b|t)"), _iso),
    (re.compile(r"(?<![\d.:])(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})?(?![\d:])"), _dotted),
    (re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}{_YEAR}\b"), _named_month),
    (re.compile(rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}{_YEAR}(?![\w:])"), _named_month),
    (re.compile(r"\bday after tomorrow\b"), _from_today(2)),
    (re.compile(r"\b(?:tomorrow|tmrw)\b"), _from_today(1)),
    (re.compile(r"\b(?:today|this (?=morning|afternoon|evening))"), _from_today(0)),
    (re.compile(r"(?=\btonight\b)"), _from_today(0)),
    (re.compile(r"\byesterday\b"), _from_today(-1)),
    (re.compile(rf"\bin {_COUNT} (days?|weeks?)\b"), _ahead),
    (re.compile(rf"\b(?:a|one) (?:week) from {_WEEKDAY}\b"), lambda f, t: _one(
        _weekday(re.match(rf"(?P<which>){_WEEKDAY}", f["weekday"]), t).first + timedelta(7)  # pyright: ignore
    )),
    (re.compile(rf"\b(?:next|coming|following) {_COUNT} (days|weeks)\b"), _next_days),
    (re.compile(rf"\b(?P<which>next |this |on |last |coming )?{_WEEKDAY}s?\b"), _weekday),
    (re.compile(r"\b(this |next |last |the |whole |all )week\b(?!end)"), _week),
    (re.compile(r"\b(this |next |the )?weekend\b"), _weekend),
    (re.compile(r"\bend of (?:the|this) month\b"), _end_of_month),
    (re.compile(r"\b(this |next )month\b"), _month_span),
    (re.compile(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b"), _day_of_month),
    (re.compile(r"\b(?:on )?(\d{1,2})(?:st|nd|rd|th)\b"), _day_of_month),
    (re.compile(rf"\bin {_MONTH}{_YEAR}\b"), _whole_month),
]  # fmt: skip

_BETWEEN = re.compile(
    r"\b(?:from |between )?" + _CLOCK.format("a") + r"\s*(?:-|to|until|till|and)\s*" + _CLOCK.format("b")
)
_AT = re.compile(r"(?:\b(?:at|by|from|after|to|for|@)\s*|(?<=t)|;\s*)" + _CLOCK.format("a"))
_BARE = re.compile(r"\b" + _CLOCK.format("a"))
_HALF_PAST = re.compile(
    r"\b(half past|quarter past|quarter to)\s+(\d{1,2}|" + "|".join(_NUMBERS) + r")\s*(am|pm)?\b"
)
_WORD_CLOCK = re.compile(
    r"\bat (one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?:\s*(am|pm|o'?clock))?"
)


def _find_clock(words: str) -> _Clock | None:
    """Return the time of day that is named."""
    if re.search(r"\b(?:at )?noon\b|\bmidday\b", words):
        return _Clock(time(12))
    if re.search(r"\b(?:at )?midnight\b", words):
        return _Clock(time(0))
    if found := _HALF_PAST.search(words):
        hour = _hour(_count(found[2]), found[3], said=found[0])
        shift = {"half past": 30, "quarter past": 15, "quarter to": -15}[found[1]]
        moment = datetime(2000, 1, 2, hour) + timedelta(minutes=shift)
        return _Clock(moment.time())
    if found := _WORD_CLOCK.search(words):
        return _Clock(time(_hour(_NUMBERS[found[1]], found[2], said=found[0])))
    found = _BETWEEN.search(words)
    if found and (_is_clock(found, "a") or _is_clock(found, "b") or found[0].startswith(("from", "between"))):
        return _range(found)
    if (found := _AT.search(words)) and (_is_clock(found, "a") or _stands_alone(found, words)):
        return _Clock(_time_of(found, "a"))
    for found in _BARE.finditer(words):
        if _is_clock(found, "a"):
            return _Clock(_time_of(found, "a"))
    return None


def _is_clock(found: re.Match[str], name: str) -> bool:
    """Say whether a number is written as a time: with minutes, am or pm, or o'clock."""
    return bool(found[f"{name}m"] or found[f"{name}n"] or found[f"{name}ap"])


def _stands_alone(found: re.Match[str], words: str) -> bool:
    """Say whether a bare number is an hour: "at 3", or "Friday 10" with nothing after it."""
    if found[0].startswith(";"):
        return found.end() == len(words)
    return not found[0].startswith("for")


def _range(found: re.Match[str]) -> _Clock:
    end_half = found["bap"]
    start = _time_of(found, "a", half=found["aap"] or end_half)
    end = _time_of(found, "b", half=end_half or found["aap"])
    if end <= start and not found["aap"] and end_half and end_half.startswith("p"):
        start = _time_of(found, "a", half="am")  # "11-1pm"
    return _Clock(start, end, next_day_end=end <= start)


def _time_of(found: re.Match[str], name: str, half: str | None = None) -> time:
    minute = found[f"{name}m"] or found[f"{name}n"] or "0"
    written_out = bool(found[f"{name}m"]) and len(found[f"{name}h"]) == 2
    hour = _hour(int(found[f"{name}h"]), half or found[f"{name}ap"], said=found[0], exact=written_out)
    if int(minute) > 59:
        raise ToolError(f"There is no time {found[0].strip(' ;')!r}; give one such as 14:30.")
    return time(hour, int(minute))


def _hour(hour: int, half: str | None, *, said: str, exact: bool = False) -> int:
    half = (half or "").replace(".", "")
    if hour > 24 or (half in ("am", "pm") and not 1 <= hour <= 12):
        raise ToolError(f"There is no time {said.strip(' ;')!r}; give one such as 14:30.")
    if half == "pm":
        return hour % 12 + 12
    if half == "am":
        return hour % 12
    if not exact and 1 <= hour <= 6:
        return hour + 12
    return hour % 24


def _find_part(words: str) -> str | None:
    for name in sorted(_PARTS, key=len, reverse=True):
        if re.search(rf"\b{name}\b", words):
            return name
    return None


def _with_clock(days: _Days | None, clock: _Clock, part: str | None, now: datetime) -> When:
    zone = _zone(now)
    start_time, end_time = clock.start, clock.end
    if part in ("evening", "tonight", "night") and start_time.hour < 12 and start_time.hour >= 5:
        start_time = start_time.replace(hour=start_time.hour + 12)
    if part in ("morning", "early morning") and 12 < start_time.hour <= 18:
        start_time = start_time.replace(hour=start_time.hour - 12)
    day = days.first if days else now.date()
    start = at(day, start_time, zone)
    if days is None and start < now:
        day += timedelta(1)
        start = at(day, start_time, zone)
    if end_time is None:
        return When(start, start, Precision.TIME)
    end = at(day + timedelta(days=1 if clock.next_day_end else 0), end_time, zone)
    return When(start, end, Precision.RANGE)
