"""All the person's calendars seen as one: what happens when, what clashes, where there is time."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from time import monotonic
from typing import TypeVar

from botpsy_calendar.ics import Occurrence, occurrences
from botpsy_calendar.moments import at, later, show_stretch
from botpsy_calendar.store import CalendarInfo, CalendarStore, Resource, StoreProblem
from botpsy_calendar.when import without_days
from botpsy_tui.plugin import Context, ToolError, for_display_line, shown_address

_SECONDS = 5
"""How long all reading of recurrences may take."""
Found = TypeVar("Found")
_LOOK_BACK = timedelta(days=31)
_LOOK_AHEAD = timedelta(days=365)
_SMALL_WORDS = frozenset(
    (
        "a", "an", "the", "my", "our", "your", "event", "meeting", "appointment", "with", "for", "on", "at",
        "to", "of", "in", "and", "from", "please", "session", "call", "that", "this", "it", "is", "next",
        "tomorrow", "today", "series", "whole", "all",
    )
)  # fmt: skip
"""Words that name no event."""


_SAYS_WHEN = frozenset(("morning", "afternoon", "evening", "delete", "cancel", "remove", "move", "change"))


@dataclass(frozen=True)
class Slot:
    """Free time."""

    start: datetime
    end: datetime


class Diary:
    """The calendars of all stores."""

    def __init__(
        self,
        stores: Sequence[CalendarStore],
        *,
        default_calendar: str | None = None,
        working_hours: tuple[time, time] = (time(9), time(18)),
        own_address: Callable[[str], str] = lambda _account: "",
    ) -> None:
        self._own_address = own_address
        self._stores = {store.name: store for store in stores}
        self._default = default_calendar
        self.working_hours = working_hours
        self.warnings: list[str] = []

    def store_of(self, calendar: CalendarInfo) -> CalendarStore:
        """Return the store that a calendar is in."""
        return self._stores[calendar.account]

    async def calendars(self) -> list[CalendarInfo]:
        """Return all calendars, those of servers first."""
        found = await asyncio.gather(*(store.calendars() for store in self._stores.values()))
        return [calendar for calendars in found for calendar in calendars]

    async def calendar_with_id(self, id: str) -> CalendarInfo:
        """Return a calendar by its id. Raises `ToolError` where it is gone."""
        for calendar in await self.calendars():
            if calendar.id == id:
                return calendar
        raise ToolError("The calendar is not there any more.")

    async def default_calendar(self) -> CalendarInfo:
        """Return the calendar for new events: the one the settings name, else the first writable."""
        calendars = [c for c in await self.calendars() if c.writable]
        if not calendars:
            raise ToolError("There is no calendar that can be written to.")
        if self._default:
            for calendar in calendars:
                if self._default in (calendar.name, calendar.id):
                    return calendar
            names = ", ".join(c.name for c in calendars)
            raise ToolError(
                f"The settings name {self._default!r} as the default calendar, and there are only: {names}."
            )
        return calendars[0]

    async def between(self, start: datetime, end: datetime, context: Context) -> list[Occurrence]:
        """Return what happens between two instants, in order; `warnings` says what was left out."""
        self.warnings = []
        calendars = await self._reachable()
        read = await self._each([self.store_of(c).resources(c, start, end) for c in calendars])
        resources = [resource for found in read for resource in found]
        found = await asyncio.to_thread(self._all_occurrences, resources, start, end, context)
        for store in self._stores.values():
            self.warnings.extend(store.warnings())
        return sorted(found, key=lambda o: (o.start, o.end, o.title))

    async def _reachable(self) -> list[CalendarInfo]:
        """Return the calendars that can be had; a server that is away hides its own, not the others'."""
        found = await self._each([store.calendars() for store in self._stores.values()])
        return [calendar for calendars in found for calendar in calendars]

    async def _each(self, readings: Sequence[Awaitable[Sequence[Found]]]) -> list[Sequence[Found]]:
        """Return what could be read; what could not is told in `warnings`. Raises where nothing could."""
        results = await asyncio.gather(*readings, return_exceptions=True)
        problems = [result for result in results if isinstance(result, BaseException)]
        for problem in problems:
            if not isinstance(problem, StoreProblem) or len(problems) == len(results):
                raise problem
            self.warnings.append(str(problem))
        return [result for result in results if not isinstance(result, BaseException)]

    def _all_occurrences(
        self, resources: Sequence[Resource], start: datetime, end: datetime, context: Context
    ) -> list[Occurrence]:
        """Expand every object within `_SECONDS` in all; says so where that was not enough."""
        until = monotonic() + _SECONDS
        found: list[Occurrence] = []
        for count, resource in enumerate(resources):
            if monotonic() > until:
                self.warnings.append(f"{len(resources) - count} events were left out: reading took too long.")
                break
            found.extend(self._occurrences(resource, start, end, context))
        return found

    def _occurrences(
        self, resource: Resource, start: datetime, end: datetime, context: Context
    ) -> list[Occurrence]:
        try:
            return occurrences(resource, start, end, context.zone)
        except ValueError as error:
            self.warnings.append(f"{resource.href.rpartition('/')[2]} was left out: {error}.")
            return []

    async def clashes(
        self, start: datetime, end: datetime, context: Context, *, but: str = ""
    ) -> list[Occurrence]:
        """Return the busy events that overlap a time; `but` is the key of one that does not count."""
        around = await self.between(start - timedelta(days=1), end + timedelta(days=1), context)
        return [
            o for o in around if o.busy and not o.all_day and o.start < end and start < o.end and o.key != but
        ]

    async def free_slots(
        self, start: datetime, end: datetime, length: timedelta, context: Context, *, but: str = ""
    ) -> list[Slot]:
        """Return the free stretches of at least `length` between two instants, in working hours.

        Times before now do not count. Working hours are left where the window lies outside them.
        """
        start = max(start, _rounded_up(context.now))
        events = await self.between(start - timedelta(days=1), end, context)
        busy = [(o.start, o.end) for o in events if _takes_time(o, but)]
        windows = self._working_windows(start, end, context) or [(start, end)]
        slots: list[Slot] = []
        for opens, closes in windows:
            free = opens
            for begins, ends in sorted(busy):
                if ends <= free or begins >= closes:
                    continue
                if begins - free >= length:
                    slots.append(Slot(free, begins))
                free = max(free, ends)
            if closes - free >= length:
                slots.append(Slot(free, closes))
        return slots

    def _working_windows(
        self, start: datetime, end: datetime, context: Context
    ) -> list[tuple[datetime, datetime]]:
        opens, closes = self.working_hours
        windows: list[tuple[datetime, datetime]] = []
        day = start.date()
        while day <= end.date():
            window = max(start, at(day, opens, context.zone)), min(end, at(day, closes, context.zone))
            if window[0] < window[1]:
                windows.append(window)
            day += timedelta(1)
        return windows

    async def find(
        self, words: str, context: Context, start: datetime | None = None, end: datetime | None = None
    ) -> list[Occurrence]:
        """Return the events that words name, the best first; only the next one of each series."""
        for name in re.findall(r"\be\d+\b", words.lower()):
            if known := context.references.key("event", name):
                return [await self.occurrence(known, context)]
        events = await self.between(
            start or context.now - _LOOK_BACK, end or context.now + _LOOK_AHEAD, context
        )
        terms = significant(without_days(words, context.now)) - _SAYS_WHEN
        if not terms:
            return events if start else []
        scored = [(score, o) for o in events if (score := _score(terms, o))]
        best = max((score for score, _ in scored), default=0)
        matches = [o for score, o in scored if score == best]
        ahead = [o for o in matches if o.end > context.now] or matches[::-1]
        return _first_of_series(ahead)

    async def occurrence(self, key: str, context: Context) -> Occurrence:
        """Return one occurrence as it is now. Raises `StoreProblem`."""
        calendar_id, href, recurrence = key.split("\n")
        calendar = await self.calendar_with_id(calendar_id)
        resource = await self.store_of(calendar).read(calendar, href)
        around = (
            context.now if not recurrence else datetime.fromisoformat(recurrence).astimezone(context.zone)
        )
        start = around - _LOOK_AHEAD / 2 if not recurrence else around - timedelta(days=30)
        for found in self._occurrences(resource, start, start + _LOOK_AHEAD, context):
            if found.key == key:
                return found
        raise StoreProblem("The event is not there any more.")

    def strangers(self, events: Sequence[Occurrence]) -> tuple[str, ...]:
        """Return whose words these events hold: those of every organiser who is not the person."""
        found = dict.fromkeys(
            for_display_line(f"the invitation “{event.title}” from {shown_address(event.organizer).text}")
            for event in events
            if event.organizer
            and event.organizer.lower() != self._own_address(event.resource.calendar.account).lower()
        )
        return tuple(found)

    async def close(self) -> None:
        """Close all stores."""
        for store in self._stores.values():
            await store.close()


def _takes_time(occurrence: Occurrence, but: str) -> bool:
    return occurrence.busy and not occurrence.all_day and occurrence.key != but


def significant(words: str) -> set[str]:
    """Return the words that can name an event."""
    return {term for term in _terms(words) if term not in _SMALL_WORDS}


def describe(occurrence: Occurrence) -> str:
    """Return an event as one short line."""
    if occurrence.all_day:
        last = later(occurrence.end, timedelta(hours=-1)).date()
        days = f"{occurrence.start:%a} {occurrence.start.day} {occurrence.start:%b}"
        when = (
            f"{days}, all day"
            if last == occurrence.start.date()
            else f"{days} – {last:%a} {last.day} {last:%b}, all day"
        )
    elif occurrence.start.date() == occurrence.end.date():
        start = occurrence.start
        when = f"{start:%a} {start.day} {start:%b} {start:%H:%M}–{occurrence.end:%H:%M}"
    else:
        when = show_stretch(occurrence.start, occurrence.end)
    place = f", at {occurrence.location}" if occurrence.location else ""
    people = f", with {', '.join(occurrence.attendees)}" if occurrence.attendees else ""
    return f"{when} {occurrence.title}{place}{people}"


def _terms(text: str) -> list[str]:
    return re.findall(r"[\w@.+-]*\w", text.lower().replace("'s", ""))


def _score(terms: set[str], occurrence: Occurrence) -> int:
    title = set(_terms(occurrence.title))
    other = set(_terms(f"{occurrence.location} {' '.join(occurrence.attendees)}"))
    names = {a.partition("@")[0].lower() for a in occurrence.attendees} | {
        part for a in occurrence.attendees for part in re.split(r"[._-]", a.partition("@")[0].lower())
    }
    return sum(2 * (t in title) + (t in other or t in names) for t in terms)


def _first_of_series(events: Sequence[Occurrence]) -> list[Occurrence]:
    seen: set[str] = set()
    return [o for o in events if not (o.resource.href in seen or seen.add(o.resource.href))]


def _rounded_up(moment: datetime) -> datetime:
    """Return the next quarter of an hour."""
    over = timedelta(minutes=moment.minute % 15, seconds=moment.second, microseconds=moment.microsecond)
    return later(moment, timedelta(minutes=15) - over) if over else moment
