"""Changes to a series: one occurrence, this and the following, all; also across a change of DST."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from botpsy_calendar.editing import changed
from botpsy_calendar.ics import Occurrence, occurrences
from botpsy_calendar.rules import parse_rule
from botpsy_calendar.series import changed_series, ended, is_first, split, without_occurrences
from botpsy_calendar.store import CalendarInfo, Resource
from botpsy_calendar.vevent import Change

from tests.calendar.world import BERLIN, NOW, event, moment

HOME = CalendarInfo("local/personal", "Personal", "local")
# Tuesdays, from before the clocks go forward (28 March 2027) until long after.
CHOIR = event(
    "choir", "Choir", "20270302T190000", "20270302T203000", "RRULE:FREQ=WEEKLY;COUNT=12", "X-COLOUR:teal",
    "EXDATE;TZID=Europe/Berlin:20270309T190000",
)  # fmt: skip


def read(text: str, zone: ZoneInfo = BERLIN) -> list[Occurrence]:
    start = moment("2027-01-01")
    return occurrences(Resource(HOME, "x.ics", "1", text), start, start + timedelta(days=365), zone)


def at(text: str, day: str) -> Occurrence:
    return next(o for o in read(text) if f"{o.start:%m-%d}" == day)


def starts(text: str) -> list[str]:
    return [f"{o.start:%m-%d %H:%M}" for o in read(text)]


DAYS = ["03-02", "03-16", "03-23", "03-30", "04-06", "04-13", "04-20", "04-27", "05-04", "05-11", "05-18"]


def test_the_series_is_as_it_should_be_before_anything_is_done() -> None:
    assert starts(CHOIR) == [f"{day} 19:00" for day in DAYS]


def test_the_whole_series_moves_with_its_exceptions_and_keeps_its_wall_clock() -> None:
    moved = changed(
        at(CHOIR, "04-06"), Change(start=moment("2027-04-06T20:00"), end=moment("2027-04-06T21:30")), NOW
    )
    renamed = changed(at(moved, "04-13"), Change(title="Dress rehearsal"), NOW)
    change = Change(start=moment("2027-03-31T18:30"), end=moment("2027-03-31T20:30"))
    text = changed_series(at(renamed, "03-30"), change, NOW)
    assert starts(text) == [
        "03-03 18:30", "03-17 18:30", "03-24 18:30", "03-31 18:30", "04-06 20:00", "04-14 18:30",
        "04-21 18:30", "04-28 18:30", "05-05 18:30", "05-12 18:30", "05-19 18:30",
    ]  # fmt: skip
    assert [o.title for o in read(text)].index("Dress rehearsal") == 5
    assert {o.end - o.start for o in read(text) if o.title == "Choir"} == {
        timedelta(hours=2),
        timedelta(hours=1.5),
    }
    assert "EXDATE;TZID=Europe/Berlin:20270310T183000" in text
    assert text.count("X-COLOUR:teal") == 3


def test_a_weekday_rule_moves_with_the_day() -> None:
    text = CHOIR.replace("COUNT=12", "COUNT=12;BYDAY=TU,TH")
    change = Change(start=moment("2027-03-05T19:00"), end=moment("2027-03-05T20:30"))
    assert "BYDAY=WE,FR" in changed_series(at(text, "03-04"), change, NOW)


def test_a_rule_that_counts_days_by_the_month_is_not_moved_by_a_guess() -> None:
    text = event("1", "Rent", "20270331T100000", "20270331T110000", "RRULE:FREQ=MONTHLY;BYMONTHDAY=-1")
    change = Change(start=moment("2027-04-01T10:00"), end=moment("2027-04-01T11:00"))
    with pytest.raises(ValueError, match="can't be moved"):
        changed_series(at(text, "03-31"), change, NOW)


def test_this_and_the_following_become_a_series_of_their_own() -> None:
    exception = changed(at(CHOIR, "04-20"), Change(title="Concert"), NOW)
    change = Change(start=moment("2027-04-07T20:00"), end=moment("2027-04-07T21:30"))
    parts = split(at(exception, "04-06"), change, NOW, "key")
    assert starts(parts.old) == ["03-02 19:00", "03-16 19:00", "03-23 19:00", "03-30 19:00"]
    assert starts(parts.new) == [
        "04-07 20:00", "04-14 20:00", "04-21 20:00", "04-28 20:00", "05-05 20:00", "05-12 20:00",
        "05-19 20:00",
    ]  # fmt: skip
    assert [o.title for o in read(parts.new)].index("Concert") == 2
    assert {o.uid for o in read(parts.new)} == {"key@botpsy"}
    assert "UNTIL=20270406T165959Z" in parts.old
    assert "EXDATE" in parts.old
    assert "EXDATE" not in parts.new
    assert parts.href == "key.ics"


def test_a_new_rule_for_the_following_leaves_those_before() -> None:
    parts = split(at(CHOIR, "04-06"), Change(rule=parse_rule("FREQ=WEEKLY;INTERVAL=2;COUNT=3")), NOW, "key")
    assert starts(parts.new) == ["04-06 19:00", "04-20 19:00", "05-04 19:00"]


def test_a_series_ends_before_an_occurrence() -> None:
    assert starts(ended(at(CHOIR, "03-23"), NOW)) == ["03-02 19:00", "03-16 19:00"]
    daily = event("1", "Trip", "20270301", "", "RRULE:FREQ=DAILY")
    assert len(read(ended(at(daily, "03-05"), NOW))) == 4


def test_several_occurrences_are_left_out_at_once() -> None:
    text = without_occurrences([at(CHOIR, "03-16"), at(CHOIR, "03-23")], NOW)
    assert starts(text) == [f"{day} 19:00" for day in DAYS if day not in ("03-16", "03-23")]


def test_the_first_one_is_known_to_be_the_first() -> None:
    assert is_first(at(CHOIR, "03-02"))
    assert not is_first(at(CHOIR, "03-16"))


def test_one_occurrence_at_the_time_that_the_clocks_skip_can_be_left_out_and_changed() -> None:
    nightly = event("1", "Backup", "20270327T023000", "20270327T024500", "RRULE:FREQ=DAILY;COUNT=3")
    assert starts(nightly) == ["03-27 02:30", "03-28 03:30", "03-29 02:30"]
    assert starts(without_occurrences([at(nightly, "03-28")], NOW)) == ["03-27 02:30", "03-29 02:30"]
    renamed = changed(at(nightly, "03-28"), Change(title="Big backup"), NOW)
    assert [o.title for o in read(renamed)] == ["Backup", "Big backup", "Backup"]


def test_a_series_written_in_utc_or_in_another_zone_is_changed_in_its_own_terms() -> None:
    tokyo = (
        CHOIR.replace("Europe/Berlin", "Asia/Tokyo")
        .replace("T190000", "T090000")
        .replace("T203000", "T100000")
    )
    one = at(tokyo, "03-16")
    assert f"{one.start:%H:%M}" == "01:00"
    change = Change(start=one.start + timedelta(hours=2), end=one.end + timedelta(hours=2))
    text = changed_series(one, change, NOW)
    assert "DTSTART;TZID=Asia/Tokyo:20270302T110000" in text
    assert "EXDATE;TZID=Asia/Tokyo:20270309T110000" in text
    utc = event("1", "x", "20270302T180000Z", "20270302T190000Z", "RRULE:FREQ=WEEKLY;UNTIL=20270401T180000Z")
    change = Change(start=moment("2027-03-09T20:00"), end=moment("2027-03-09T21:00"))
    assert "DTSTART:20270302T190000Z" in changed_series(at(utc, "03-09"), change, NOW)


def test_later_occurrences_follow_an_exception_that_says_so() -> None:
    base = event("1", "Class", "20270302T190000", "20270302T200000", "RRULE:FREQ=WEEKLY;COUNT=4")
    override = event(
        "1", "Class B", "20270317T180000", "20270317T183000",
        "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20270316T190000",
    )  # fmt: skip
    inner = override[override.index("BEGIN:VEVENT") : override.index("END:VCALENDAR")]
    found = read(base.replace("END:VCALENDAR", inner + "END:VCALENDAR"))
    assert [f"{o.start:%m-%d %H:%M} {o.title}" for o in found] == [
        "03-02 19:00 Class", "03-09 19:00 Class", "03-17 18:00 Class B", "03-24 18:00 Class B",
    ]  # fmt: skip
