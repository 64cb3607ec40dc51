"""What occurs when: the shapes that people's calendars really hold, and rules made to take for ever."""

import time
from datetime import timedelta

import pytest
from botpsy_calendar.ics import MOST_OCCURRENCES, Occurrence, occurrences
from botpsy_calendar.moments import elapsed
from botpsy_calendar.store import CalendarInfo, Resource

from tests.calendar.world import BERLIN, NOW, event, moment

FLOATING = event("1", "x", "20261202").replace("DTSTART;VALUE=DATE:20261202", "DTSTART:20261202T140000")
HOME = CalendarInfo("local/personal", "Personal", "local")


def read(text: str, days: int = 30) -> list[Occurrence]:
    return occurrences(Resource(HOME, "x.ics", "1", text), NOW, NOW + timedelta(days=days), BERLIN)


@pytest.mark.parametrize(
    ("text", "start", "end", "all_day"),
    [
        (event("1", "x", "20261202T140000", "20261202T150000"), "02T14:00", "02T15:00", False),
        (event("1", "x", "20261202T130000Z", "20261202T140000Z"), "02T14:00", "02T15:00", False),
        (event("1", "x", "20261202T140000"), "02T14:00", "02T14:00", False),
        (event("1", "x", "20261202T140000", "", "DURATION:PT90M"), "02T14:00", "02T15:30", False),
        (event("1", "x", "20261202"), "02T00:00", "03T00:00", True),
        (event("1", "x", "20261202", "20261205"), "02T00:00", "05T00:00", True),
        (event("1", "x", "20261202T220000", "20261203T020000"), "02T22:00", "03T02:00", False),
        (FLOATING, "02T14:00", "02T14:00", False),
    ],
    ids=["zoned", "UTC", "no end", "DURATION", "a day", "several days", "over midnight", "floating"],
)
def test_when_an_event_is(text: str, start: str, end: str, all_day: bool) -> None:
    (found,) = read(text)
    assert (found.start, found.end, found.all_day) == (
        moment(f"2026-12-{start}"),
        moment(f"2026-12-{end}"),
        all_day,
    )


def test_a_series_keeps_its_wall_clock_over_a_change_of_dst() -> None:
    weekly = event("1", "x", "20261005T100000", "20261005T110000", "RRULE:FREQ=WEEKLY")
    around = occurrences(
        Resource(HOME, "x.ics", "1", weekly), moment("2027-03-20"), moment("2027-04-06"), BERLIN
    )
    assert [f"{o.start:%d %H:%M %z}" for o in around] == [
        "22 10:00 +0100", "29 10:00 +0200", "05 10:00 +0200",
    ]  # fmt: skip
    assert {elapsed(o.start, o.end) for o in around} == {timedelta(hours=1)}


def test_a_moved_occurrence_is_where_it_was_moved_to() -> None:
    series = event("1", "x", "20261202T100000", "20261202T110000", "RRULE:FREQ=DAILY;COUNT=3")
    override = event(
        "1", "moved", "20261205T160000", "20261205T170000", "RECURRENCE-ID;TZID=Europe/Berlin:20261203T100000"
    )
    inner = override[override.index("BEGIN:VEVENT") : override.index("END:VCALENDAR")]
    found = read(series.replace("END:VCALENDAR", inner + "END:VCALENDAR"))
    assert [f"{o.start:%d %H} {o.title}" for o in found] == ["02 10 x", "04 10 x", "05 16 moved"]


@pytest.mark.parametrize(
    "rule", ["FREQ=SECONDLY", "FREQ=MINUTELY", "FREQ=HOURLY", "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30"]
)
def test_a_rule_that_repeats_within_the_day_is_refused(rule: str) -> None:
    started = time.monotonic()
    with pytest.raises(ValueError, match="within the day"):
        read(event("1", "x", "19700101T000000Z", "", f"RRULE:{rule}"))
    assert time.monotonic() - started < 1


def test_a_daily_series_since_1970_is_bounded() -> None:
    started = time.monotonic()
    found = read(event("1", "x", "19700101T000000Z", "19700101T010000Z", "RRULE:FREQ=DAILY"), days=4000)
    assert len(found) <= MOST_OCCURRENCES
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        event("1", "x", "20261399"),
    ],
)
def test_what_is_no_calendar_is_refused_in_a_few_words(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the parser's
        read(text)
