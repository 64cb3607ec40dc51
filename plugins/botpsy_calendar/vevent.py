"""One VEVENT of a document: what it says now, and lines of it written anew (RFC 5545 §3.6.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from botpsy_calendar.document import Component, Property, component
from botpsy_calendar.events import Event, read_events
from botpsy_calendar.ics import Moment, as_moment
from botpsy_calendar.moments import later
from botpsy_calendar.rules import Rule, parse_rule, write_rule
from botpsy_calendar.values import read_text, timezone_text, write_duration, write_moment, write_text


@dataclass(frozen=True)
class Change:
    """What is to be different; None leaves a thing as it is."""

    title: str | None = None
    start: date | None = None
    end: date | None = None
    location: str | None = None
    rule: Rule | None = None
    notes: str | None = None
    link: str | None = None
    reminders: Sequence[timedelta] | None = None
    """In place of all that were set."""
    invited: Sequence[str] = ()
    uninvited: Sequence[str] = ()
    organizer: str = ""
    """The person's own address, for an event that had no attendees before."""


def apply(event: Component, change: Change, calendar: Component) -> None:
    """Make the changes that are named, and no other."""
    for name, text in (
        ("SUMMARY", change.title),
        ("LOCATION", change.location),
        ("DESCRIPTION", change.notes),
    ):
        if text:
            event.put(f"{name}:{write_text(text)}")
        elif text is not None:
            event.remove(name)
    if change.link is not None:
        event.put(f"URL:{change.link}") if change.link else event.remove("URL")
    if change.start is not None and change.end is not None:
        _put_new_times(event, change.start, change.end, calendar)
    if change.rule is not None:
        event.put(f"RRULE:{write_rule(change.rule)}")
    if change.reminders is not None:
        event.drop(*(c for c in event.components if c.name == "VALARM"))
        title = read_text(event.get("SUMMARY"))
        event.parts += [alarm(before, title, event.newline) for before in change.reminders]
    _apply_people(event, change)


def _apply_people(event: Component, change: Change) -> None:
    gone = {address.lower() for address in change.uninvited}
    event.drop(*(p for p in event.all("ATTENDEE") if _mail(p) in gone))
    there = {_mail(p) for p in event.all("ATTENDEE")}
    new = [address for address in change.invited if address.lower() not in there]
    if new and change.organizer and event.get("ORGANIZER") is None:
        event.add(f"ORGANIZER:mailto:{change.organizer}")
    for address in new:
        event.add(attendee_line(address))


def _mail(attendee: Property) -> str:
    return attendee.value.lower().removeprefix("mailto:")


def attendee_line(address: str) -> str:
    return f"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{address}"


def alarm(before: timedelta, title: str, newline: str) -> Component:
    """Return a VALARM that shows a text some time before the start (§3.6.6)."""
    lines = ["ACTION:DISPLAY", f"DESCRIPTION:{write_text(title)}", f"TRIGGER:{write_duration(-before)}"]
    return component("VALARM", lines, newline)


def put_times(event: Component, start: Moment, length: timedelta) -> None:
    """Write DTSTART and the end, which stays a DURATION where it was one."""
    event.put(write_moment("DTSTART", start, tzid_of(event)))
    if (duration := event.get("DURATION")) is not None:
        event.replace(duration, f"DURATION:{write_duration(length)}")
    elif event.get("DTEND") is not None or length:
        end = later(start, length) if isinstance(start, datetime) and start.tzinfo else start + length
        event.put(write_moment("DTEND", end, tzid_of(event)))


def _put_new_times(event: Component, start: date, end: date, calendar: Component) -> None:
    """Write new times in the zone that the event is written in, as far as they are of its kind."""
    was = event_of(calendar, event).start
    tzid = ""
    if isinstance(start, datetime) and isinstance(end, datetime) and isinstance(was, datetime):
        zone = start.tzinfo
        assert isinstance(zone, ZoneInfo)
        start, end, tzid = as_written(start, was, zone), as_written(end, was, zone), tzid_of(event)
    event.put(write_moment("DTSTART", start, tzid))
    event.remove("DURATION")
    event.put(write_moment("DTEND", end, tzid))


def event_of(calendar: Component, event: Component) -> Event:
    """Return what an event of the document says now."""
    index = next(i for i, e in enumerate(calendar.walk("VEVENT")) if e is event)
    return read_events(calendar.text)[index]


def length_of(calendar: Component, event: Component) -> timedelta:
    return event_of(calendar, event).length


def tzid_of(event: Component) -> str:
    begins = event.get("DTSTART")
    return begins.parameters.get("TZID", "") if begins else ""


def rule_of(event: Component) -> Rule | None:
    found = event.get("RRULE")
    return parse_rule(found.value) if found else None


def touch(event: Component, now: datetime) -> None:
    """Mark an event as changed: DTSTAMP, and SEQUENCE one higher (RFC 5545 §3.8.7.4)."""
    stamp = now.astimezone(UTC)
    sequence = event.get("SEQUENCE")
    number = int(sequence.value) if sequence and sequence.value.strip().isdecimal() else 0
    event.put(write_moment("DTSTAMP", stamp))
    event.put(write_moment("LAST-MODIFIED", stamp))
    event.put(f"SEQUENCE:{number + 1}")


def finished(calendar: Component, moments: Sequence[date | None]) -> str:
    """Return the document's text, with a VTIMEZONE for each zone that new times brought in."""
    parent = next(calendar.walk("VCALENDAR"))
    known = {read_text(zone.get("TZID")) for zone in calendar.walk("VTIMEZONE")}
    used = {p.parameters.get("TZID", "") for e in calendar.walk("VEVENT") for p in e.properties}
    for moment in dict.fromkeys(m.tzinfo for m in moments if isinstance(m, datetime)):
        if isinstance(moment, ZoneInfo) and moment.key in used - known:
            zone = Component("VTIMEZONE", timezone_text(moment, parent.newline))
            first = next(i for i, part in enumerate(parent.parts) if isinstance(part, Component))
            parent.parts.insert(first, zone)
            known.add(moment.key)
    return calendar.text


def as_written(moment: Moment, like: Moment, zone: ZoneInfo) -> Moment:
    """Return a moment as a date, a floating time or a time in the zone, whatever `like` is."""
    if not isinstance(like, datetime):
        return moment.astimezone(zone).date() if isinstance(moment, datetime) else moment
    at = as_moment(moment, zone)
    return at.astimezone(like.tzinfo) if like.tzinfo else at.replace(tzinfo=None)


def uid_of(event: Component) -> str:
    return read_text(event.get("UID"))
