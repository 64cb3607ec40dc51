"""How long something takes, as people write it."""

from datetime import timedelta

import pytest
from botpsy_calendar.duration import LONGEST, find_duration
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ("30 minutes", 30), ("30 min", 30), ("90 min", 90), ("30m", 30), ("45-minute", 45),
        ("half an hour", 30), ("a half hour", 30), ("half hour", 30), ("a quarter of an hour", 15),
        ("three quarters of an hour", 45), ("an hour", 60), ("one hour", 60), ("1h", 60), ("2 hours", 120),
        ("two hours", 120), ("an hour and a half", 90), ("one and a half hours", 90),
        ("1 hour and a half", 90),
        ("2 and a half hours", 150), ("two and a half hours", 150), ("two hours and a half", 150),
        ("1h30", 90), ("1h 30", 90), ("1h30m", 90), ("1 hour 15 minutes", 75), ("1 hour and 15 minutes", 75),
        ("2.5 h", 150), ("1,5 hours", 90), ("a day", 1440), ("2 days", 2880), ("a week", 10080),
        ("Book 30 minutes with lena@example.org tomorrow", 30), ("a 20 minute call in 2 hours", 20),
        ("for about forty-five minutes", 45),
    ],
)  # fmt: skip
def test_a_length(words: str, minutes: int) -> None:
    assert find_duration(words) == timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "words",
    [
        "", "tomorrow", "3pm", "at 14h30", "in 2 hours", "in half an hour", "in an hour and a half",
        "0 minutes", "14:00", "room 12", "happy hour", "2 monitors", "9999999 hours", "2 weeks ago",
        "in 3 days",
        "the next two weeks", "a week from Friday", "two days later",
    ],
)  # fmt: skip
def test_no_length(words: str) -> None:
    assert find_duration(words) is None


@given(st.text(max_size=60))
def test_nothing_that_is_written_breaks_it(text: str) -> None:
    found = find_duration(text)
    assert found is None or timedelta() < found <= LONGEST
