"""Dates and times as people write them, said on Tuesday 1 December 2026 at 9:00 in Berlin."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from botpsy_calendar.moments import Precision, When, elapsed
from botpsy_calendar.when import find_when, resolve_when, without_days
from hypothesis import given
from hypothesis import strategies as st

from botpsy_tui.plugin import ToolError

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 9, 0, tzinfo=BERLIN)

MOMENTS = [
    ("tomorrow at 3pm", "2026-12-02 15:00"),
    ("tomorrow 3 pm", "2026-12-02 15:00"),
    ("tomorrow at 3", "2026-12-02 15:00"),
    ("tomorrow at 3 p.m.", "2026-12-02 15:00"),
    ("on Friday at 3pm", "2026-12-04 15:00"),
    ("Friday 10", "2026-12-04 10:00"),
    ("Friday, 10:30", "2026-12-04 10:30"),
    ("3pm on Friday", "2026-12-04 15:00"),
    ("next Fri 9am", "2026-12-11 09:00"),
    ("today at noon", "2026-12-01 12:00"),
    ("at noon", "2026-12-01 12:00"),
    ("midnight", "2026-12-02 00:00"),
    ("tomorrow at 24:00", "2026-12-03 00:00"),
    ("at 8am", "2026-12-02 08:00"),
    ("at 11", "2026-12-01 11:00"),
    ("in 2 hours", "2026-12-01 11:00"),
    ("in half an hour", "2026-12-01 09:30"),
    ("in an hour and a half", "2026-12-01 10:30"),
    ("in 90 min", "2026-12-01 10:30"),
    ("20 minutes from now", "2026-12-01 09:20"),
    ("right now", "2026-12-01 09:00"),
    ("December 12 2026 14:00", "2026-12-12 14:00"),
    ("12 December at 14.30", "2026-12-12 14:30"),
    ("2026-12-12 14:00", "2026-12-12 14:00"),
    ("2026-12-12T14:00", "2026-12-12 14:00"),
    ("2026-12-12T14:00:00Z", "2026-12-12 15:00"),
    ("2026-12-12T14:00+05:00", "2026-12-12 10:00"),
    ("2026-12-12 03:00", "2026-12-12 03:00"),
    ("2026-12-12 3:00", "2026-12-12 03:00"),
    ("12.12.2026 14:00", "2026-12-12 14:00"),
    ("half past two", "2026-12-01 14:30"),
    ("tomorrow at half past nine", "2026-12-02 09:30"),
    ("tomorrow at a quarter to three", "2026-12-02 14:45"),
    ("tomorrow at ten past nine", "2026-12-02 09:10"),
    ("tomorrow at three thirty", "2026-12-02 15:30"),
    ("tomorrow at 3 o'clock", "2026-12-02 15:00"),
    ("tomorrow at three o’clock", "2026-12-02 15:00"),
    ("tomorrow evening at 8", "2026-12-02 20:00"),
    ("at 7 tonight", "2026-12-01 19:00"),
    ("at 5 in the morning tomorrow", "2026-12-02 05:00"),
    ("Tuesday at 3pm", "2026-12-01 15:00"),
    ("Tuesday at 8am", "2026-12-08 08:00"),
    ("the day after tomorrow at 10am", "2026-12-03 10:00"),
    ("in three days at 10:00", "2026-12-04 10:00"),
    ("yesterday at 10:00", "2026-11-30 10:00"),
    ("Friday at 14h30", "2026-12-04 14:30"),
    ("Friday next week at 2pm", "2026-12-11 14:00"),
    ("next week on Friday at 2pm", "2026-12-11 14:00"),
    ("Book 30 minutes with lena@example.org tomorrow at 4pm please", "2026-12-02 16:00"),
    ("Lunch with 5 people on Friday at 12:30", "2026-12-04 12:30"),
    ("move it to Thursday 4pm", "2026-12-03 16:00"),
]

RANGES = [
    ("tomorrow 3-4pm", "2026-12-02 15:00", "2026-12-02 16:00"),
    ("tomorrow from 10 to 11:30", "2026-12-02 10:00", "2026-12-02 11:30"),
    ("tomorrow 10:00–11:00", "2026-12-02 10:00", "2026-12-02 11:00"),
    ("tomorrow between 2 and 4", "2026-12-02 14:00", "2026-12-02 16:00"),
    ("tomorrow 11-1pm", "2026-12-02 11:00", "2026-12-02 13:00"),
    ("tomorrow 9-5", "2026-12-02 09:00", "2026-12-02 17:00"),
    ("tomorrow 9am to noon", "2026-12-02 09:00", "2026-12-02 12:00"),
    ("tomorrow from 11 to 2", "2026-12-02 11:00", "2026-12-02 14:00"),
    ("2026-12-02 14:00-15:30", "2026-12-02 14:00", "2026-12-02 15:30"),
    ("Friday 22:00 to 02:00", "2026-12-04 22:00", "2026-12-05 02:00"),
    ("Friday 3pm until 4:30pm", "2026-12-04 15:00", "2026-12-04 16:30"),
]

PARTS = [
    ("tomorrow afternoon when I'm free", "2026-12-02 13:00", "2026-12-02 18:00"),
    ("Monday morning", "2026-12-07 09:00", "2026-12-07 12:00"),
    ("tonight", "2026-12-01 18:00", "2026-12-01 23:00"),
    ("this afternoon", "2026-12-01 13:00", "2026-12-01 18:00"),
    ("later today", "2026-12-01 09:00", "2026-12-02 00:00"),
    ("tomorrow after 3pm", "2026-12-02 15:00", "2026-12-02 18:00"),
    ("tomorrow before 11", "2026-12-02 09:00", "2026-12-02 11:00"),
    ("in the evening", "2026-12-01 18:00", "2026-12-01 22:00"),
    ("last night", "2026-11-30 18:00", "2026-11-30 23:00"),
]

DAYS = [
    ("today", "2026-12-01"),
    ("tomorrow", "2026-12-02"),
    ("the day after tomorrow", "2026-12-03"),
    ("the day before yesterday", "2026-11-29"),
    ("yesterday", "2026-11-30"),
    ("Friday", "2026-12-04"),
    ("this Friday", "2026-12-04"),
    ("next Friday", "2026-12-11"),
    ("next Fri", "2026-12-11"),
    ("last Friday", "2026-11-27"),
    ("Tuesday", "2026-12-08"),
    ("Fridays", "2026-12-04"),
    ("Friday, 4 December", "2026-12-04"),
    ("Sat the 12th", "2026-12-12"),
    ("12 December", "2026-12-12"),
    ("12th of December", "2026-12-12"),
    ("Dec 12", "2026-12-12"),
    ("Dec. 12, 2026", "2026-12-12"),
    ("December the 12th", "2026-12-12"),
    ("December 12 2027", "2027-12-12"),
    ("3 March", "2027-03-03"),
    ("2026-12-12", "2026-12-12"),
    ("12.12.2026", "2026-12-12"),
    ("12.12.", "2026-12-12"),
    ("24.12.26", "2026-12-24"),
    ("12/24/2026", "2026-12-24"),
    ("24/12/2026", "2026-12-24"),
    ("the 12th", "2026-12-12"),
    ("the 1st", "2026-12-01"),
    ("on the 31st", "2026-12-31"),
    ("in three days", "2026-12-04"),
    ("in a week", "2026-12-08"),
    ("in a couple of days", "2026-12-03"),
    ("in two months", "2027-02-01"),
    ("a week from Friday", "2026-12-11"),
    ("two weeks from tomorrow", "2026-12-16"),
    ("3 days ago", "2026-11-28"),
    ("the end of the month", "2026-12-31"),
    ("end of next month", "2027-01-31"),
    ("the end of the week", "2026-12-04"),
    ("the beginning of next week", "2026-12-07"),
    ("29 February", "2028-02-29"),
]

SPANS = [
    ("this week", "2026-12-01", "2026-12-07"),
    ("the rest of the week", "2026-12-01", "2026-12-07"),
    ("next week", "2026-12-07", "2026-12-14"),
    ("last week", "2026-11-23", "2026-11-30"),
    ("the weekend", "2026-12-05", "2026-12-07"),
    ("weekend", "2026-12-05", "2026-12-07"),
    ("next weekend", "2026-12-12", "2026-12-14"),
    ("this month", "2026-12-01", "2027-01-01"),
    ("next month", "2027-01-01", "2027-02-01"),
    ("in January", "2027-01-01", "2027-02-01"),
    ("December 2027", "2027-12-01", "2028-01-01"),
    ("the next 3 days", "2026-12-01", "2026-12-04"),
    ("the next two weeks", "2026-12-01", "2026-12-15"),
    ("Monday to Wednesday", "2026-12-07", "2026-12-10"),
    ("from 3 to 5 December", "2026-12-03", "2026-12-06"),
    ("3-5 Dec", "2026-12-03", "2026-12-06"),
    ("the week of 14 December", "2026-12-14", "2026-12-21"),
    ("next year", "2027-01-01", "2028-01-01"),
]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(("words", "start"), MOMENTS)
def test_a_time(words: str, start: str) -> None:
    assert find_when(words, NOW) == When(at(start), at(start), Precision.TIME)


@pytest.mark.parametrize(("words", "start", "end"), RANGES)
def test_a_start_and_an_end(words: str, start: str, end: str) -> None:
    assert find_when(words, NOW) == When(at(start), at(end), Precision.RANGE)


@pytest.mark.parametrize(("words", "start", "end"), PARTS)
def test_a_part_of_a_day(words: str, start: str, end: str) -> None:
    assert find_when(words, NOW) == When(at(start), at(end), Precision.PART)


@pytest.mark.parametrize(("words", "day"), DAYS)
def test_a_day(words: str, day: str) -> None:
    start = at(day)
    assert find_when(words, NOW) == When(start, start + timedelta(1), Precision.DAY)


@pytest.mark.parametrize(("words", "start", "end"), SPANS)
def test_several_days(words: str, start: str, end: str) -> None:
    assert find_when(words, NOW) == When(at(start), at(end), Precision.SPAN)


@pytest.mark.parametrize(
    "words",
    [
        "", "lunch", "yesterdayish", "room 12", "2 people", "30 minutes", "an hour and a half", "for 2 hours",
        "call it Review", "e2", "may I", "the 1st meeting", "42nd street", "version 3.11", "I am here",
        "lena2@example.org", "https://example.org/2026-12-12", "march on", "in the sun", "at 3 places",
        "1h30", "10 percent", "a couple of friends",
    ],
)  # fmt: skip
def test_no_time_at_all(words: str) -> None:
    assert find_when(words, NOW) is None


@pytest.mark.parametrize(
    "words",
    [
        "February 30", "30 February", "31 April", "2026-02-30", "2026-13-01", "31.4.2026", "29 February 2027",
        "the 32nd", "tomorrow at 25:00", "25:00", "tomorrow at 14:75", "13am", "0pm", "Friday, 5 December",
        "5/6/2026", "in 400 years", "2026-12-12T25:00", "0000-01-01", "9999-12-31",
    ],
)  # fmt: skip
def test_a_date_or_time_that_does_not_exist_is_refused_in_a_sentence(words: str) -> None:
    with pytest.raises(ToolError) as caught:
        find_when(words, NOW)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("span", "sentence", "start", "end"),
    [
        ("afternoon", "Book lunch tomorrow afternoon", "2026-12-02 13:00", "2026-12-02 18:00"),
        ("3pm", "Dentist on Friday at 3pm", "2026-12-04 15:00", "2026-12-04 15:00"),
        ("Friday", "Dentist on Friday at 3pm", "2026-12-04 15:00", "2026-12-04 15:00"),
        ("when I'm free", "Lunch tomorrow afternoon when I'm free", "2026-12-02 13:00", "2026-12-02 18:00"),
        ("next", "what is on next Friday", "2026-12-11", "2026-12-12"),
        ("2026-12-05 16:00", "Dentist on Friday at 3pm", "2026-12-05 16:00", "2026-12-05 16:00"),
        ("2026-12-05", "Dentist on Friday at 3pm", "2026-12-05 15:00", "2026-12-05 15:00"),
        ("Friday", "Call “Plan for 4pm” on Friday", "2026-12-04", "2026-12-05"),
    ],
)
def test_what_a_span_leaves_open_comes_from_the_sentence(
    span: str, sentence: str, start: str, end: str
) -> None:
    found = resolve_when(span, sentence, NOW)
    assert found is not None
    assert (found.start, found.end) == (at(start), at(end))


def test_a_time_that_the_clocks_skip_moves_forward() -> None:
    found = find_when("2027-03-28 02:30", NOW)
    assert found is not None
    assert found.start.isoformat() == "2027-03-28T03:30:00+02:00"


def test_hours_ahead_are_counted_as_time_that_passes() -> None:
    before = datetime(2027, 3, 28, 1, 30, tzinfo=BERLIN)
    found = find_when("in 2 hours", before)
    assert found is not None
    assert found.start.isoformat() == "2027-03-28T04:30:00+02:00"
    assert elapsed(before, found.start) == timedelta(hours=2)


@pytest.mark.parametrize(("day", "hours"), [("2027-03-28", 23), ("2027-10-31", 25), ("2027-06-01", 24)])
def test_a_day_is_as_long_as_the_clocks_make_it(day: str, hours: int) -> None:
    found = find_when(day, NOW)
    assert found is not None
    assert elapsed(found.start, found.end) == timedelta(hours=hours)


def test_what_is_left_without_the_words_of_time() -> None:
    assert without_days("the dentist on Friday at 3pm please", NOW).split() == [
        "the",
        "dentist",
        "on",
        "please",
    ]


_WORDS = st.sampled_from(
    """
    the next last this in on at from to until half past a an week weeks month day days hours friday sun mon
    dec february may 30 31 0 25:00 12:30 3pm 9 12th 99th - – , . tomorrow today tonight noon midnight end of
    2026-12-12 12.12. 5/6 14h30 two quarter morning evening and ago now later @ e2 weekend
    """.split()  # noqa: SIM905 - read as the phrases they make
)


@given(st.one_of(st.text(max_size=40), st.lists(_WORDS, max_size=9).map(" ".join)))
def test_nothing_that_is_written_breaks_it(text: str) -> None:
    try:
        found = find_when(text, NOW)
    except ToolError:
        return
    assert found is None or (found.start <= found.end and found.start.tzinfo is BERLIN)
