"""Recurrence rules (RRULE, RFC 5545 §3.3.10): read, written, moved, and worked out.

Times here are naive: those of the wall clock where the series lives. All work is bounded by the
calendar: a period holds at most a year's days, and no period lies behind the asked window.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import product

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_WITHIN_THE_DAY = ("SECONDLY", "MINUTELY", "HOURLY")
_BYDAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_MOST_A_DAY = 48
_LAST_YEAR = 2199

Place = tuple[int, int]
"""A weekday of a month or year: which (0 for each, -1 for the last) and which weekday (Monday is 0)."""


@dataclass(frozen=True)
class Rule:
    """One RRULE. `until` is a date, a naive time of the series' own clock, or an aware time in UTC."""

    frequency: str
    interval: int = 1
    count: int | None = None
    until: date | None = None
    by_day: tuple[Place, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_month: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_week: tuple[int, ...] = ()
    by_place: tuple[int, ...] = ()
    """BYSETPOS."""
    by_hour: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_second: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def weekdays(self) -> tuple[int, ...]:
        """The weekdays it names, Monday is 0."""
        return tuple(day for _, day in self.by_day)


def parse_rule(text: str) -> Rule:
    """Read an RRULE's value. Raises `ValueError` for one that no calendar could follow, in a few words."""
    parts = (part.partition("=") for part in text.upper().strip().split(";"))
    given = {name.strip(): value.strip() for name, _, value in parts if name.strip()}
    frequency = given.pop("FREQ", "")
    if frequency in _WITHIN_THE_DAY:
        raise ValueError("an event repeats within the day, which is not supported")
    if frequency not in _FREQUENCIES:
        raise ValueError("an event's rule does not say how often")
    rule = Rule(
        frequency,
        interval=_positive(given.pop("INTERVAL", "1")),
        count=_positive(given.pop("COUNT")) if "COUNT" in given else None,
        until=_until(given.pop("UNTIL")) if "UNTIL" in given else None,
        by_day=_places(given.pop("BYDAY", "")),
        by_month_day=_numbers(given.pop("BYMONTHDAY", ""), -31, 31, "a day that no month has"),
        by_month=_numbers(given.pop("BYMONTH", ""), 1, 12, "a month that there is not"),
        by_year_day=_numbers(given.pop("BYYEARDAY", ""), -366, 366, "a day that no year has"),
        by_week=_numbers(given.pop("BYWEEKNO", ""), -53, 53, "a week that no year has"),
        by_place=_numbers(given.pop("BYSETPOS", ""), -366, 366, "a place that no day has"),
        by_hour=_numbers(given.pop("BYHOUR", ""), 0, 23, "an hour that there is not", zero=True),
        by_minute=_numbers(given.pop("BYMINUTE", ""), 0, 59, "a minute that there is not", zero=True),
        by_second=_numbers(given.pop("BYSECOND", ""), 0, 60, "a second that there is not", zero=True),
        week_start=WEEKDAYS.index(given["WKST"]) if given.get("WKST") in WEEKDAYS else 0,
    )
    _check(rule)
    return rule


def write_rule(rule: Rule) -> str:
    """Return an RRULE's value."""
    parts = [f"FREQ={rule.frequency}"]
    if rule.interval != 1:
        parts.append(f"INTERVAL={rule.interval}")
    for name, numbers in (
        ("BYMONTH", rule.by_month), ("BYWEEKNO", rule.by_week), ("BYYEARDAY", rule.by_year_day),
        ("BYMONTHDAY", rule.by_month_day),
    ):  # fmt: skip
        if numbers:
            parts.append(f"{name}={','.join(map(str, numbers))}")
    if rule.by_day:
        parts.append("BYDAY=" + ",".join(f"{which or ''}{WEEKDAYS[day]}" for which, day in rule.by_day))
    for name, numbers in (
        ("BYHOUR", rule.by_hour), ("BYMINUTE", rule.by_minute), ("BYSECOND", rule.by_second),
        ("BYSETPOS", rule.by_place),
    ):  # fmt: skip
        if numbers:
            parts.append(f"{name}={','.join(map(str, numbers))}")
    if rule.week_start:
        parts.append(f"WKST={WEEKDAYS[rule.week_start]}")
    if rule.until is not None:
        parts.append(f"UNTIL={_written(rule.until)}")
    if rule.count is not None:
        parts.append(f"COUNT={rule.count}")
    return ";".join(parts)


def _written(until: date) -> str:
    if not isinstance(until, datetime):
        return f"{until:%Y%m%d}"
    return f"{until:%Y%m%dT%H%M%S}" + ("Z" if until.tzinfo else "")


def starts(rule: Rule, first: datetime, since: datetime, before: datetime) -> Iterator[datetime]:
    """Give the starts of a series from `since` on and before `before`, in order.

    `first` is DTSTART, `rule.until` naive or a date. A DTSTART that the rule does not make is no
    start of the rule's; the caller counts it in.
    """
    last = _last_moment(rule, before)
    number = 0
    for start in _all_starts(rule, first, since if rule.count is None else first, last):
        if start < first:
            continue
        number += 1
        if start > last or (rule.count is not None and number > rule.count):
            return
        if since <= start < before:
            yield start


def _last_moment(rule: Rule, before: datetime) -> datetime:
    until = rule.until
    if until is None:
        return before
    if not isinstance(until, datetime):
        until = datetime.combine(until, time.max)
    return min(until, before)


def _all_starts(rule: Rule, first: datetime, since: datetime, last: datetime) -> Iterator[datetime]:
    times = _times(rule, first)
    for days in _periods(rule, first.date(), since.date(), last.date()):
        moments = [datetime.combine(day, clock) for day in days for clock in times]
        yield from _picked(moments, rule.by_place) if rule.by_place else moments


def _times(rule: Rule, first: datetime) -> list[time]:
    clocks = product(
        sorted(set(rule.by_hour or (first.hour,))),
        sorted(set(rule.by_minute or (first.minute,))),
        sorted({min(s, 59) for s in rule.by_second} or {first.second}),
    )
    return [time(*clock) for clock in clocks]


def _picked(moments: Sequence[datetime], places: tuple[int, ...]) -> list[datetime]:
    size = len(moments)
    indices = {place - 1 if place > 0 else size + place for place in places}
    return [moments[i] for i in sorted(indices) if 0 <= i < size]


def _periods(rule: Rule, first: date, since: date, last: date) -> Iterator[list[date]]:
    """Give the days of each day, week, month or year that counts, in order, up to `last`."""
    match rule.frequency:
        case "DAILY":
            index, base = (since - first).days, first.toordinal()
        case "WEEKLY":
            base = first.toordinal() - (first.weekday() - rule.week_start) % 7
            index = (since.toordinal() - base) // 7
        case "MONTHLY":
            base = first.year * 12 + first.month - 1
            index = since.year * 12 + since.month - 1 - base
        case _:
            base, index = first.year, since.year - first.year
    step = max(0, index // rule.interval) * rule.interval
    while True:
        try:
            start, days = _days_of_period(rule, base + step * (7 if rule.frequency == "WEEKLY" else 1), first)
        except (ValueError, OverflowError):  # the end of the calendar
            return
        if start > last or start.year > _LAST_YEAR:
            return
        yield days
        step += rule.interval


def _days_of_period(rule: Rule, period: int, first: date) -> tuple[date, list[date]]:
    """Return the first day of a period and those of its days that the rule names, in order."""
    match rule.frequency:
        case "DAILY":
            day = date.fromordinal(period)
            return day, [day] if _allowed(rule, day) else []
        case "WEEKLY":
            start = date.fromordinal(period)
            named = set(rule.weekdays or (first.weekday(),))
            week = [date.fromordinal(period + i) for i in range(7)]
            return start, [d for d in week if d.weekday() in named and _in_months(rule, d)]
        case "MONTHLY":
            start = date(period // 12, period % 12 + 1, 1)
            if not _in_months(rule, start):
                return start, []
            return start, sorted(_days_of_month(rule, start, first))
        case _:
            start = date(period, 1, 1)
            return start, sorted(_days_of_year(rule, period, first))


def _allowed(rule: Rule, day: date) -> bool:
    """Say whether the day of a DAILY rule is one of its months', month days' and weekdays'."""
    if rule.by_day and day.weekday() not in rule.weekdays:
        return False
    return _in_months(rule, day) and (not rule.by_month_day or _is_month_day(rule, day))


def _in_months(rule: Rule, day: date) -> bool:
    return not rule.by_month or day.month in rule.by_month


def _is_month_day(rule: Rule, day: date) -> bool:
    return day.day in rule.by_month_day or day.day - days_in(day.year, day.month) - 1 in rule.by_month_day


def days_in(year: int, month: int) -> int:
    """Return how many days a month has."""
    following = date(year + month // 12, month % 12 + 1, 1) if (year, month) != (9999, 12) else None
    return (following - date(year, month, 1)).days if following else 31


def _days_of_month(rule: Rule, start: date, first: date) -> set[date]:
    size = days_in(start.year, start.month)
    if rule.by_month_day:
        numbers = {day if day > 0 else size + 1 + day for day in rule.by_month_day}
        days = {start.replace(day=number) for number in numbers if 1 <= number <= size}
        # Beside BYMONTHDAY, BYDAY only limits; both may be given for "Friday the 13th".
        return {day for day in days if not rule.by_day or day in _placed(rule, start, size)}
    if rule.by_day:
        return _placed(rule, start, size)
    return {start.replace(day=first.day)} if first.day <= size else set()


def _placed(rule: Rule, start: date, size: int) -> set[date]:
    """Return the days of BYDAY in a stretch of days: each such weekday, or the n-th, or the n-th last."""
    days: set[date] = set()
    end = start.toordinal() + size
    for which, weekday in rule.by_day:
        begin = start.toordinal() + (weekday - start.weekday()) % 7
        matching = range(begin, end, 7)
        if not which:
            days.update(map(date.fromordinal, matching))
        elif abs(which) <= len(matching):
            days.add(date.fromordinal(matching[which - 1 if which > 0 else which]))
    return days


def _days_of_year(rule: Rule, year: int, first: date) -> set[date]:
    start = date(year, 1, 1)
    size = 366 if days_in(year, 2) == 29 else 365
    months = rule.by_month or range(1, 13)
    if rule.by_year_day or rule.by_week:
        return _days_of_long_rule(rule, start, size, first)
    if rule.by_month_day and rule.by_day and not rule.by_month:
        # Here "the first Monday" is that of the year.
        every = _days_of_year(replace(rule, by_day=()), year, first)
        return every & _placed(rule, start, size)
    if rule.by_month_day or rule.by_month:
        return {day for month in months for day in _days_of_month(rule, date(year, month, 1), first)}
    if rule.by_day:
        return _placed(rule, start, size)
    if first.day <= days_in(year, first.month):
        return {date(year, first.month, first.day)}
    return set()


def _days_of_long_rule(rule: Rule, start: date, size: int, first: date) -> set[date]:
    """Return the days that BYYEARDAY and BYWEEKNO name, within all else that the rule says."""
    days = {start + timedelta(i) for i in range(size)}
    if rule.by_year_day:
        days = {
            d for d in days
            if (number := (d - start).days + 1) in rule.by_year_day or number - size - 1 in rule.by_year_day
        }  # fmt: skip
    if rule.by_week:
        days = {d for d in days if _is_week(rule, d)}
    if rule.by_month_day:
        days = {d for d in days if _is_month_day(rule, d)}
    if rule.by_day:
        named = _placed(rule, start, size)
        days = {d for d in days if (d.weekday() in rule.weekdays if rule.by_week else d in named)}
    elif rule.by_week and not (rule.by_year_day or rule.by_month_day):
        days = {d for d in days if d.weekday() == first.weekday()}
    return {d for d in days if _in_months(rule, d)}


def _is_week(rule: Rule, day: date) -> bool:
    """Say whether a day lies in one of the weeks; the first week has four days of the year (§3.3.10)."""
    middle = day + timedelta(3 - (day.weekday() - rule.week_start) % 7)
    number = (middle.timetuple().tm_yday - 1) // 7 + 1
    year_end = date(middle.year, 12, 31)
    last_middle = year_end - timedelta((year_end.weekday() - rule.week_start - 3) % 7)
    weeks = (last_middle.timetuple().tm_yday - 1) // 7 + 1
    return number in rule.by_week or number - weeks - 1 in rule.by_week


def shifted(rule: Rule, by: timedelta, days: int) -> Rule:
    """Return the rule of a series that is moved by a time of day and by whole days.

    Raises `ValueError` where days are counted so that moving them has no plain meaning.
    """
    if isinstance(rule.until, datetime):
        rule = replace(rule, until=rule.until + by)
    elif rule.until is not None:
        rule = replace(rule, until=rule.until + timedelta(days))
    if by != timedelta(days) and (rule.by_hour or rule.by_minute or rule.by_second):
        raise ValueError("its rule names its own hours")
    if not days:
        return rule
    if rule.by_year_day or rule.by_week or rule.by_place or len(rule.by_month_day) > 1:
        raise ValueError("its rule counts days in a way that can't be moved")
    by_month_day = tuple(day + days for day in rule.by_month_day)
    if any(not 1 <= day <= 28 for day in by_month_day) or (by_month_day and rule.by_day):
        raise ValueError("its rule counts days in a way that can't be moved")
    by_day = tuple((which, (day + days) % 7) for which, day in rule.by_day)
    return replace(rule, by_month_day=by_month_day, by_day=tuple(sorted(by_day)))


def _check(rule: Rule) -> None:
    """Raise `ValueError` for a rule that names nothing, or more than a day can hold."""
    if rule.frequency != "YEARLY" and (rule.by_week or rule.by_year_day):
        raise ValueError("an event's rule names weeks or days of the year without being yearly")
    if rule.frequency == "DAILY" and any(abs(place) > 1 for place in rule.by_place):
        raise ValueError("an event's rule names a place that no day has")
    if rule.by_month_day and not _has_such_days(rule):
        raise ValueError("an event's rule names a day that no month has")
    if len(_times(rule, datetime(2000, 1, 1))) > _MOST_A_DAY:
        raise ValueError("an event repeats within the day, which is not supported")


def _has_such_days(rule: Rule) -> bool:
    longest = max(days_in(2024, month) for month in rule.by_month or range(1, 13))
    return any(1 <= abs(day) <= longest for day in rule.by_month_day)


def _positive(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text) or int(text) < 1:
        raise ValueError("an event's rule has no step, so it would never end")
    return int(text)


def _numbers(text: str, least: int, most: int, otherwise: str, *, zero: bool = False) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        number = int(part) if re.fullmatch(r"[+-]?\d{1,3}", part) else most + 1
        if not least <= number <= most or (number == 0 and not zero):
            raise ValueError(f"an event's rule names {otherwise}")
        numbers.append(number)
    return tuple(dict.fromkeys(numbers))


def _places(text: str) -> tuple[Place, ...]:
    places: list[Place] = []
    for part in filter(None, text.split(",")):
        found = _BYDAY.fullmatch(part)
        if found is None or (found[1] and int(found[1]) == 0):
            raise ValueError("an event's rule names a weekday that there is not")
        places.append((int(found[1] or 0), WEEKDAYS.index(found[2])))
    return tuple(dict.fromkeys(places))


def _until(text: str) -> date:
    found = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z)?)?", text)
    if found is None:
        raise ValueError("an event's rule ends on no date")
    year, month, day, hour, minute, second, utc = found.groups()
    if hour is None:
        return date(int(year), int(month), int(day))
    moment = datetime(int(year), int(month), int(day), int(hour), int(minute), min(int(second), 59))
    return moment.replace(tzinfo=UTC) if utc else moment
