"""What occurs when: the events of an iCalendar object, worked out for a stretch of time."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from botpsy_calendar.events import Event, read_events
from botpsy_calendar.moments import later, midnight
from botpsy_calendar.rules import starts, write_rule
from botpsy_calendar.store import Resource
from botpsy_calendar.values import read_text

LONGEST_WINDOW = timedelta(days=400)
MOST_OCCURRENCES = 2000
_A_DAY = timedelta(days=1)
_EARLIEST, _LATEST = datetime(1, 1, 3), datetime(9999, 12, 29)

Moment = date | datetime


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
    cancelled: bool = False
    notes: str = ""
    """DESCRIPTION."""
    rule: str = ""
    """For one of a series: the series' RRULE."""
    recurrence_id: str = ""
    """For one of a series: which, as ISO text of its original start (RFC 5545 §3.8.4.4)."""

    @property
    def key(self) -> str:
        """What names this occurrence among all, over restarts."""
        return "\n".join((self.resource.calendar.id, self.resource.href, self.recurrence_id))


def occurrences(resource: Resource, start: datetime, end: datetime, zone: ZoneInfo) -> list[Occurrence]:
    """Return what of an object happens between two instants, in order. Raises `ValueError`.

    The window is cut to `LONGEST_WINDOW` and the count to `MOST_OCCURRENCES`.
    """
    end = min(end, start + LONGEST_WINDOW)
    series: dict[str, list[Event]] = {}
    for event in read_events(resource.data):
        series.setdefault(event.uid, []).append(event)
    found = (o for events in series.values() for o in _of_one_uid(resource, events, start, end, zone))
    within = (o for o in found if o.start < end and (o.end > start or o.start >= start))
    return sorted(islice(within, MOST_OCCURRENCES), key=lambda o: o.start)


def _of_one_uid(
    resource: Resource, events: Sequence[Event], start: datetime, end: datetime, zone: ZoneInfo
) -> Iterator[Occurrence]:
    """Give the occurrences of the events that share a UID: series, their exceptions, single ones."""
    exceptions: dict[Moment, Event] = {}
    for event in sorted((e for e in events if e.original is not None), key=lambda e: e.sequence):
        assert event.original is not None
        exceptions[_key(event.original, zone)] = event
    masters = [event for event in events if event.original is None]
    for event in masters:
        if not event.recurs:
            yield _occurrence(resource, event, event.start, zone)
            continue
        following = sorted(
            (e for e in exceptions.values() if e.and_following),
            key=lambda e: as_moment(e.original or e.start, zone),
        )
        for original in originals(event, start, end, zone, following):
            if _key(original, zone) not in exceptions:
                yield _following(resource, event, original, following, zone)
    for event in exceptions.values():
        assert event.original is not None
        master = next((m for m in masters if m.recurs), None)
        if master is None or not _left_out(master, zone)(event.original):
            yield _occurrence(resource, event, event.start, zone, event.original, master)


def originals(
    event: Event, start: datetime, end: datetime, zone: ZoneInfo, following: Sequence[Event] = ()
) -> list[Moment]:
    """Return the starts of a series that may reach into a stretch of time, less those left out.

    Exceptions count where the series has them. `following`: exceptions that move the later ones.
    """
    drift = max((abs(_wall_drift(e, zone)) for e in following), default=timedelta())
    around = max([event.length, *(e.length for e in following)]) + drift + _A_DAY
    begins = _naive_start(event)
    since = _cut(_wall(start, event, zone) - around)
    before = _cut(_wall(end, event, zone) + drift + _A_DAY)
    clocks = {begins} if since <= begins < before else set[datetime]()
    for rule in event.rules:
        until = rule.until
        if isinstance(until, datetime) and until.tzinfo is not None:
            rule = replace(rule, until=_wall(until, event, zone))
        clocks.update(islice(starts(rule, begins, since, before), MOST_OCCURRENCES))
    found = {_key(m, zone): m for m in (_unwalled(clock, event) for clock in sorted(clocks))}
    for listed in event.dates:
        moment = _like(listed, event)
        if since <= _wall(as_moment(moment, zone), event, zone) < before:
            found.setdefault(_key(moment, zone), moment)
    left_out = _left_out(event, zone)
    return [m for m in found.values() if not left_out(m)]


def first_start(event: Event, zone: ZoneInfo) -> datetime:
    """Return the instant of a series' first start that is not left out (else of DTSTART)."""
    begins = as_moment(event.start, zone)
    found = originals(event, begins, begins + LONGEST_WINDOW, zone)
    return min((as_moment(m, zone) for m in found), default=begins)


def _naive_start(event: Event) -> datetime:
    if isinstance(event.start, datetime):
        return event.start.replace(tzinfo=None)
    return datetime.combine(event.start, time())


def _wall(moment: datetime, event: Event, zone: ZoneInfo) -> datetime:
    """Return an instant as the wall clock of a series shows it."""
    return moment.astimezone(event.zone or zone).replace(tzinfo=None)


def _unwalled(clock: datetime, event: Event) -> Moment:
    """Return a wall clock time of a series as the series writes its starts."""
    if not isinstance(event.start, datetime):
        return clock.date()
    return clock if event.zone is None else clock.replace(tzinfo=event.zone)


def _like(listed: Moment, event: Event) -> Moment:
    """Return an RDATE as the series writes its starts: a date takes the series' time of day."""
    if not isinstance(event.start, datetime):
        return listed.date() if isinstance(listed, datetime) else listed
    if not isinstance(listed, datetime):
        return _unwalled(datetime.combine(listed, event.start.time()), event)
    if event.zone is not None and listed.tzinfo is None:
        return listed.replace(tzinfo=event.zone)
    return listed


def _cut(moment: datetime) -> datetime:
    return min(max(moment, _EARLIEST), _LATEST)


def _key(moment: Moment, zone: ZoneInfo) -> Moment:
    """Return what tells one start of a series from another: the instant, or the date."""
    return as_moment(moment, zone).astimezone(UTC) if isinstance(moment, datetime) else moment


def _left_out(event: Event, zone: ZoneInfo) -> Callable[[Moment], bool]:
    """Return whether EXDATE names a start: the same instant, or its date, which some programs write."""
    instants, dates = set[Moment](), set[date]()
    for out in event.left_out:
        if isinstance(out, datetime) and isinstance(event.start, datetime):
            instants.add(_key(out.replace(tzinfo=event.zone) if out.tzinfo is None else out, zone))
        else:
            dates.add(_date(out, event))
    return lambda moment: (_key(moment, zone) in instants) or (bool(dates) and _date(moment, event) in dates)


def _date(moment: Moment, event: Event) -> date:
    if not isinstance(moment, datetime):
        return moment
    return (moment.astimezone(event.zone) if moment.tzinfo and event.zone else moment).date()


def _following(
    resource: Resource, event: Event, original: Moment, following: Sequence[Event], zone: ZoneInfo
) -> Occurrence:
    """Return an occurrence as its series has it, or as the last change to all later ones has it."""
    at = as_moment(original, zone)
    changes = [e for e in following if as_moment(e.original or e.start, zone) <= at]
    if not changes:
        return _occurrence(resource, event, original, zone, original, event)
    change = changes[-1]
    drift = _wall_drift(change, zone)
    moved = original + drift if isinstance(change.start, datetime) else original + timedelta(drift.days)
    return _occurrence(resource, change, moved, zone, original, event)


def _wall_drift(change: Event, zone: ZoneInfo) -> timedelta:
    """Return by how much, on the wall clock, an exception was moved."""
    if change.original is None:
        return timedelta()
    there, was = as_moment(change.start, zone), as_moment(change.original, zone)
    return there.replace(tzinfo=None) - was.replace(tzinfo=None)


def _occurrence(
    resource: Resource,
    event: Event,
    start: Moment,
    zone: ZoneInfo,
    original: Moment | None = None,
    series: Event | None = None,
) -> Occurrence:
    begins = as_moment(start, zone)
    all_day = not isinstance(start, datetime)
    ends = midnight(start + event.length, zone) if all_day else later(begins, event.length)
    status = event.text("STATUS").upper()
    addresses = [_address(p.value) for p in event.component.all("ATTENDEE")]
    organizer = event.component.get("ORGANIZER")
    original = original if original is not None else event.original
    return Occurrence(
        resource=resource,
        uid=event.uid,
        title=event.text("SUMMARY") or "(no title)",
        start=begins,
        end=ends,
        all_day=all_day,
        location=event.text("LOCATION"),
        attendees=tuple(addresses),
        organizer=_address(organizer.value) if organizer else "",
        busy=event.text("TRANSP").upper() != "TRANSPARENT" and status != "CANCELLED",
        cancelled=status == "CANCELLED",
        notes=read_text(event.component.get("DESCRIPTION")).strip(),
        rule=write_rule(series.rules[0]) if series and series.rules else "",
        recurrence_id=original.isoformat() if original is not None else "",
    )


def as_moment(value: Moment, zone: ZoneInfo) -> datetime:
    """Return a date or a time as an instant in the person's zone; floating times are theirs."""
    if not isinstance(value, datetime):
        return midnight(value, zone)
    aware = value.replace(tzinfo=zone) if value.tzinfo is None else value
    # Through UTC, so that a time which the clocks skip moves on by the gap (§3.3.5).
    return aware.astimezone(UTC).astimezone(zone)


def _address(value: str) -> str:
    return re.sub("^mailto:", "", value.strip(), flags=re.IGNORECASE)
