"""Dates and times as people write them, resolved by code to instants in their zone."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo


class Precision(StrEnum):
    """How exactly a time was said."""

    TIME = "time"
    """A start, and nothing about the end: "Friday at 3pm"."""
    RANGE = "range"
    """A start and an end: "from 3 to 4"."""
    PART = "part"
    """A part of a day: "tomorrow afternoon"."""
    DAY = "day"
    """A whole day: "Friday"."""
    SPAN = "span"
    """Several days: "this week"."""


@dataclass(frozen=True)
class When:
    """A stretch of time, half-open, both ends aware and in the person's zone."""

    start: datetime
    end: datetime
    precision: Precision

    @property
    def has_time(self) -> bool:
        """True where the person said at what time something begins."""
        return self.precision in (Precision.TIME, Precision.RANGE)

    @property
    def days(self) -> list[date]:
        """The dates it touches."""
        last = (self.end - timedelta(microseconds=1)).date()
        return [self.start.date() + timedelta(i) for i in range((last - self.start.date()).days + 1)]


def at(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """Return that wall-clock time of that day; one that DST skips moves on by the gap."""
    local = datetime.combine(day, clock, zone)
    # A time that does not exist comes back changed from a trip through UTC.
    return local.astimezone(ZoneInfo("UTC")).astimezone(zone)


def after_midnight(day: date, minutes: int, zone: ZoneInfo) -> datetime:
    """Return the wall-clock time so many minutes into a day; 1440 and more are on the next day."""
    days, minute = divmod(minutes, 24 * 60)
    return at(day + timedelta(days), time(minute // 60, minute % 60), zone)


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of a day."""
    return at(day, time(), zone)


def later(moment: datetime, by: timedelta) -> datetime:
    """Return the instant that is `by` after `moment`, by elapsed time and not by wall clock."""
    return (moment.astimezone(ZoneInfo("UTC")) + by).astimezone(moment.tzinfo)


def elapsed(start: datetime, end: datetime) -> timedelta:
    """Return the time that passes between two moments, also across a change of DST."""
    utc = ZoneInfo("UTC")
    return end.astimezone(utc) - start.astimezone(utc)


def show_moment(moment: datetime) -> str:
    """Return ``Wed 2 Dec 2026, 14:00``."""
    return f"{show_day(moment.date())}, {moment:%H:%M}"


def show_day(day: date) -> str:
    """Return ``Wed 2 Dec 2026``."""
    return f"{day:%a} {day.day} {day:%b %Y}"


def show_stretch(start: datetime, end: datetime) -> str:
    """Return ``Wed 2 Dec 2026, 14:00–14:30``, with the second day where it is another."""
    if start.date() == end.date():
        return f"{show_moment(start)}–{end:%H:%M}"
    return f"{show_moment(start)} – {show_moment(end)}"


def show_length(length: timedelta) -> str:
    """Return ``30 min``, ``1 h`` or ``1 h 30 min``."""
    minutes = round(length.total_seconds() / 60)
    hours, rest = divmod(minutes, 60)
    if hours and not hours % 24 and not rest:
        return f"{hours // 24} day" + ("s" if hours > 24 else "")
    parts = [f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours)
    return " ".join(parts)
