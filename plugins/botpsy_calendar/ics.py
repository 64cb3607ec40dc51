"""Reads iCalendar (RFC 5545): what occurs when, bounded against rules made to take for ever."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events

from botpsy_calendar.moments import midnight
from botpsy_calendar.store import Resource

LONGEST_WINDOW = timedelta(days=400)
MOST_OCCURRENCES = 2000
_TOO_OFTEN = {"SECONDLY", "MINUTELY", "HOURLY"}
_WITHIN_THE_DAY = ("BYHOUR", "BYMINUTE", "BYSECOND")
_OLDEST_YEAR = 1900
MOST_CHARACTERS = 2_000_000
MOST_SERIES = 20
"""Series in one object; a real one has a single one, and its exceptions."""
MOST_DATES = 5000
"""Dates that one object's RDATE and EXDATE may list."""


@dataclass(frozen=True)
class Occurrence:
    """An event as it happens once; times aware and in the person's zone."""

    resource: Resource
    uid: str
    title: str
    start: datetime
    end: datetime
    all_day: bool = False
    location: str = ""
    attendees: tuple[str, ...] = ()
    """Mail addresses, without ``mailto:``."""
    organizer: str = ""
    """Who invites: a mail address, without ``mailto:``; empty where nobody does."""
    busy: bool = True
    """False where it is marked as free time (TRANSP) or cancelled (STATUS)."""
    recurrence_id: str = ""
    """For one of a series: which, as ISO text of its original start (RFC 5545 §3.8.4.4)."""

    @property
    def key(self) -> str:
        """What names this occurrence among all, over restarts."""
        return "\n".join((self.resource.calendar.id, self.resource.href, self.recurrence_id))


def read_calendar(data: str) -> icalendar.Calendar:
    """Parse iCalendar text with at least one event. Raises `ValueError` in a few words."""
    if len(data) > MOST_CHARACTERS:
        raise ValueError("it is too large")
    try:
        parsed = icalendar.Calendar.from_ical(data)
    except Exception as error:
        raise ValueError(_short(error)) from error
    if not isinstance(parsed, icalendar.Calendar):
        raise ValueError("it is no VCALENDAR")  # noqa: TRY004 - the text is wrong, not a type
    _check_amount(parsed)
    for event in parsed.walk("VEVENT"):
        if "DTSTART" not in event:
            raise ValueError("an event has no start")
        begins = event.decoded("DTSTART")
        if not isinstance(begins, date):
            raise ValueError("an event's start is not a date")  # noqa: TRY004 - the text is wrong
        if begins.year < _OLDEST_YEAR and "RRULE" in event:
            raise ValueError(f"a series begins before {_OLDEST_YEAR}")
        rules: Any = event.get("RRULE", [])
        for rule in rules if isinstance(rules, list) else [rules]:
            _check_rule(rule)
    return parsed


def _check_amount(calendar: icalendar.Calendar) -> None:
    """Raise `ValueError` for an object that holds more than can be expanded in a moment."""
    events = calendar.walk("VEVENT")
    if sum("RRULE" in event for event in events) > MOST_SERIES:
        raise ValueError(f"it holds more than {MOST_SERIES} series")
    dates = 0
    for event in events:
        for name in ("RDATE", "EXDATE"):
            value: Any = event.get(name, [])
            lists = value if isinstance(value, list) else [value]
            dates += sum(len(one.dts) for one in lists)
    if dates > MOST_DATES:
        raise ValueError(f"it lists more than {MOST_DATES} dates")


def _check_rule(rule: Any) -> None:
    """Raise `ValueError` for a rule whose expansion takes for ever, or too long."""
    often = _TOO_OFTEN & {str(f).upper() for f in rule.get("FREQ", [])}
    if often or any(len(rule.get(name, [])) > 1 for name in _WITHIN_THE_DAY):
        raise ValueError("an event repeats within the day, which is not supported")
    if any(int(step) < 1 for step in rule.get("INTERVAL", [])):
        raise ValueError("an event's rule has no step, so it would never end")
    frequency = {str(f).upper() for f in rule.get("FREQ", [])}
    if frequency != {"YEARLY"} and ("BYWEEKNO" in rule or "BYYEARDAY" in rule):
        raise ValueError("an event's rule names weeks or days of the year without being yearly")
    if any(not 1 <= int(month) <= 12 for month in rule.get("BYMONTH", [])):
        raise ValueError("an event's rule names a month that there is not")
    if frequency == {"DAILY"} and any(abs(int(place)) > 1 for place in rule.get("BYSETPOS", [])):
        raise ValueError("an event's rule names a place that no day has")
    if "BYMONTHDAY" in rule and not _has_such_days(rule):
        raise ValueError("an event's rule names a day that no month has")


def _has_such_days(rule: Any) -> bool:
    """Say whether any of the months has any of the days; where none has, expansion never ends."""
    months = [int(month) for month in rule.get("BYMONTH", range(1, 13))]
    longest = max((29 if m == 2 else 30 if m in (4, 6, 9, 11) else 31 for m in months), default=31)
    return any(1 <= abs(int(day)) <= longest for day in rule["BYMONTHDAY"])


def occurrences(resource: Resource, start: datetime, end: datetime, zone: ZoneInfo) -> list[Occurrence]:
    """Return what of an object happens between two instants, in order. Raises `ValueError`.

    The window is cut to `LONGEST_WINDOW` and the count to `MOST_OCCURRENCES`.
    """
    calendar = read_calendar(resource.data)
    end = min(end, start + LONGEST_WINDOW)
    try:
        query = recurring_ical_events.of(calendar, skip_bad_series=True)
        components = query.between(start, end)
    except Exception as error:
        raise ValueError(_short(error)) from error
    recurring = _recurs(calendar)
    found: Iterator[Occurrence] = (
        _occurrence(resource, component, zone, recurring) for component in components[:MOST_OCCURRENCES]
    )
    return sorted(
        (o for o in found if o.start < end and (o.end > start or o.start >= start)), key=lambda o: o.start
    )


def _recurs(calendar: icalendar.Calendar) -> bool:
    return any("RRULE" in e or "RDATE" in e or "RECURRENCE-ID" in e for e in calendar.walk("VEVENT"))


def _occurrence(resource: Resource, event: Any, zone: ZoneInfo, recurring: bool) -> Occurrence:
    begins = event.decoded("DTSTART")
    ends = _end_of(event, begins)
    all_day = not isinstance(begins, datetime)
    recurrence = ""
    if recurring:
        original = event.decoded("RECURRENCE-ID") if "RECURRENCE-ID" in event else begins
        recurrence = original.isoformat()
    return Occurrence(
        resource=resource,
        uid=str(event.get("UID", "")),
        title=str(event.get("SUMMARY", "")).strip() or "(no title)",
        start=as_moment(begins, zone),
        end=as_moment(ends, zone),
        all_day=all_day,
        location=str(event.get("LOCATION", "")).strip(),
        attendees=tuple(_addresses(event.get("ATTENDEE"))),
        organizer=next(iter(_addresses(event.get("ORGANIZER"))), ""),
        busy=str(event.get("TRANSP", "OPAQUE")).upper() != "TRANSPARENT"
        and str(event.get("STATUS", "")).upper() != "CANCELLED",
        recurrence_id=recurrence,
    )


def _end_of(event: Any, begins: date) -> date:
    """Return DTEND, or the start plus DURATION, or the default of RFC 5545 §3.6.1."""
    if "DTEND" in event:
        return event.decoded("DTEND")
    if "DURATION" in event:
        return begins + event.decoded("DURATION")
    return begins if isinstance(begins, datetime) else begins + timedelta(1)


def as_moment(value: date, zone: ZoneInfo) -> datetime:
    """Return a date or a time as an instant in the person's zone; floating times are theirs."""
    if not isinstance(value, datetime):
        return midnight(value, zone)
    return value.replace(tzinfo=zone) if value.tzinfo is None else value.astimezone(zone)


def _addresses(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [re.sub("^mailto:", "", str(v), flags=re.IGNORECASE) for v in values]


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) < 120 else text[:117] + "…"
