"""Reads what an iCalendar object says of its events (RFC 5545 §3.6.1), within bounds."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from botpsy_calendar.document import Component, Property, parse
from botpsy_calendar.moments import elapsed
from botpsy_calendar.rules import Rule, parse_rule
from botpsy_calendar.values import (
    Zones,
    known_zone,
    read_duration,
    read_moment,
    read_moments,
    read_text,
    zones_of,
)

MOST_CHARACTERS = 2_000_000
MOST_SERIES = 20
"""Series in one object; a real one has a single one, and its exceptions."""
MOST_DATES = 5000
"""Dates that one object's RDATE and EXDATE may list."""
_OLDEST_YEAR = 1900


@dataclass(frozen=True)
class Event:
    """One VEVENT: a single event, a series, or one occurrence that differs from its series."""

    component: Component
    uid: str
    start: date | datetime
    length: timedelta
    """How long it takes: for times the time that passes, for dates whole days."""
    rules: tuple[Rule, ...] = ()
    dates: tuple[date | datetime, ...] = ()
    """RDATE."""
    left_out: tuple[date | datetime, ...] = ()
    """EXDATE."""
    original: date | datetime | None = None
    """RECURRENCE-ID: which occurrence of its series it is."""
    and_following: bool = False
    """RANGE=THISANDFUTURE: the later ones differ as it does."""
    sequence: int = 0

    @property
    def recurs(self) -> bool:
        """Whether it happens more than once."""
        return bool(self.rules or self.dates)

    @property
    def zone(self) -> tzinfo | None:
        """The zone whose wall clock the series keeps; None for dates and floating times."""
        return self.start.tzinfo if isinstance(self.start, datetime) else None

    def text(self, name: str) -> str:
        """Return a text property, or an empty text."""
        return read_text(self.component.get(name)).strip()


def read_calendar(data: str) -> Component:
    """Return an object with at least one event. Raises `ValueError` in a few words."""
    calendar = _parsed(data)
    read_events(data)
    return calendar


def _parsed(data: str) -> Component:
    if len(data) > MOST_CHARACTERS:
        raise ValueError("it is too large")
    calendar = parse(data.removeprefix("\ufeff"))
    if not any(calendar.walk("VCALENDAR")):
        raise ValueError("it is no VCALENDAR")
    return calendar


@lru_cache(maxsize=10_000)
def read_events(data: str) -> tuple[Event, ...]:
    """Return the events of an object's text. Raises `ValueError` in a few words.

    What is returned is shared: to change an object, `read_calendar` gives a document of its own.
    """
    calendar = _parsed(data)
    components = list(calendar.walk("VEVENT"))
    _check_amount(components)
    zones, own_zone = zones_of(calendar), _calendar_zone(calendar)
    return tuple(_event(component, zones, own_zone) for component in components)


def _check_amount(events: list[Component]) -> None:
    """Raise `ValueError` for an object that holds more than can be worked out in a moment."""
    if sum(event.get("RRULE") is not None for event in events) > MOST_SERIES:
        raise ValueError(f"it holds more than {MOST_SERIES} series")
    lists = [p for event in events for name in ("RDATE", "EXDATE") for p in event.all(name)]
    if sum(p.value.count(",") + 1 for p in lists) > MOST_DATES:
        raise ValueError(f"it lists more than {MOST_DATES} dates")


def _calendar_zone(calendar: Component) -> tzinfo | None:
    """Return the zone of X-WR-TIMEZONE, in which Google's calendars mean their UTC and floating times."""
    for component in calendar.walk("VCALENDAR"):
        if found := component.get("X-WR-TIMEZONE"):
            return known_zone(read_text(found))
    return None


def _event(component: Component, zones: Zones, own_zone: tzinfo | None) -> Event:
    begins = component.get("DTSTART")
    if begins is None:
        raise ValueError("an event has no start")
    start = read_moment(begins, zones)
    rules = tuple(parse_rule(p.value) for p in component.all("RRULE") if p.value.strip())
    dates = _moments(component, "RDATE", zones)
    if rules and start.year < _OLDEST_YEAR:
        raise ValueError(f"a series begins before {_OLDEST_YEAR}")
    if own_zone is not None and isinstance(start, datetime) and start.tzinfo in (None, UTC):
        start = start.replace(tzinfo=own_zone) if start.tzinfo is None else start.astimezone(own_zone)
    original = component.get("RECURRENCE-ID")
    return Event(
        component,
        uid=read_text(component.get("UID")),
        start=start,
        length=_length(component, start, zones),
        rules=rules,
        dates=tuple(dates),
        left_out=tuple(_moments(component, "EXDATE", zones)),
        original=read_moment(original, zones) if original else None,
        and_following=original is not None
        and original.parameters.get("RANGE", "").upper() == "THISANDFUTURE",
        sequence=_number(component.get("SEQUENCE")),
    )


def _moments(component: Component, name: str, zones: Zones) -> list[date | datetime]:
    return [moment for p in component.all(name) for moment in read_moments(p, zones)]


def _length(component: Component, start: date | datetime, zones: Zones) -> timedelta:
    """Return DTEND less the start, or DURATION, or the default of RFC 5545 §3.6.1; never below nothing."""
    default = timedelta() if isinstance(start, datetime) else timedelta(1)
    if ends := component.get("DTEND"):
        end = read_moment(ends, zones)
        if isinstance(start, datetime) and isinstance(end, datetime):
            if (start.tzinfo is None) != (end.tzinfo is None):
                end = end.replace(tzinfo=start.tzinfo)
            return max(default, elapsed(start, end) if start.tzinfo else end - start)
        return max(default, _day(end) - _day(start))
    if duration := component.get("DURATION"):
        length = read_duration(duration.value)
        return max(default, length if isinstance(start, datetime) else timedelta(length.days))
    return default


def _day(moment: date | datetime) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _number(property: Property | None) -> int:
    found = re.fullmatch(r"\s*(\d{1,9})\s*", property.value) if property else None
    return int(found[1]) if found else 0
