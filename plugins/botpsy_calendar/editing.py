"""Writes iCalendar (RFC 5545): a new event, and changes that leave every other line as it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from botpsy_calendar.document import Component, component
from botpsy_calendar.events import read_calendar, read_events
from botpsy_calendar.ics import Occurrence
from botpsy_calendar.moments import elapsed, later
from botpsy_calendar.rules import Rule, write_rule
from botpsy_calendar.series import exception_for
from botpsy_calendar.values import write_moment, write_text
from botpsy_calendar.vevent import Change, alarm, apply, attendee_line, finished, touch, uid_of

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
    rule: Rule | None = None
    notes: str = ""
    link: str = ""
    reminders: Sequence[timedelta] = ()
    """How long before the start to remind."""


def new_event(event: NewEvent, now: datetime, key: str) -> tuple[str, str]:
    """Return a file name and iCalendar text for a new event; `key` is a UUID of its own."""
    lines = [
        f"UID:{key}@botpsy",
        write_moment("DTSTAMP", now.astimezone(UTC)),
        f"SUMMARY:{write_text(event.title)}",
        write_moment("DTSTART", event.start),
        write_moment("DTEND", event.end),
    ]
    if event.rule:
        lines.append(f"RRULE:{write_rule(event.rule)}")
    lines += [
        f"{name}:{text}"
        for name, text in (
            ("LOCATION", write_text(event.location)),
            ("DESCRIPTION", write_text(event.notes)),
            ("URL", event.link),
        )
        if text
    ]
    if event.attendees and event.organizer:
        lines.append(f"ORGANIZER:mailto:{event.organizer}")
    lines += [attendee_line(address) for address in event.attendees]
    vevent = component("VEVENT", lines)
    vevent.parts += [alarm(before, event.title, "\r\n") for before in event.reminders]
    calendar = component("VCALENDAR", [f"PRODID:{PRODUCT}", "VERSION:2.0"])
    calendar.parts.append(vevent)
    return f"{key}.ics", finished(calendar, [event.start, event.end])


def changed(occurrence: Occurrence, change: Change, now: datetime) -> str:
    """Return the object's text with the change made to this one occurrence.

    One occurrence of a series becomes an exception (RECURRENCE-ID, RFC 5545 §3.8.4.4); the series
    stays. Every line that is not named stays as it was.
    """
    calendar = read_calendar(occurrence.resource.data)
    event = exception_for(calendar, occurrence) if occurrence.recurrence_id else _of(calendar, occurrence)
    apply(event, change, calendar)
    touch(event, now)
    return finished(calendar, [change.start, change.end])


def stands_alone(occurrence: Occurrence) -> bool:
    """Say whether its object holds nothing but this: an invitation to one occurrence of a series."""
    events = read_events(occurrence.resource.data)
    return len(events) == 1 and events[0].original is not None


def new_end(occurrence: Occurrence, start: datetime, length: timedelta | None) -> datetime:
    """Return when the moved event ends: as long after its start as before, or after `length`."""
    return later(start, length if length is not None else elapsed(occurrence.start, occurrence.end))


def _of(calendar: Component, occurrence: Occurrence) -> Component:
    events = list(calendar.walk("VEVENT"))
    return next((e for e in events if uid_of(e) == occurrence.uid), events[0])
