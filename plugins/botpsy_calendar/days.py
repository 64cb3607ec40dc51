"""The part of the grammar that names days: dates, weekdays, weeks, months, "in three days".

A reading takes the tokens and a position, and returns the days with the position after them, or
None where no day is named there. It raises `ToolError` for a day that does not exist.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta

from botpsy_calendar.tokens import Tokens
from botpsy_tui.plugin import ToolError

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS = {
    **{name: i for i, name in enumerate(_WEEKDAYS)},
    **{name[:3]: i for i, name in enumerate(_WEEKDAYS)},
    **{"tues": 1, "weds": 2, "thur": 3, "thurs": 3},
}
MONTHS = {
    **{name: i for i, name in enumerate(_MONTHS, 1)},
    **{name[:3]: i for i, name in enumerate(_MONTHS, 1)},
    "sept": 9,
}
_NOT_BEFORE_SHORT = {"the", "i", "we", "he", "she", "they", "it"}
"""Before "sun" or "sat", these make it an ordinary word."""
_AFTER_NTH = {
    "", "at", "from", "in", "to", "till", "until", "for", "with", "please", "and", "or", "when", "if", "by",
    "about", "around", "after", "before", "between", "morning", "afternoon", "evening", "on", "is", "next",
}  # fmt: skip
"""After "the 12th" these may follow; "the 1st meeting" names no day."""
_UNITS = {"day": 1, "days": 1, "week": 7, "weeks": 7}
_HORIZON = 366 * 50


@dataclass(frozen=True)
class Days:
    """The first day, and the day after the last."""

    first: date
    end: date
    single: bool = True
    """Whether one day was named, or several."""
    maybe_today: bool = False
    """A weekday word for today's weekday: it means today where the time said is still ahead."""
    exact_clock: bool = False
    """After an ISO date a time is on the 24-hour clock."""


Read = tuple[Days, int] | None


def one(day: date) -> Days:
    """Return a single day."""
    return Days(day, day + timedelta(1))


def read_days(t: Tokens, i: int, today: date) -> Read:
    """Return the days named at a position, with the position after them."""
    found = _read_one(t, i, today)
    if found is None:
        return None
    days, j = found
    if days.single and (t[j].kind == "dash" or t.word(j) in ("to", "until", "till", "through")):
        last = _read_one(t, j + 1, days.first)
        if last and last[0].single and last[0].first > days.first:
            return Days(days.first, last[0].end, single=False), last[1]
    return found


def _read_one(t: Tokens, i: int, today: date) -> Read:
    for reading in (
        _numeric, _named_date, _relative, _weekday, _span, _edge, _nth, _whole_month,
    ):  # fmt: skip
        if found := reading(t, i, today):
            return found
    return None


def _make(year: int, month: int, day: int, said: str) -> date:
    try:
        if not 1900 <= year <= 2199:
            raise ValueError(year)
        return date(year, month, day)
    except ValueError:
        raise ToolError(f"There is no date {said!r}; give a day that exists.") from None


def _coming(month: int, day: int, today: date, said: str) -> date:
    """Return the next such date from today on (29 February: in the next leap year)."""
    _make(2024, month, day, said)
    for year in range(today.year, today.year + 9):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= today:
            return found
    raise ToolError(f"There is no date {said!r} in the years ahead.")


def _full_year(text: str) -> int:
    return int(text) + 2000 if len(text) <= 2 else int(text)


def _numeric(t: Tokens, i: int, today: date) -> Read:
    """Read 2026-12-12, 12.12.2026, 12.12. and 12/13/2026 (where only one reading is possible)."""
    kind, text = t[i].kind, t[i].text
    if kind == "iso":
        year, month, day = map(int, text.split("-"))
        return replace(one(_make(year, month, day, text)), exact_clock=True), i + 1
    if kind == "dotted":
        day, month, *year = (part.strip() for part in text.split(".") if part.strip())
        if year:
            return one(_make(_full_year(year[0]), int(month), int(day), text)), i + 1
        return one(_coming(int(month), int(day), today, text)), i + 1
    if kind == "slashed":
        first, second, *year = text.split("/")
        if int(first) != int(second) and max(int(first), int(second)) <= 12:
            raise ToolError(f"{text!r} can be read in two ways; write the date as 2026-12-31.")
        month, day = sorted((int(first), int(second)))
        if year:
            return one(_make(_full_year(year[0]), month, day, text)), i + 1
        return one(_coming(month, day, today, text)), i + 1
    return None


def _day_number(t: Tokens, i: int) -> int | None:
    if t[i].kind == "nth":
        return int(t[i].text[:-2])
    return int(t[i].text) if t[i].kind == "number" and len(t[i].text) <= 2 else None


def _year(t: Tokens, i: int) -> tuple[int | None, int]:
    j = i + (t[i].text == ",")
    if t[j].kind == "number" and len(t[j].text) == 4 and t[j].text[:2] in ("19", "20", "21"):
        return int(t[j].text), j + 1
    return None, i


def _dated(month: int, day: int, t: Tokens, i: int, j: int, today: date) -> tuple[date, int]:
    year, end = _year(t, j)
    said = t.said(i, end)
    return (_make(year, month, day, said) if year else _coming(month, day, today, said)), end


def _named_date(t: Tokens, i: int, today: date) -> Read:
    """Read "12 December 2026", "the 12th of December", "Dec 12", "3 to 5 December"."""
    start = i + (t.word(i) == "the")
    day = _day_number(t, start)
    if day is not None:
        j = start + 1
        if (t[j].kind == "dash" or t.word(j) in ("to", "until", "and")) and _day_number(t, j + 1):
            k = j + 2 + (t.word(j + 2) == "of")
            if month := MONTHS.get(t.word(k)):
                last, end = _dated(month, _day_number(t, j + 1) or 0, t, i, k + 1, today)
                first = _make(last.year, month, day, t.said(i, end))
                return Days(first, last + timedelta(1), single=False), end
        j += t.word(j) == "of"
        if month := MONTHS.get(t.word(j)):
            found, end = _dated(month, day, t, i, j + 1 + (t[j + 1].text == "."), today)
            return one(found), end
        return None
    if month := MONTHS.get(t.word(i)):
        j = i + 1 + (t[i + 1].text == ".")
        j += t.word(j) == "the"
        day = _day_number(t, j)
        if day is not None and t[j + 1].kind != "half" and t.word(j + 1) != "o'clock":
            found, end = _dated(month, day, t, i, j + 1, today)
            return one(found), end
    return None


def _relative(t: Tokens, i: int, today: date) -> Read:
    """Read "today", "the day after tomorrow", "in three days", "two weeks ago", "next 3 days"."""
    start = i + (t.word(i) == "the")
    simple: list[tuple[tuple[str, ...], int]] = [
        (("day", "after", "tomorrow"), 2), (("day", "before", "yesterday"), -2),
        (("today",), 0), (("tomorrow",), 1), (("tmrw",), 1), (("yesterday",), -1), (("last", "night"), -1),
    ]  # fmt: skip
    for words, days in simple:
        if t.words(start, *words):
            # "last night" is a day and a part of it: the part is read from the second word.
            return one(today + timedelta(days)), start + (1 if words[0] == "last" else len(words))
    if t.word(i) == "tonight":
        return one(today), i
    if t.word(i) == "this" and t.word(i + 1) in ("morning", "afternoon", "evening"):
        return one(today), i + 1
    return _counted(t, i, today)


def _counted(t: Tokens, i: int, today: date) -> Read:
    if t.word(i) in ("in", "within"):
        amount, unit, j = _amount(t, i + 1)
        if amount is not None:
            return one(_shifted(today, amount, unit, t.said(i, j))), j
    if t.word(i) in ("next", "coming", "following"):
        amount, unit, j = _amount(t, i + 1)
        if amount is not None and unit.endswith("s"):
            return Days(today, _shifted(today, amount, unit, t.said(i, j)), single=False), j
    amount, unit, j = _amount(t, i)
    if amount is None:
        return None
    if t.word(j) == "ago":
        return one(_shifted(today, -amount, unit, t.said(i, j))), j + 1
    if t.words(j, "from", "now"):
        return one(_shifted(today, amount, unit, t.said(i, j))), j + 2
    if t.word(j) in ("from", "after") and (base := _read_one(t, j + 1, today)) and base[0].single:
        return one(_shifted(base[0].first, amount, unit, t.said(i, j))), base[1]
    return None


def _amount(t: Tokens, i: int) -> tuple[int | None, str, int]:
    """Read a count of days, weeks, months or years."""
    j = i + (t.word(i) in ("about", "a") and t.word(i + 1) in ("few", "couple"))
    count = t.count(j)
    j += 1
    j += t.word(j) == "of"
    if count is None or t.word(j).rstrip("s") not in ("day", "week", "month", "year"):
        return None, "", i
    return count, t.word(j), j + 1


def _shifted(day: date, count: int, unit: str, said: str) -> date:
    """Return the date so many days, weeks, months or years on; a short month ends earlier."""
    if unit in _UNITS:
        if abs(count * _UNITS[unit]) > _HORIZON:
            raise ToolError(f"{said!r} is too far away.")
        return day + timedelta(count * _UNITS[unit])
    months = day.year * 12 + day.month - 1 + count * (12 if unit.startswith("year") else 1)
    year, month = divmod(months, 12)
    if abs(year - day.year) > 50:
        raise ToolError(f"{said!r} is too far away.")
    first = date(year, month + 1, 1)
    return first.replace(day=min(day.day, (_month_after(first) - timedelta(1)).day))


def _weekday(t: Tokens, i: int, today: date) -> Read:
    """Read "Friday", "next Friday", "Friday next week", and check "Friday, 12 December"."""
    which = t.word(i) if t.word(i) in ("next", "this", "last", "coming", "following") else ""
    j = i + bool(which)
    name = t.word(j)
    number = WEEKDAYS.get(name, WEEKDAYS.get(name.removesuffix("s")) if len(name) > 6 else None)
    if number is None or (len(name) == 3 and not which and t.word(i - 1) in _NOT_BEFORE_SHORT):
        return None
    j += 1 + (t[j + 1].text == "." and len(name) == 3)
    monday = today - timedelta(today.weekday())
    week = _which_week(t, j)
    if week is not None:
        return one(monday + timedelta(7 * week + number)), j + 2
    if not which and (dated := _date_after(t, j, number, today)):
        return dated
    if which == "next":
        return one(monday + timedelta(7 + number)), j
    if which == "last":
        return one(today - timedelta((today.weekday() - number - 1) % 7 + 1)), j
    ahead = (number - today.weekday() - 1) % 7 + 1
    return replace(one(today + timedelta(ahead)), maybe_today=ahead == 7), j


def _which_week(t: Tokens, i: int) -> int | None:
    if t.word(i + 1) != "week":
        return None
    return {"this": 0, "next": 1, "last": -1}.get(t.word(i))


def _date_after(t: Tokens, i: int, number: int, today: date) -> Read:
    """Read the date after a weekday, which must fall on that weekday."""
    j = i + (t[i].text == ",")
    for reading in (_numeric, _named_date, _nth):
        if (found := reading(t, j, today)) and found[0].single:
            day = found[0].first
            if day.weekday() != number:
                actual, said = _WEEKDAYS[day.weekday()].title(), _WEEKDAYS[number].title()
                raise ToolError(f"{day.day} {day:%B %Y} is a {actual}, not a {said}; say which is meant.")
            return found
    return None


def _month_after(first: date) -> date:
    return (first + timedelta(32)).replace(day=1)


def _span(t: Tokens, i: int, today: date) -> Read:
    """Read weeks, weekends, months and years: "this week", "the weekend", "next month"."""
    start = i
    if t.words(i, "rest", "of"):
        start = i + 2
    which = t.word(start)
    if t.word(start) == "weekend":
        return _weekend(0, today), start + 1
    if which not in ("this", "next", "last", "the", "whole", "all", "coming", "following"):
        return None
    unit, shift = t.word(start + 1), {"next": 1, "following": 1, "last": -1}.get(which, 0)
    end = start + 2
    monday = today - timedelta(today.weekday())
    if unit == "week" and t.word(end) == "of" and (base := _read_one(t, end + 1, today)) and base[0].single:
        first = base[0].first - timedelta(base[0].first.weekday())
        return Days(first, first + timedelta(7), single=False), base[1]
    if unit == "week":
        j = end + (t.word(end) == "on")
        number = WEEKDAYS.get(t.word(j))
        if number is not None:
            return one(monday + timedelta(7 * shift + number)), j + 1
        first = monday + timedelta(7 * shift)
        return Days(today if not shift else first, first + timedelta(7), single=False), end
    if unit == "weekend":
        return _weekend(shift, today), end
    first = today.replace(day=1)
    if unit == "month":
        first = _shifted(first, shift, "month", "")
        return Days(first if shift else today, _month_after(first), single=False), end
    if unit == "year":
        first = date(today.year + shift, 1, 1)
        return Days(first if shift else today, date(first.year + 1, 1, 1), single=False), end
    return None


def _weekend(shift: int, today: date) -> Days:
    saturday = today - timedelta(today.weekday()) + timedelta(5 + 7 * shift)
    return Days(saturday if shift else max(saturday, today), saturday + timedelta(2), single=False)


def _edge(t: Tokens, i: int, today: date) -> Read:
    """Read "the end of the month", "the beginning of next week", "the end of December"."""
    i += t.word(i) == "the"
    edge = t.word(i)
    if edge not in ("end", "start", "beginning") or t.word(i + 1) != "of":
        return None
    j = i + 2
    # "the month" and "month" are this one; the whole of it, not what is left.
    found = _span(t, j, today) or _whole_month(t, j, today, bare=True)
    if found is None and t.word(j) == "month":
        found = Days(today, _month_after(today.replace(day=1)), single=False), j + 1
    if found is None:
        return None
    days, j = found
    if edge != "end":
        return one(days.first), j
    of_week = "week" in (t.word(j - 1),)
    return one(days.end - timedelta(3 if of_week else 1)), j


def _nth(t: Tokens, i: int, today: date) -> Read:
    """Read "the 12th": the next such day from today on."""
    i += t.word(i) == "the"
    if t[i].kind != "nth":
        return None
    following = t[i + 1]
    if following.kind == "word" and following.text not in _AFTER_NTH:
        return None
    day = int(t[i].text[:-2])
    if not 1 <= day <= 31:
        raise ToolError(f"There is no {t[i].text!r} in any month; give a day that exists.")
    first = today.replace(day=1)
    while True:
        if (_month_after(first) - timedelta(1)).day >= day and first.replace(day=day) >= today:
            return one(first.replace(day=day)), i + 1
        first = _month_after(first)


def _whole_month(t: Tokens, i: int, today: date, *, bare: bool = False) -> Read:
    """Read "in December", "December 2026"; "may" and "march" alone are ordinary words."""
    led = t.word(i) in ("in", "during", "this", "next", "last")
    j = i + led
    month = MONTHS.get(t.word(j))
    if month is None:
        return None
    year, end = _year(t, j + 1)
    if not (led or bare or year) and (len(t.word(j)) <= 3 or t.word(j) == "march"):
        return None
    if year is None:
        year = today.year + (month < today.month)
        year -= t.word(i) == "last" and month >= today.month
    first = date(year, month, 1)
    return Days(max(first, today) if first <= today < _month_after(first) else first, _month_after(first),
                single=False), end  # fmt: skip
