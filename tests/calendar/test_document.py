"""An object's text: what is not touched comes back byte for byte, whoever wrote it."""

from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from botpsy_calendar.document import fold, parse
from botpsy_calendar.rules import parse_rule, write_rule
from botpsy_calendar.values import known_zone, read_duration, read_text, write_duration, write_text
from hypothesis import given
from hypothesis import strategies as st

from tests.calendar.world import World, event

STRANGE = """BEGIN:VCALENDAR
PRODID:-//Someone Else//Calendar 7//EN
VERSION:2.0
X-WR-CALNAME:Work
BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;INTERVAL=1;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VEVENT
uid:odd
DTSTAMP:20261101T000000Z
DTSTART;TZID=W. Europe Standard Time:20261202T130000
DTEND;TZID="W. Europe Standard Time":20261202T140000
SUMMARY;LANGUAGE=de:Zahnarzt\\, M\u00fcller
X-APPLE-STRUCTURED-LOCATION;VALUE=URI;X-TITLE="Praxis: M\u00fcller, 2. Stock":geo
 :52.5,13.4
ATTENDEE;CN="Lena; K";
 PARTSTAT=ACCEPTED:mailto:lena@example.org
X-MS-OLK-CONFTYPE:0
BEGIN:VALARM
TRIGGER:-PT15M
ACTION:DISPLAY
DESCRIPTION:folded in a
  strange place
END:VALARM
BEGIN:X-SECRET
X-KEY:1
END:X-SECRET
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
async def test_a_move_changes_only_the_lines_of_the_time(tmp_path: Path, newline: str) -> None:
    world = World(tmp_path)
    before = STRANGE.replace("\n", newline)
    world.add("odd", before)
    await world.do("change_event", "", event="zahnarzt", to="Thursday at 4pm")
    after = world.files()["odd.ics"]
    gone = [line for line in before.split(newline) if line not in after.split(newline)]
    new = [line for line in after.split(newline) if line not in before.split(newline)]
    assert gone == [
        "DTSTAMP:20261101T000000Z",
        "DTSTART;TZID=W. Europe Standard Time:20261202T130000",
        'DTEND;TZID="W. Europe Standard Time":20261202T140000',
    ]
    assert new == [
        "DTSTAMP:20261201T080000Z",
        "DTSTART;TZID=W. Europe Standard Time:20261203T160000",
        "DTEND;TZID=W. Europe Standard Time:20261203T170000",
        "LAST-MODIFIED:20261201T080000Z",
        "SEQUENCE:1",
    ]
    assert after.count(newline) == before.count(newline) + 2


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("W. Europe Standard Time", "Europe/Berlin"),
        ("/freeassociation.sourceforge.net/Europe/Berlin", "Europe/Berlin"),
        ("/mozilla.org/20050126_1/America/Argentina/Ushuaia", "America/Argentina/Ushuaia"),
    ],
)
def test_a_zone_is_known_by_its_names(name: str, zone: str) -> None:
    assert known_zone(name) == ZoneInfo(zone)


def test_a_zone_that_nobody_else_knows_is_that_of_its_own_definition(tmp_path: Path) -> None:
    from botpsy_calendar.events import read_events

    text = STRANGE.replace("W. Europe Standard Time", "Our Office")
    (found,) = read_events(text)
    assert isinstance(found.start, datetime)
    assert found.start.utcoffset() == timedelta(hours=1)
    assert found.start.replace(month=7).utcoffset() == timedelta(hours=2)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_text_is_read_as_it_was_written(text: str) -> None:
    line = fold(f"SUMMARY:{write_text(text)}")
    assert all(len(part.encode()) <= 75 for part in line.split("\r\n"))
    (property,) = parse(line).properties
    kept = "".join(
        c for c in text.replace("\r\n", "\n").replace("\r", "\n") if c in "\n\t" or (c >= " " and c != "\x7f")
    )
    assert read_text(property) == kept


@given(
    st.lists(
        st.from_regex(r"X-[A-Z]{1,9}(;[A-Z]{1,5}=(\"[^\"\r\n]*\"|[^;:\"\r\n,]*))?:[^\r\n]*", fullmatch=True)
    )
)
def test_whatever_stands_in_an_event_comes_back_as_it_was(lines: list[str]) -> None:
    text = event("1", "x", "20261202T130000", "", *lines)
    assert parse(text).text == text


@given(
    st.timedeltas(min_value=timedelta(-300), max_value=timedelta(300)).map(
        lambda d: d - timedelta(microseconds=d.microseconds)
    )
)
def test_a_length_is_read_as_it_was_written(length: timedelta) -> None:
    assert read_duration(write_duration(length)) == length


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU;UNTIL=20270531T080000Z",
        "FREQ=MONTHLY;BYDAY=-1FR;COUNT=10",
        "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=29,-1;BYSETPOS=1;WKST=SU",
        "FREQ=DAILY;BYHOUR=9,12;BYMINUTE=30;UNTIL=20270531",
    ],
)
def test_a_rule_is_written_as_it_was_read(rule: str) -> None:
    assert write_rule(parse_rule(rule)) == rule


@pytest.mark.parametrize("text", ["BEGIN:A\nBEGIN:B\nEND:A\n", "END:A\n", "BEGIN:A\n", "BEGIN:A\n" * 50])
def test_components_that_do_not_end_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^it|^its"):
        parse(text)


def test_a_date_where_its_mark_was_forgotten_is_a_date() -> None:
    from botpsy_calendar.events import read_events

    (found,) = read_events(event("1", "x", "20261202").replace(";VALUE=DATE", ""))
    assert found.start == date(2026, 12, 2)
    assert not isinstance(found.start, datetime)
