"""Changes to a series: one occurrence, this and the following, or all (RFC 5545 §3.8.5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from botpsy_calendar.document import Component, Property
from botpsy_calendar.events import read_calendar, read_events
from botpsy_calendar.ics import Moment, Occurrence, as_moment, first_start, originals
from botpsy_calendar.moments import elapsed
from botpsy_calendar.rules import Rule, shifted, write_rule
from botpsy_calendar.values import read_moments, write_moment, zones_of
from botpsy_calendar.vevent import (
    Change,
    apply,
    as_written,
    event_of,
    finished,
    length_of,
    put_times,
    rule_of,
    touch,
    tzid_of,
    uid_of,
)

_OF_A_SERIES = ("RRULE", "RDATE", "EXDATE", "EXRULE")


def changed_series(occurrence: Occurrence, change: Change, now: datetime) -> str:
    """Return the object's text with the change made to the whole series.

    A new time is given as that of `occurrence`; the series moves by as much on the wall clock, and with it
    its rule, what it leaves out, and the exceptions that kept their time. Raises `ValueError` where
    its rule can't be moved so.
    """
    calendar = read_calendar(occurrence.resource.data)
    master = _master(calendar, occurrence)
    exceptions = [e for e in calendar.walk("VEVENT") if uid_of(e) == uid_of(master) and e is not master]
    if change.start is not None:
        _move_series(calendar, master, exceptions, occurrence, change)
        change = replace(change, start=None, end=None)
    apply(master, change, calendar)
    for exception in exceptions:
        apply(exception, replace(change, rule=None), calendar)
    for event in (master, *exceptions):
        touch(event, now)
    return finished(calendar, [])


@dataclass(frozen=True)
class Split:
    """A series in two: the old object's text, which ends before, and a new object for what follows."""

    old: str
    href: str
    new: str


def split(occurrence: Occurrence, change: Change, now: datetime, key: str) -> Split:
    """Return a series cut before an occurrence, the rest with the change made. `key`: the rest's UUID.

    Raises `ValueError` where its rule can't be moved so.
    """
    rest = read_calendar(occurrence.resource.data)
    for event in list(rest.walk("VEVENT")):
        if (original := event.get("RECURRENCE-ID")) and not _from_on(rest, original, occurrence):
            _remove(rest, event)
    master = _master(rest, occurrence)
    start = _original(rest, master, occurrence)
    put_times(master, start, length_of(rest, master))
    if (rule := rule_of(master)) and rule.count is not None:
        rule = replace(rule, count=max(1, rule.count - _how_many_before(occurrence)))
        master.put(f"RRULE:{write_rule(rule)}")
    _keep_dates(rest, master, occurrence, lambda moment: moment >= occurrence_start(occurrence))
    for event in rest.walk("VEVENT"):
        event.put(f"UID:{key}@botpsy")
    moved = replace(
        occurrence,
        uid=f"{key}@botpsy",
        resource=replace(occurrence.resource, data=rest.text),
    )
    return Split(ended(occurrence, now), f"{key}.ics", changed_series(moved, change, now))


def ended(occurrence: Occurrence, now: datetime) -> str:
    """Return a series' text that ends before this occurrence."""
    calendar = read_calendar(occurrence.resource.data)
    for event in list(calendar.walk("VEVENT")):
        if (original := event.get("RECURRENCE-ID")) and _from_on(calendar, original, occurrence):
            _remove(calendar, event)
    master = _master(calendar, occurrence)
    until = _just_before(_original(calendar, master, occurrence))
    if rule := rule_of(master):
        master.put(f"RRULE:{write_rule(replace(rule, count=None, until=until))}")
    _keep_dates(calendar, master, occurrence, lambda moment: moment < occurrence_start(occurrence))
    touch(master, now)
    return finished(calendar, [])


def without_occurrences(occurrences: Sequence[Occurrence], now: datetime) -> str:
    """Return a series' text without these of its occurrences (EXDATE, RFC 5545 §3.8.5.1)."""
    calendar = read_calendar(occurrences[0].resource.data)
    master = _master(calendar, occurrences[0])
    for occurrence in occurrences:
        for event in list(calendar.walk("VEVENT")):
            if _is_exception(calendar, event, occurrence):
                _remove(calendar, event)
        master.add(write_moment("EXDATE", _original(calendar, master, occurrence), tzid_of(master)))
    touch(master, now)
    return finished(calendar, [])


def is_first(occurrence: Occurrence) -> bool:
    """Say whether it is the first of its series."""
    return _how_many_before(occurrence) == 0


def occurrence_start(occurrence: Occurrence) -> datetime:
    """Return the instant at which its series has it, wherever it was moved to."""
    zone = occurrence.start.tzinfo
    assert isinstance(zone, ZoneInfo)
    return as_moment(_recurrence(occurrence), zone)


def _recurrence(occurrence: Occurrence) -> Moment:
    text = occurrence.recurrence_id
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)


def _zone(occurrence: Occurrence) -> ZoneInfo:
    assert isinstance(occurrence.start.tzinfo, ZoneInfo)
    return occurrence.start.tzinfo


def _master(calendar: Component, occurrence: Occurrence) -> Component:
    """Return the series that an occurrence is of."""
    same = [e for e in calendar.walk("VEVENT") if uid_of(e) == occurrence.uid]
    masters = [e for e in same if e.get("RECURRENCE-ID") is None]
    return next((e for e in masters if e.get("RRULE") or e.get("RDATE")), (masters or same)[0])


def _remove(calendar: Component, event: Component) -> None:
    for parent in calendar.walk("VCALENDAR"):
        parent.drop(event)


def exception_for(calendar: Component, occurrence: Occurrence) -> Component:
    """Return the exception for that occurrence, made of its series where there is none."""
    for event in calendar.walk("VEVENT"):
        if _is_exception(calendar, event, occurrence):
            return event
    master = _master(calendar, occurrence)
    exception = master.copy()
    exception.remove(*_OF_A_SERIES)
    start = _original(calendar, master, occurrence)
    put_times(exception, start, length_of(calendar, master))
    exception.add(write_moment("RECURRENCE-ID", start, tzid_of(master)))
    parent = next(p for p in calendar.walk("VCALENDAR") if any(c is master for c in p.components))
    last = max(i for i, part in enumerate(parent.parts) if isinstance(part, Component))
    parent.parts.insert(last + 1, exception)
    return exception


def _is_exception(calendar: Component, event: Component, occurrence: Occurrence) -> bool:
    original = event.get("RECURRENCE-ID")
    if original is None or uid_of(event) != occurrence.uid:
        return False
    zone = _zone(occurrence)
    (moment,) = read_moments(original, zones_of(calendar))
    if not isinstance(moment, datetime):
        return moment == occurrence_start(occurrence).date()
    return as_moment(moment, zone) == occurrence_start(occurrence)


def _from_on(calendar: Component, original: Property, occurrence: Occurrence) -> bool:
    (moment,) = read_moments(original, zones_of(calendar))
    return as_moment(moment, _zone(occurrence)) >= occurrence_start(occurrence)


def _original(calendar: Component, master: Component, occurrence: Occurrence) -> Moment:
    """Return the occurrence's start as its series writes its starts."""
    return as_written(occurrence_start(occurrence), event_of(calendar, master).start, _zone(occurrence))


def _move_series(
    calendar: Component,
    master: Component,
    exceptions: Sequence[Component],
    occurrence: Occurrence,
    change: Change,
) -> None:
    """Move a series by what lies between an occurrence's time and its new one."""
    assert change.start is not None
    assert change.end is not None
    zone, was = _zone(occurrence), event_of(calendar, master).start
    if isinstance(change.start, datetime) != isinstance(was, datetime):
        raise ValueError("a series can't be turned from whole days to times or back")
    old = as_written(occurrence.start, was, zone)
    new, end = as_written(change.start, was, zone), as_written(change.end, was, zone)
    by = _plain(new) - _plain(old)
    days = (_day(new) - _day(old)).days
    length = _day(end) - _day(new)
    if isinstance(was, datetime):
        length = elapsed(as_moment(new, zone), as_moment(end, zone))
    rule = rule_of(master)
    if rule is not None and (rule := _shifted(rule, by, days, was)) != rule_of(master):
        master.put(f"RRULE:{write_rule(rule)}")
    for event in exceptions:
        _move_exception(calendar, event, by, days, length, zone)
    for name in ("RDATE", "EXDATE"):
        for listed in master.all(name):
            moments = [_plus(m, by, days, was) for m in read_moments(listed, zones_of(calendar))]
            _replace_list(master, listed, moments)
    put_times(master, was + by if isinstance(was, datetime) else was + timedelta(days), length)


def _shifted(rule: Rule, by: timedelta, days: int, was: Moment) -> Rule:
    """Return a rule moved by a time on the wall clock of its series, in which UNTIL is moved as well."""
    until = rule.until
    if isinstance(until, datetime) and until.tzinfo and isinstance(was, datetime) and was.tzinfo:
        local = until.astimezone(was.tzinfo).replace(tzinfo=None)
        moved = shifted(replace(rule, until=local), by, days)
        assert isinstance(moved.until, datetime)
        return replace(moved, until=moved.until.replace(tzinfo=was.tzinfo).astimezone(UTC))
    return shifted(rule, by, days)


def _move_exception(
    calendar: Component, event: Component, by: timedelta, days: int, length: timedelta, zone: ZoneInfo
) -> None:
    """Move what an exception is the exception to, and itself where it had kept its series' time."""
    read = event_of(calendar, event)
    original = event.get("RECURRENCE-ID")
    if read.original is None or original is None:
        return
    kept = as_moment(read.start, zone) == as_moment(read.original, zone)
    moved = _plus(read.original, by, days, read.start)
    tzid = original.parameters.get("TZID", "")
    line = write_moment("RECURRENCE-ID", moved, tzid)
    if read.and_following:
        line = line.replace("RECURRENCE-ID", "RECURRENCE-ID;RANGE=THISANDFUTURE", 1)
    event.put(line)
    if kept:
        put_times(event, _plus(read.start, by, days, read.start), length)


def _plus(moment: Moment, by: timedelta, days: int, like: Moment) -> Moment:
    """Return a moment so much later on the wall clock of `like`; a date, whole days later."""
    if not isinstance(moment, datetime):
        return moment + timedelta(days)
    if moment.tzinfo is None or not isinstance(like, datetime) or like.tzinfo is None:
        return moment + by
    return (moment.astimezone(like.tzinfo) + by).astimezone(moment.tzinfo)


def _plain(moment: Moment) -> datetime:
    if not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)
    return moment.replace(tzinfo=None)


def _day(moment: Moment) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def _just_before(start: Moment) -> date:
    """Return the UNTIL of a series whose first missing start is `start` (§3.3.10: UTC for zoned times)."""
    if not isinstance(start, datetime):
        return start - timedelta(1)
    before = start - timedelta(seconds=1)
    return before.astimezone(UTC) if before.tzinfo else before


def _how_many_before(occurrence: Occurrence) -> int:
    """Count the starts that the rule of a series makes before an occurrence, left out or not."""
    zone = _zone(occurrence)
    events = [e for e in read_events(occurrence.resource.data) if e.uid == occurrence.uid]
    master = next((e for e in events if e.original is None and e.recurs), None)
    if master is None:
        return 0
    at = occurrence_start(occurrence)
    bare = replace(master, left_out=())
    count, begins = 0, first_start(bare, zone)
    while begins < at:
        ends = min(at, begins + timedelta(days=366))
        moments = (as_moment(m, zone) for m in originals(bare, begins, ends, zone))
        count += sum(begins <= m < ends for m in moments)
        begins = ends
    return count


def _keep_dates(
    calendar: Component, event: Component, occurrence: Occurrence, keep: Callable[[datetime], bool]
) -> None:
    """Leave of RDATE and EXDATE only the dates that `keep` says yes to."""
    zones, zone, like = zones_of(calendar), _zone(occurrence), event_of(calendar, event).start
    for name in ("RDATE", "EXDATE"):
        for listed in event.all(name):
            moments = read_moments(listed, zones)
            kept = [m for m in moments if keep(as_moment(_plus(m, timedelta(), 0, like), zone))]
            if kept != moments:
                _replace_list(event, listed, kept)


def _replace_list(event: Component, listed: Property, moments: Sequence[Moment]) -> None:
    if not moments:
        event.drop(listed)
        return
    tzid = listed.parameters.get("TZID", "")
    first, *others = (write_moment(listed.name, moment, tzid) for moment in moments)
    event.replace(listed, ",".join([first, *(line.rpartition(":")[2] for line in others)]))
