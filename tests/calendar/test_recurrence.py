"""Recurrences against an independent reader: 2,000 series that nobody chose, over changes of DST."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import icalendar
import recurring_ical_events
from botpsy_calendar.ics import occurrences
from botpsy_calendar.rules import parse_rule, starts
from botpsy_calendar.store import CalendarInfo, Resource
from dateutil.rrule import rrulestr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.calendar.world import BERLIN, event

HOME = CalendarInfo("local/personal", "Personal", "local")
DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]
FIRST = datetime(2026, 1, 1)
WINDOW = datetime(2026, 6, 1, tzinfo=BERLIN), datetime(2027, 6, 1, tzinfo=BERLIN)


def _listed(name: str, values: list[Any]) -> str:
    return f"{name}={','.join(map(str, values))}" if values else ""


def _some(values: list[Any], most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), max_size=most, unique=True)


@st.composite
def rules(draw: st.DrawFn) -> str:
    """A rule that RFC 5545 gives a meaning to, and on whose meaning other programs agree."""
    frequency = draw(st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]))
    parts = [f"FREQ={frequency}", f"INTERVAL={draw(st.integers(1, 4))}"]
    days = draw(_some(DAYS, 3))
    if frequency in ("MONTHLY", "YEARLY") and draw(st.booleans()):
        days = [f"{draw(st.sampled_from([1, 2, 4, 5, -1, -2]))}{day}" for day in days]
    months = draw(_some(list(range(1, 13)), 4))
    month_days = draw(_some([1, 5, 13, 28, 29, 30, 31, -1, -3], 3)) if frequency != "WEEKLY" else []
    year_days = [] if frequency != "YEARLY" or days or month_days else draw(_some([1, 60, 200, 366, -1], 2))
    weeks = draw(_some([1, 20, 52, 53, -1], 2)) if frequency == "YEARLY" and draw(st.booleans()) else []
    if weeks:
        days, month_days, year_days = (
            draw(st.lists(st.sampled_from(DAYS), min_size=1, max_size=2, unique=True)),
            [],
            [],
        )
    if month_days and max(abs(d) for d in month_days) > 28 and months:
        months = sorted({*months, 1})
    parts += [
        _listed("BYDAY", days), _listed("BYMONTH", months), _listed("BYMONTHDAY", month_days),
        _listed("BYYEARDAY", year_days), _listed("BYWEEKNO", weeks),
    ]  # fmt: skip
    # In the week of the start, dateutil counts places from the start and not from the week's first day.
    if frequency in ("MONTHLY", "YEARLY") and (days or month_days) and draw(st.booleans()):
        parts.append(
            _listed(
                "BYSETPOS", draw(st.lists(st.sampled_from([1, 2, -1]), min_size=1, max_size=2, unique=True))
            )
        )
    if draw(st.booleans()):
        parts.append(f"WKST={draw(st.sampled_from(['SU', 'MO', 'WE']))}")
    return ";".join(filter(None, parts))


begin = st.builds(
    lambda days, hour, minute: FIRST + timedelta(days=days, hours=hour, minutes=minute),
    st.integers(0, 500), st.sampled_from([0, 1, 2, 3, 9, 23]), st.sampled_from([0, 30]),
)  # fmt: skip
ending = st.one_of(st.none(), st.integers(1, 60), st.timedeltas(timedelta(0), timedelta(days=700)))
relaxed = settings(
    max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@relaxed
@given(rules(), begin, ending)
def test_a_rule_starts_when_dateutil_says_it_does(
    rule: str, first: datetime, end: int | timedelta | None
) -> None:
    if isinstance(end, int):
        rule += f";COUNT={end}"
    elif end is not None:
        rule += f";UNTIL={first + end:%Y%m%dT%H%M%S}"
    since, before = datetime(2026, 6, 1), datetime(2028, 6, 1)
    expected = rrulestr(rule, dtstart=first).between(since, before - timedelta(seconds=1), inc=True)
    assert list(starts(parse_rule(rule), first, since, before)) == expected


@settings(relaxed, max_examples=400)
@given(
    st.sampled_from(["FREQ=DAILY", "FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=MO,TH,SU"]),
    begin,
    st.one_of(st.none(), st.integers(1, 300)),
    st.lists(
        st.tuples(st.integers(0, 40), st.sampled_from(["out", "moved", "cancelled", "added"])), max_size=5
    ),
    st.sampled_from(["Europe/Berlin", "America/New_York", "UTC", "date"]),
)
def test_a_series_with_exceptions_occurs_when_an_independent_reader_says_it_does(
    rule: str, first: datetime, count: int | None, changes: list[tuple[int, str]], kind: str
) -> None:
    text = _series(rule + (f";COUNT={count}" if count else ""), first, changes, kind)
    mine = [
        (_instant(o.start), o.title) for o in occurrences(Resource(HOME, "x", "1", text), *WINDOW, BERLIN)
    ]
    calendar = icalendar.Calendar.from_ical(text)
    found = recurring_ical_events.of(calendar).between(*WINDOW)
    theirs = [(_instant(e["DTSTART"].dt), str(e["SUMMARY"])) for e in found]
    assert sorted(mine) == sorted(theirs)


def _instant(moment: date) -> datetime:
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=BERLIN)
    return moment.astimezone(UTC)


def _series(rule: str, first: datetime, changes: list[tuple[int, str]], kind: str) -> str:
    """Return a series whose n-th starts are left out, moved or cancelled, or that has one more."""

    def stamp(name: str, moment: datetime) -> str:
        if kind == "date":
            return f"{name};VALUE=DATE:{moment:%Y%m%d}"
        return (
            f"{name}:{moment:%Y%m%dT%H%M%SZ}"
            if kind == "UTC"
            else f"{name};TZID={kind}:{moment:%Y%m%dT%H%M%S}"
        )

    # The first start must be one of the rule's: what a start beside it means, nobody has agreed on.
    plain = list(
        rrulestr(rule, dtstart=first)[:60] if "COUNT" in rule else rrulestr(f"{rule};COUNT=60", dtstart=first)
    )
    first = plain[0]
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN"]
    master = ["BEGIN:VEVENT", "UID:1", stamp("DTSTART", first), f"RRULE:{rule}", "SUMMARY:plain"]
    exceptions: list[str] = []
    for number, what in dict(changes).items():
        if number >= len(plain):
            continue
        start = plain[number]
        if what == "out":
            master.append(stamp("EXDATE", start))
        elif what == "added":
            master.append(stamp("RDATE", start + timedelta(days=1000)))
        else:
            moved = start + (timedelta(days=2) if kind == "date" else timedelta(minutes=90))
            exceptions += ["BEGIN:VEVENT", "UID:1", stamp("RECURRENCE-ID", start), stamp("DTSTART", moved)]
            exceptions += [
                f"SUMMARY:{what}",
                *(["STATUS:CANCELLED"] if what == "cancelled" else []),
                "END:VEVENT",
            ]
    return "\r\n".join([*lines, *master, "END:VEVENT", *exceptions, "END:VCALENDAR", ""])


def test_a_weekday_beside_one_that_is_counted_stays_a_weekday() -> None:
    """dateutil leaves out the plain one (every Tuesday, and the first Wednesday)."""
    found = starts(
        parse_rule("FREQ=MONTHLY;BYDAY=TU,1WE"),
        datetime(2026, 12, 1),
        datetime(2026, 12, 1),
        datetime(2026, 12, 20),
    )
    assert [start.day for start in found] == [1, 2, 8, 15]


def test_an_end_that_is_a_date_counts_that_day_in() -> None:
    text = event("1", "x", "20261202T100000", "", "RRULE:FREQ=DAILY;UNTIL=20261204")
    found = occurrences(Resource(HOME, "x", "1", text), WINDOW[0], WINDOW[1], BERLIN)
    assert [o.start.day for o in found] == [2, 3, 4]
