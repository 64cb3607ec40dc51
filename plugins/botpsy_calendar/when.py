"""Finds the date and time in what a person wrote: a small grammar of its own, no guessing.

The rules, where words leave a choice:

- a weekday means the next one; today's weekday means today only where a time is said that is still
  ahead; "this Friday" is the same; "next Friday" is the Friday of next week (weeks begin on Monday)
- a day of the month or a date without a year means the next one from today on
- a time without a date means today if it is still ahead, else tomorrow
- "at 3" means 15:00, as people make appointments: 1 to 6 are in the afternoon
- midnight is the moment at which the named day begins
"""

import re
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from botpsy_calendar.clocks import Clock, Part, read_clock, read_part
from botpsy_calendar.days import Days, read_days
from botpsy_calendar.moments import Precision, When, after_midnight, later, midnight
from botpsy_calendar.tokens import Tokens
from botpsy_tui.plugin import ToolError

_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*[\"”“»]")

_MORNING = 9 * 60


@dataclass(frozen=True)
class Pieces:
    """What a text says of a time, piece by piece, before the pieces are put together."""

    moment: When | None = None
    days: Days | None = None
    clock: Clock | None = None
    part: Part | None = None
    from_now: bool = False
    """"Later today": not before now."""
    rest: str = ""
    """The text without what named a time."""

    @property
    def has_time(self) -> bool:
        """Whether more than a day is said."""
        return self.clock is not None or self.part is not None or self.from_now


def find_when(text: str, now: datetime) -> When | None:
    """Return the stretch of time that `text` names, or None where it names none.

    Words around it do not matter. `now` is aware, its zone a ZoneInfo. Raises `ToolError` where
    a date or a time is named that does not exist, such as February 30.
    """
    return _joined(read_pieces(text, now), now)


def resolve_when(text: str, sentence: str, now: datetime) -> When | None:
    """Return what `text` names; what it leaves open is taken from the whole sentence.

    A model that points at "afternoon" or "3pm" in "tomorrow afternoon" has cut its span short:
    the day is in the sentence. What `text` says itself is never overruled.
    """
    own = read_pieces(text, now)
    if own.moment is not None:
        return own.moment
    try:
        whole = read_pieces(_QUOTED.sub(" ; ", sentence), now)
    except ToolError:
        whole = Pieces()
    if own.days is None and not own.has_time:
        return _joined(whole, now)
    if own.days is None:
        own = replace(own, days=whole.days)
    elif own.days.single and not own.has_time:
        own = replace(own, clock=whole.clock, part=whole.part, from_now=whole.from_now)
    elif own.part is not None and own.clock is None:
        own = replace(own, clock=whole.clock)
    return _joined(own, now)


def names_a_day(text: str, now: datetime) -> bool:
    """Say whether `text` names a day, and not only a time."""
    pieces = read_pieces(text, now)
    return pieces.days is not None or pieces.moment is not None


def without_days(text: str, now: datetime) -> str:
    """Return `text` without the words that name a time."""
    return read_pieces(text, now).rest


def read_pieces(text: str, now: datetime) -> Pieces:
    """Read the first day, time and part of day in a text. Raises `ToolError`."""
    t = Tokens(text)
    pieces, rest, i, last_day = Pieces(), "", 0, -1
    kept_until = 0

    def consumed(start: int, end: int) -> None:
        nonlocal rest, kept_until
        if end > start:
            rest += text[kept_until : t[start].start] + " "
            kept_until = t[end - 1].end

    while i < len(t):
        if t[i].kind == "name":
            i += 1
        elif pieces.moment is None and (moment := _read_moment(t, i, now)):
            pieces = replace(pieces, moment=moment[0])
            consumed(i, moment[1])
            i = moment[1]
        elif pieces.days is None and (days := read_days(t, i, now.date())):
            later_today = t.word(i) == "today" and t.word(i - 1) == "later"
            pieces = replace(pieces, days=days[0], from_now=later_today)
            part = read_part(t, i) if days[1] == i else None
            if part:  # "tonight" is a day and a part of it
                pieces, days = replace(pieces, part=part[0]), (days[0], part[1])
            consumed(i, days[1])
            i = last_day = days[1]
            i += t[i].text == ","
            last_day = i
        elif pieces.clock is None and (clock := read_clock(t, i, after_day=i == last_day)):
            pieces = replace(pieces, clock=clock[0])
            consumed(i, clock[1])
            i = clock[1]
        elif pieces.part is None and (part := read_part(t, i)):
            pieces = replace(pieces, part=part[0])
            consumed(i, part[1])
            i = part[1]
        else:
            i += 1
    if pieces.moment is None and pieces.days is None and not pieces.has_time:
        pieces = _right_now(t, now, pieces)
    return replace(pieces, rest=rest + text[kept_until:])


def _right_now(t: Tokens, now: datetime, pieces: Pieces) -> Pieces:
    if any(t.word(i) == "now" for i in range(len(t))):
        return replace(pieces, moment=When(now, now, Precision.TIME))
    return pieces


def _read_moment(t: Tokens, i: int, now: datetime) -> tuple[When, int] | None:
    """Read "2026-12-12T14:00+01:00", "in 2 hours", "in half an hour", "20 minutes from now"."""
    if t[i].kind == "moment":
        return _iso_moment(t[i].text, now), i + 1
    ahead = t.word(i) in ("in", "within")
    length, j = _read_length(t, i + ahead + (t.word(i + ahead) == "about"))
    if length is None:
        return None
    if not ahead:
        if not t.words(j, "from", "now"):
            return None
        j += 2
    start = later(now, length)
    return When(start, start, Precision.TIME), j


def _iso_moment(text: str, now: datetime) -> When:
    try:
        start = datetime.fromisoformat(text.upper())
    except ValueError:
        raise ToolError(f"There is no time {text!r}; give one such as 2026-12-31T14:30.") from None
    zone = _zone(now)
    if start.tzinfo is None:
        start = after_midnight(start.date(), start.hour * 60 + start.minute, zone)
    start = start.astimezone(zone)
    return When(start, start, Precision.TIME)


def _read_length(t: Tokens, i: int) -> tuple[timedelta | None, int]:
    """Read hours and minutes: "2 hours", "half an hour", "an hour and a half", "1 hour 30 minutes"."""
    if t.words(i, "half", "an", "hour"):
        return timedelta(minutes=30), i + 3
    if t[i].kind == "hours":
        hours, _, minutes = t[i].text.partition("h")
        return timedelta(hours=int(hours), minutes=int(minutes or 0)), i + 1
    total, j = timedelta(), i
    while (count := t.count(j)) is not None:
        unit = t.word(j + 1)
        if unit in ("hour", "hours", "hr", "hrs", "h"):
            total += timedelta(hours=count)
        elif unit in ("minute", "minutes", "min", "mins"):
            total += timedelta(minutes=count)
        else:
            break
        j += 2
        if t.words(j, "and", "a", "half"):
            return total + timedelta(minutes=30), j + 3
        j += t.word(j) == "and" and t.count(j + 1) is not None
    return (total, j) if total else (None, i)


def _joined(pieces: Pieces, now: datetime) -> When | None:
    """Put the pieces together to a stretch of time."""
    if pieces.moment is not None:
        return pieces.moment
    days, clock, part, zone = pieces.days, pieces.clock, pieces.part, _zone(now)
    if clock is not None:
        return _at_clock(days, _in_part(clock, part, days), now)
    if part is not None and (days is None or days.single):
        day = _day_for(days, part.end, now)
        return When(
            after_midnight(day, part.start, zone), after_midnight(day, part.end, zone), Precision.PART
        )
    if days is None:
        return None
    start, end = midnight(days.first, zone), midnight(days.end, zone)
    if pieces.from_now and start <= now < end:
        return When(now, end, Precision.PART)
    return When(start, end, Precision.DAY if days.single else Precision.SPAN)


def _in_part(clock: Clock, part: Part | None, days: Days | None) -> Clock:
    """Decide between morning and evening for an hour said without am or pm."""
    if not clock.ambiguous:
        return clock
    half_day = 12 * 60
    if part is not None and part.end <= half_day:
        return replace(clock, start=clock.start % half_day)
    if part is not None and part.start >= half_day:
        return replace(clock, start=clock.start % half_day + half_day)
    if days is not None and days.exact_clock and half_day < clock.start:
        return replace(clock, start=clock.start - half_day)
    return clock


def _day_for(days: Days | None, minute: int, now: datetime) -> date:
    """Return the day on which that minute is meant: still ahead, where no day was said."""
    today = now.date()
    if days is not None and not days.maybe_today:
        return days.first
    if after_midnight(today, minute, _zone(now)) > now:
        return today
    return days.first if days is not None else today + timedelta(1)


def _at_clock(days: Days | None, clock: Clock, now: datetime) -> When:
    zone = _zone(now)
    day = _day_for(days, clock.start, now)
    start = after_midnight(day, clock.start, zone)
    if clock.end is not None:
        return When(start, after_midnight(day, clock.end, zone), Precision.RANGE)
    if clock.bound == "after":
        closes = max(18 * 60, min(clock.start + 3 * 60, 24 * 60))
        return When(start, after_midnight(day, closes, zone), Precision.PART)
    if clock.bound == "before":
        opens = _MORNING if clock.start > _MORNING else 0
        opened = after_midnight(day, opens, zone)
        return When(min(opened, start), start, Precision.PART)
    return When(start, start, Precision.TIME)


def _zone(now: datetime) -> ZoneInfo:
    if not isinstance(now.tzinfo, ZoneInfo):
        raise TypeError("`now` must have a ZoneInfo")
    return now.tzinfo
