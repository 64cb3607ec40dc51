"""The tool that puts an event into the calendar: finds the time, shows it, writes it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from pydantic import BaseModel, Field

from botpsy_calendar.diary import Diary, describe
from botpsy_calendar.duration import find_duration
from botpsy_calendar.editing import NewEvent, new_event
from botpsy_calendar.moments import (
    Precision,
    When,
    elapsed,
    later,
    show_day,
    show_length,
    show_moment,
    show_stretch,
)
from botpsy_calendar.store import CalendarInfo
from botpsy_calendar.tools.undoing import undo_write, written
from botpsy_calendar.when import find_when, resolve_when
from botpsy_tui.plugin import (
    Context,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    ToolError,
    Undo,
    UserWords,
    for_display,
    shown_address,
)

_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_ADDRESS_LIKE = re.compile(r"[^\s<>()\[\],;:\"“”]+@[^\s<>()\[\],;:\"“”]+")
_WANTS_A_SLOT = re.compile(r"\b(free|slot|available|when i(?:'m| am| have| can)|find (?:a )?time)\b")
_BEFORE_A_PLACE = re.compile(r"(?:\b(?:at|in|location|place|venue)|@)[:\s]*(?:the\s+)?$", re.IGNORECASE)
_BEFORE_A_NAME = re.compile(r"\b(?:with|invite|and|meet|see)\s+$", re.IGNORECASE)
_LONGEST_TITLE = 200


class CreateEventArguments(BaseModel):
    """A new event, in the person's words."""

    title: UserWords = Field(description="What the event is called.")
    when: UserWords = Field(description="Day and time.")
    duration: UserWords | None = Field(None, description="How long, only if it was said.")
    attendees: UserWords | None = Field(None, description="Mail addresses to invite, only if some were said.")
    location: UserWords | None = Field(None, description="The place, only if one was said.")


@dataclass(frozen=True)
class _Time:
    """The time of a new event; dates for a whole day, the end exclusive."""

    start: date
    end: date
    alternatives: tuple[datetime, ...] = ()
    found: bool = False
    """True where code chose the slot."""

    @property
    def all_day(self) -> bool:
        return not isinstance(self.start, datetime)


class CreateEvent(Tool[CreateEventArguments]):
    """Books an event, with the people it is for."""

    name = "create_event"
    description = (
        "Put a new event, meeting or appointment into the calendar; "
        "finds a free time where only a day is said."
    )
    arguments = CreateEventArguments
    highest_risk = Risk.SEND

    def __init__(self, diary: Diary, *, organizer: Callable[[str], str], usual_length: timedelta) -> None:
        self._diary = diary
        self._organizer = organizer
        self._usual_length = usual_length

    async def propose(self, arguments: CreateEventArguments, context: Context) -> Proposal:
        """Choose the time and the calendar; freeze the event's text."""
        title = _title(arguments.title)
        length = _length(arguments, context)
        calendar = await self._diary.default_calendar()
        when = resolve_when(arguments.when, context.words, context.now)
        if when is None:
            raise ToolError(
                f"{arguments.when!r} names no day or time; say one, such as a weekday and an hour."
            )
        attendees = _addresses(arguments.attendees or "", context.words)
        time = await self._time(when, length, bool(attendees), context)
        place = _place(arguments, context)
        organizer = self._organizer(calendar.account)
        href, data = new_event(
            NewEvent(title, time.start, time.end, place, attendees, organizer), context.now, context.call_key
        )
        lines = [Line("What", for_display(title)), Line("When", _show_time(time, context))]
        if attendees:
            lines.append(Line("With", ", ".join(shown_address(address).text for address in attendees)))
        if place:
            lines.append(Line("Where", for_display(place)))
        lines.append(Line("Calendar", for_display(f"{calendar.name} ({calendar.account})")))
        if time.alternatives:
            lines.append(Line("Also free", ", ".join(map(show_moment, time.alternatives))))
        return self.propose_with(
            arguments,
            risk=Risk.SEND if attendees else Risk.WRITE,
            preview=Preview(
                "Create an event",
                tuple(lines),
                tuple(await self._warnings(arguments, time, attendees, calendar, context)),
            ),
            payload={
                "calendar": calendar.id,
                "href": href,
                "data": data,
                "said": f"“{title}” is now in the calendar {calendar.name}: {_show_time(time, context)}"
                + (f", with {', '.join(attendees)}" if attendees else ""),
            },
            facts={
                "calendar": calendar.name,
                "account": calendar.account,
                "title": title,
                "attendees": list(attendees),
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Write the event, where nothing of its name is."""
        calendar = await self._diary.calendar_with_id(str(proposal.payload["calendar"]))
        store = self._diary.store_of(calendar)
        href = str(proposal.payload["href"])
        etag = await store.create(calendar, href, str(proposal.payload["data"]))
        text = f"{proposal.payload['said']}."
        data = str(proposal.payload["data"])
        back = await written(store, calendar, href, etag, before=None, after=data)
        undo = Undo("Delete the event again", back)
        return Outcome(text, for_display(text), undo, complete=True)

    async def undo(self, undo: Undo, context: Context) -> Outcome:
        """Delete the event, where it is as it was written."""
        return await undo_write(self._diary, undo)

    async def _time(self, when: When, length: timedelta | None, with_others: bool, context: Context) -> _Time:
        if when.precision is Precision.RANGE:
            return _Time(when.start, when.end)
        if when.precision is Precision.TIME:
            return _Time(when.start, later(when.start, length or self._usual_length))
        wants_slot = (
            when.precision is Precision.PART
            or length is not None
            or with_others
            or _WANTS_A_SLOT.search(context.words.lower()) is not None
        )
        if not wants_slot or (length is not None and length >= timedelta(days=1)):
            return _Time(when.days[0], when.days[-1] + timedelta(1))
        length = length or self._usual_length
        slots = await self._diary.free_slots(when.start, when.end, length, context)
        if not slots:
            raise ToolError(
                f"There is no free {show_length(length)} between {show_moment(when.start)} "
                f"and {show_moment(when.end)}; name another time."
            )
        start = slots[0].start
        others = [slot.start for slot in slots[1:]]
        step = later(start, length)
        while len(others) < 2 and elapsed(step, slots[0].end) >= length:
            others.append(step)
            step = later(step, length)
        return _Time(start, later(start, length), tuple(sorted(others)[:2]), found=True)

    async def _warnings(
        self,
        arguments: CreateEventArguments,
        time: _Time,
        attendees: list[str],
        calendar: CalendarInfo,
        context: Context,
    ) -> list[str]:
        warnings = [warning for address in attendees for warning in shown_address(address).warnings]
        if isinstance(time.start, datetime) and isinstance(time.end, datetime):
            if time.start < context.now:
                warnings.append("This is in the past.")
            clashes = await self._diary.clashes(time.start, time.end, context)
            warnings += [for_display(f"Clashes with {describe(clash)}") for clash in clashes[:5]]
        warnings += [for_display(warning) for warning in self._diary.warnings]
        sends = calendar.schedules and self._organizer(calendar.account) != ""
        if attendees and not sends:
            warnings.append("The attendees are noted in the event; this calendar sends no invitations.")
        elif attendees:
            warnings.append(f"{calendar.account} sends the invitation to the attendees itself.")
        named = (arguments.attendees or "").strip()
        if named and not attendees and _preceded(named, context.words, _BEFORE_A_NAME):
            warnings.append(for_display(f"No mail address is known for {named}: nobody is invited."))
        return warnings


def _title(said: str) -> str:
    title = " ".join(said.split()).strip(" \t'\"“”‘’„«».,;:!?")
    title = title or "Event"
    title = title[:_LONGEST_TITLE]
    return title[0].upper() + title[1:]


def _addresses(said: str, sentence: str) -> list[str]:
    """Return the mail addresses in the words, else those that stand right behind them in the sentence.

    Raises `ToolError` for one that can't be taken letter for letter: part of an address is another
    person's.
    """
    found = _ADDRESS_LIKE.findall(said)
    at = sentence.find(said) if said.strip() and not found else -1
    if at >= 0:
        behind = re.match(r"[\s(<\[]*(\S+@\S+)", sentence[at + len(said) :])
        found = _ADDRESS_LIKE.findall(behind[1]) if behind else []
    addresses = [address.strip(".!?'’") for address in found]
    for address in addresses:
        if not _ADDRESS.fullmatch(address):
            raise ToolError(f"{for_display(address)!r} is no mail address that can be invited; check it.")
    return list(dict.fromkeys(addresses))


def _length(arguments: CreateEventArguments, context: Context) -> timedelta | None:
    """Return the length that was said, in its own argument or anywhere in the sentence."""
    own = find_duration(arguments.duration or "")
    return own or find_duration(arguments.when) or find_duration(_without_quotes(context.words))


def _without_quotes(words: str) -> str:
    return re.sub(r"[\"“„][^\"”“]*[\"”“]", " ", words)


def _place(arguments: CreateEventArguments, context: Context) -> str:
    """Return the place, unless the words are another argument's, which small models repeat."""
    place = " ".join((arguments.location or "").split()).strip(" \"'“”.,;")
    if not place or _ADDRESS.search(place):
        return ""
    if place.lower() in context.words.lower():
        if find_when(place, context.now) is not None or find_duration(place):
            return ""
        if place.lower() in arguments.title.lower():
            return ""
        if not _preceded(place, context.words, _BEFORE_A_PLACE):
            return ""
    return place


def _preceded(words: str, sentence: str, by: re.Pattern[str]) -> bool:
    at = sentence.lower().find(words.lower())
    return at >= 0 and by.search(sentence[:at]) is not None


def _show_time(time: _Time, context: Context) -> str:
    if not isinstance(time.start, datetime) or not isinstance(time.end, datetime):
        last = time.end - timedelta(1)
        days = show_day(time.start) if last == time.start else f"{show_day(time.start)} – {show_day(last)}"
        return f"{days}, all day"
    length = show_length(elapsed(time.start, time.end))
    return f"{show_stretch(time.start, time.end)} ({length}, {context.zone.key})"
