"""The calendar's tools, in the order in which the model sees them."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from botpsy_calendar.diary import Diary
from botpsy_calendar.tools.changing import ChangeEvent, DeleteEvent
from botpsy_calendar.tools.creating import CreateEvent
from botpsy_calendar.tools.looking import FindEvents, FindFreeTime, ListEvents
from botpsy_tui.plugin import Tool


def tools_on(
    diary: Diary, *, organizer: Callable[[str], str], usual_length: timedelta
) -> Sequence[Tool[Any]]:
    """Return the tools; `organizer` gives the person's own address at an account, or an empty text."""
    return (
        ListEvents(diary),
        FindEvents(diary),
        FindFreeTime(diary),
        CreateEvent(diary, organizer=organizer, usual_length=usual_length),
        ChangeEvent(diary),
        DeleteEvent(diary),
    )
