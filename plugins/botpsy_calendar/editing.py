"""Writes iCalendar (RFC 5545): a new event, and changes that leave everything else as it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import icalendar

from botpsy_calendar.ics import Occurrence, read_calendar
from botpsy_calendar.moments import elapsed, later

PRODUCT = "-//BotPsy TUI//botpsy_calendar//EN"


@dataclass(frozen=True)
class NewEvent:
    """What a new event holds. For an all-day event, `start` and `end` are dates, the end exclusive."""

    title: str
    start: date
    end: date
    location: str = ""
    attendees: Sequence[str] = ()
    organizer: str = ""


def new_event(event: NewEvent, now: datetime, key: str) -> tuple[str, str]:
    """Return a file name and iCalendar text for a new event; `key` is a UUID of its own."""
    uid = f"{key}@botpsy"
    component = icalendar.Event()
    component.add("UID", uid)
    component.add("DTSTAMP", now)
    component.add("SUMMARY", event.title)
    component.add("DTSTART", event.start)
    component.add("DTEND", event.end)
    if event.location:
        component.add("LOCATION", event.location)
    if event.attendees and event.organizer:
        component.add("ORGANIZER", icalendar.vCalAddress(f"mailto:{event.organizer}"))
    for address in event.attendees:
        attendee = icalendar.vCalAddress(f"mailto:{address}")
        attendee.params["PARTSTAT"] = icalendar.vText("NEEDS-ACTION")
        attendee.params["RSVP"] = icalendar.vText("TRUE")
        component.add("ATTENDEE", attendee)
    calendar = icalendar.Calendar()
    calendar.add("PRODID", PRODUCT)
    calendar.add("VERSION", "2.0")
    calendar.add_component(component)
    return f"{key}.ics", _text(calendar)


@dataclass(frozen=True)
class Change:
    """What is to be different; None leaves a thing as it is."""

    title: str | None = None
    start: date | None = None
    end: date | None = None
    location: str | None = None


def changed(occurrence: Occurrence, change: Change, now: datetime) -> str:
    """Return the object's text with the change made.

    One occurrence of a series becomes an override (RECURRENCE-ID, RFC 5545 §3.8.4.4); the series
    stays. Everything that is not named stays as it was.
    """
    calendar = read_calendar(occurrence.resource.data)
    event = _override(calendar, occurrence) if occurrence.recurrence_id else _single(calendar)
    if change.title is not None:
        _set(event, "SUMMARY", change.title)
    if change.location is not None:
        _set(event, "LOCATION", change.location)
    if change.start is not None and change.end is not None:
        _set(event, "DTSTART", change.start)
        event.pop("DURATION", None)
        _set(event, "DTEND", change.end)
    _touch(event, now)
    return _text(calendar)


def without_occurrence(occurrence: Occurrence, now: datetime) -> str:
    """Return a series' text without this occurrence (EXDATE, RFC 5545 §3.8.5.1)."""
    calendar = read_calendar(occurrence.resource.data)
    master = _master(calendar)
    calendar.subcomponents = [
        c for c in calendar.subcomponents if not (c.name == "VEVENT" and _is_override(c, occurrence))
    ]
    master.add("EXDATE", _original_start(master, occurrence))
    _touch(master, now)
    return _text(calendar)


def stands_alone(occurrence: Occurrence) -> bool:
    """Say whether its object holds nothing but this: an invitation to one occurrence of a series."""
    return len(read_calendar(occurrence.resource.data).walk("VEVENT")) == 1 and "RECURRENCE-ID" in _single(
        read_calendar(occurrence.resource.data)
    )


def new_end(occurrence: Occurrence, start: datetime, length: timedelta | None) -> datetime:
    """Return when the moved event ends: as long after its start as before, or after `length`."""
    return later(start, length if length is not None else elapsed(occurrence.start, occurrence.end))


def _single(calendar: icalendar.Calendar) -> Any:
    return calendar.walk("VEVENT")[0]


def _master(calendar: icalendar.Calendar) -> Any:
    events = calendar.walk("VEVENT")
    return next((e for e in events if "RECURRENCE-ID" not in e), events[0])


def _override(calendar: icalendar.Calendar, occurrence: Occurrence) -> Any:
    """Return the override of that occurrence, made of the series' own event where there is none."""
    for event in calendar.walk("VEVENT"):
        if _is_override(event, occurrence):
            return event
    master = _master(calendar)
    override = icalendar.Event.from_ical(master.to_ical())
    assert isinstance(override, icalendar.Event)
    for name in ("RRULE", "RDATE", "EXDATE", "EXRULE"):
        override.pop(name, None)
    start = _original_start(master, occurrence)
    length = _length(master)
    override.add("RECURRENCE-ID", start)
    _set(override, "DTSTART", start)
    override.pop("DURATION", None)
    _set(override, "DTEND", start + length)
    calendar.add_component(override)
    return override


def _is_override(event: Any, occurrence: Occurrence) -> bool:
    return "RECURRENCE-ID" in event and event.decoded("RECURRENCE-ID").isoformat() == occurrence.recurrence_id


def _original_start(master: Any, occurrence: Occurrence) -> date:
    """Return the occurrence's original start as the series writes its starts."""
    begins = master.decoded("DTSTART")
    if not isinstance(begins, datetime):
        return date.fromisoformat(occurrence.recurrence_id[:10])
    start = datetime.fromisoformat(occurrence.recurrence_id)
    if begins.tzinfo is None:
        return start.replace(tzinfo=None)
    return start.astimezone(begins.tzinfo) if start.tzinfo else start.replace(tzinfo=begins.tzinfo)


def _length(event: Any) -> timedelta:
    begins = event.decoded("DTSTART")
    if "DTEND" in event:
        return event.decoded("DTEND") - begins
    if "DURATION" in event:
        return event.decoded("DURATION")
    return timedelta() if isinstance(begins, datetime) else timedelta(1)


def _set(event: Any, name: str, value: object) -> None:
    event.pop(name, None)
    if value != "":
        event.add(name, value)


def _touch(event: Any, now: datetime) -> None:
    """Mark an event as changed: DTSTAMP, and SEQUENCE one higher (RFC 5545 §3.8.7.4)."""
    _set(event, "DTSTAMP", now)
    _set(event, "LAST-MODIFIED", now)
    _set(event, "SEQUENCE", int(event.get("SEQUENCE", 0)) + 1)


def _text(calendar: icalendar.Calendar) -> str:
    calendar.add_missing_timezones()
    return calendar.to_ical().decode()
