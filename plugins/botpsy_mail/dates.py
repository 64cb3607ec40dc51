"""Days as people name them when they look for mail: always back in time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from botpsy_tui.plugin import ToolError

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAY = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _WEEKDAYS)
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + "|sept"
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10,
    "few": 3, "couple of": 2,
}  # fmt: skip
_COUNT = r"(?P<count>\d{1,3}|" + "|".join(_COUNTS) + ")"
_UNIT = "(?P<unit>day|week|month|year)s?"
_UNIT_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True)
class Days:
    """Days, both ends included; an end that is None is open."""

    first: date | None
    last: date | None


def find_days(text: str, today: date) -> tuple[Days | None, str]:
    """Return the days that a text names, and the text without them.

    A day in the future means the last one before it of that name. Raises `ToolError` for a day that does
    not exist.
    """
    for pattern, reading in _READINGS:
        if match := pattern.search(text):
            days = reading(match, today)
            if days is not None:
                bound = (match.groupdict().get("bound") or "").lower()
                rest = f"{text[: match.start()]} {text[match.end() :]}"
                return _bounded(days, bound), rest
    return None, text


def show_days(days: Days) -> str:
    """Return days as a person reads them."""
    first, last = (f"{d:%a} {d.day} {d:%b %Y}" if d else "" for d in (days.first, days.last))
    if first and last:
        return f"on {first}" if first == last else f"from {first} to {last}"
    return f"since {first}" if first else f"until {last}"


def _bounded(days: Days, bound: str) -> Days:
    if bound == "since":
        return Days(days.first, None)
    if bound == "after":
        return Days(days.last + timedelta(1) if days.last else None, None)
    if bound == "before":
        return Days(None, days.first - timedelta(1) if days.first else None)
    if bound in ("until", "till"):
        return Days(None, days.last)
    return days


def _one(day: date) -> Days:
    return Days(day, day)


def _relative(match: re.Match[str], today: date) -> Days:
    word = match["day"].lower()
    back = 2 if "before" in word else 1 if word.startswith("yesterday") else 0
    return _one(today - timedelta(back))


def _ago(match: re.Match[str], today: date) -> Days:
    back = _number(match["count"]) * _UNIT_DAYS[match["unit"].lower()]
    day = today - timedelta(back)
    return _one(day) if match["unit"].lower() == "day" else Days(day - timedelta(3), day + timedelta(3))


def _last_units(match: re.Match[str], today: date) -> Days:
    back = _number(match["count"]) * _UNIT_DAYS[match["unit"].lower()]
    return Days(today - timedelta(back), today)


def _span(match: re.Match[str], today: date) -> Days:
    which, unit = match["which"].lower(), match["unit"].lower()
    past = which != "this"
    if unit == "week":
        monday = today - timedelta(today.weekday() + 7 * past)
        return Days(monday, monday + timedelta(6))
    if unit == "weekend":
        saturday = today - timedelta((today.weekday() + 2) % 7 or 7 * past)
        return Days(saturday, saturday + timedelta(1))
    if unit == "month":
        first = today.replace(day=1)
        return _month_of((first - timedelta(1)).replace(day=1) if past else first)
    return Days(date(today.year - past, 1, 1), date(today.year - past, 12, 31))


def _weekday(match: re.Match[str], today: date) -> Days | None:
    before = match.string[: match.start("name")].lower().split()[-1:]
    if match["name"].lower() in ("sun", "sat") and before in (["the"], ["i"], ["we"], ["he"], ["she"]):
        return None  # an ordinary word
    wanted = next(i for i, name in enumerate(_WEEKDAYS) if match["name"].lower()[:3] == name[:3])
    back = (today.weekday() - wanted) % 7
    if back == 0 and (match["last"] or "").lower().strip() == "last":
        back = 7
    return _one(today - timedelta(back))


def _iso(match: re.Match[str], _today: date) -> Days:
    return _one(_date(int(match["y"]), int(match["m"]), int(match["d"]), match[0]))


def _dotted(match: re.Match[str], today: date) -> Days:
    year = match["y"]
    return _one(_past(today, int(match["m"]), int(match["d"]), _year(year), match[0]))


def _day_of_month(match: re.Match[str], today: date) -> Days:
    month = _month_number(match["month"])
    return _one(_past(today, month, int(match["d"]), _year(match["y"]), match[0]))


def _whole_month(match: re.Match[str], today: date) -> Days | None:
    name = match["month"].lower()
    if name in ("may", "mar", "march", "jan", "jun") and not match["in"] and not match["y"]:
        return None  # more likely a word or a name
    month = _month_number(name)
    year = _year(match["y"]) or (today.year if month <= today.month else today.year - 1)
    return _month_of(date(year, month, 1))


def _month_of(first: date) -> Days:
    following = (first + timedelta(32)).replace(day=1)
    return Days(first, following - timedelta(1))


def _month_number(name: str) -> int:
    return next(i for i, month in enumerate(_MONTHS, 1) if name.lower()[:3] == month[:3])


def _past(today: date, month: int, day: int, year: int | None, said: str) -> date:
    if year:
        return _date(year, month, day, said)
    found = _date(today.year if (month, day) != (2, 29) else 2024, month, day, said)
    while found > today:
        found = _date(found.year - (4 if (month, day) == (2, 29) else 1), month, day, said)
    return found


def _date(year: int, month: int, day: int, said: str) -> date:
    try:
        return date(year, month, day)
    except ValueError as error:
        raise ToolError(f"There is no day {said.strip()!r}; name one that exists.") from error


def _year(text: str | None) -> int | None:
    if not text:
        return None
    return int(text) if len(text) == 4 else 2000 + int(text)


def _number(text: str) -> int:
    return _COUNTS[text.lower()] if text.lower() in _COUNTS else int(text)


def _pattern(inner: str) -> re.Pattern[str]:
    bound = r"(?:\b(?P<bound>since|after|before|until|till)\s+|\b(?:from|of|on)\s+)?"
    return re.compile(rf"{bound}{inner}(?!\w)", re.IGNORECASE)


_READINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Days | None]], ...] = (
    (_pattern(r"\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})"), _iso),
    (_pattern(r"(?<![\d.])(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.(?:\s?(?P<y>\d{4}|\d{2}(?!\d)))?"), _dotted),
    (
        _pattern(
            rf"(?:\bthe\s+)?\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{_MONTH})"
            r"(?:,?\s+(?P<y>\d{4}))?"
        ),
        _day_of_month,
    ),
    (
        _pattern(
            rf"\b(?P<month>{_MONTH})\.?\s+(?:the\s+)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?"
            r"(?:,?\s+(?P<y>\d{4}))?"
        ),
        _day_of_month,
    ),
    (
        _pattern(
            r"\b(?P<day>(?:the\s+)?day before yesterday|yesterday(?:\s+(?:morning|afternoon|evening))?"
            r"|today|this (?:morning|afternoon|evening)|tonight)"
        ),
        _relative,
    ),
    (_pattern(rf"\b{_COUNT}\s+{_UNIT}\s+ago"), _ago),
    (
        _pattern(rf"\b(?:in|within|over|during)?\s*(?:the\s+)?(?:last|past)\s+{_COUNT}\s+{_UNIT}"),
        _last_units,
    ),
    (_pattern(r"\b(?P<which>last|this|past|previous)\s+(?P<unit>weekend|week|month|year)"), _span),
    (_pattern(rf"\b(?P<last>last\s+|this\s+)?(?P<name>{_WEEKDAY})"), _weekday),
    (_pattern(rf"(?P<in>\bin\s+|\bof\s+)?\b(?P<month>{_MONTH})(?:\s+(?P<y>\d{{4}}))?"), _whole_month),
)
"""Each form of naming days, the more particular ones first."""
