"""Days as people say them when they look for mail: back in time, from Tuesday 1 December 2026 on."""

from datetime import date

import pytest
from botpsy_mail.dates import Days, find_days

from botpsy_tui.plugin import ToolError

TODAY = date(2026, 12, 1)


def day(text: str) -> date:
    return date.fromisoformat(text)


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("what came today", "2026-12-01", "2026-12-01"),
        ("this morning", "2026-12-01", "2026-12-01"),
        ("mails from yesterday", "2026-11-30", "2026-11-30"),
        ("of yesterday", "2026-11-30", "2026-11-30"),
        ("the day before yesterday", "2026-11-29", "2026-11-29"),
        ("on Friday", "2026-11-27", "2026-11-27"),
        ("Tuesday", "2026-12-01", "2026-12-01"),
        ("last Tuesday", "2026-11-24", "2026-11-24"),
        ("this week", "2026-11-30", "2026-12-06"),
        ("last week", "2026-11-23", "2026-11-29"),
        ("last weekend", "2026-11-28", "2026-11-29"),
        ("last month", "2026-11-01", "2026-11-30"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("in the last 3 days", "2026-11-28", "2026-12-01"),
        ("the past two weeks", "2026-11-17", "2026-12-01"),
        ("three days ago", "2026-11-28", "2026-11-28"),
        ("a week ago", "2026-11-21", "2026-11-27"),
        ("in November", "2026-11-01", "2026-11-30"),
        ("in December", "2026-12-01", "2026-12-31"),
        ("in May 2025", "2025-05-01", "2025-05-31"),
        ("12 November", "2026-11-12", "2026-11-12"),
        ("the 24th of December", "2025-12-24", "2025-12-24"),
        ("Nov 3rd, 2024", "2024-11-03", "2024-11-03"),
        ("2026-11-05", "2026-11-05", "2026-11-05"),
        ("5.11.2026", "2026-11-05", "2026-11-05"),
        ("29 February", "2024-02-29", "2024-02-29"),
        ("since Monday", "2026-11-30", ""),
        ("before last week", "", "2026-11-22"),
        ("after 12 November", "2026-11-13", ""),
        ("until yesterday", "", "2026-11-30"),
    ],
)
def test_days_are_found(words: str, first: str, last: str) -> None:
    days, _ = find_days(words, TODAY)
    assert days == Days(day(first) if first else None, day(last) if last else None)


@pytest.mark.parametrize(
    "words",
    ["may I see it", "the sun report", "from Lena", "m3", "the march of time", "invoice 17", "my last mail"],
)
def test_other_words_name_no_day(words: str) -> None:
    assert find_days(words, TODAY) == (None, words)


def test_what_is_left_holds_the_other_words() -> None:
    _, rest = find_days("the invoice from last week please", TODAY)
    assert rest.split() == ["the", "invoice", "please"]


def test_a_day_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ToolError, match="31 November"):
        find_days("on 31 November", TODAY)
