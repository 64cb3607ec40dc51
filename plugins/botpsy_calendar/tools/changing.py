"""Tools that change or delete an event: first which one is meant, then what will be different."""

import re
from datetime import date, datetime, timedelta

from pydantic import BaseModel, Field

from botpsy_calendar.diary import Diary, describe
from botpsy_calendar.duration import find_duration
from botpsy_calendar.editing import changed, new_end, stands_alone
from botpsy_calendar.ics import Occurrence
from botpsy_calendar.moments import (
    Precision,
    When,
    at,
    elapsed,
    later,
    show_day,
    show_length,
    show_stretch,
)
from botpsy_calendar.series import without_occurrences
from botpsy_calendar.tools.undoing import undo_write, written
from botpsy_calendar.vevent import Change
from botpsy_calendar.when import find_when, names_a_day, resolve_when
from botpsy_tui.plugin import (
    Context,
    Json,
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
    for_model,
    shown_address,
)

_WHOLE_SERIES = re.compile(r"\b(whole|entire|all|every|series)\b", re.IGNORECASE)
_TARGET = re.compile(r"\b(?:to|till|until|for)\b", re.IGNORECASE)
_MOST_NAMED = 5


class ChangeEventArguments(BaseModel):
    """Which event, and what is to be different."""

    event: UserWords = Field(description="Words that name the event: title, person or its present day.")
    to: UserWords | None = Field(None, description="The new day or time.")
    duration: UserWords | None = Field(None, description="The new length, only if it was said.")
    title: UserWords | None = Field(None, description="The new title, only if it is renamed.")
    location: UserWords | None = Field(None, description="The new place, only if it was said.")


class ChangeEvent(Tool[ChangeEventArguments]):
    """Moves, lengthens, renames an event, or puts it elsewhere."""

    name = "change_event"
    description = "Move an event that is already in the calendar to another day or time, or rename it."
    arguments = ChangeEventArguments
    highest_risk = Risk.SEND

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    async def propose(self, arguments: ChangeEventArguments, context: Context) -> Proposal:
        """Find the event, resolve its new time, freeze its new text."""
        hint = _TARGET.split(context.words, maxsplit=1)[0] if arguments.to else context.words
        # A span cut too long holds the new day as well: "the dentist to Friday".
        named = _TARGET.split(arguments.event, maxsplit=1)[0].strip() if arguments.to else ""
        event = await which(self._diary, named or arguments.event, hint, context)
        length = find_duration(arguments.duration or "")
        start, end = await self._new_time(arguments, event, length, context)
        title = _new_title(arguments, event, context)
        place = arguments.location if arguments.location and _is_new_place(arguments, context) else None
        if start is None and title is None and place is None:
            raise ToolError(
                for_model(
                    f"It is not clear what to change about “{event.title}”; say the new day, time or title."
                ),
                sources=self._diary.strangers([event]),
            )
        lines = [Line("What", for_display(title or event.title), for_display(event.title) if title else None)]
        now_at = _show(event.start, event.end, event.all_day)
        if start is not None and end is not None:
            lines.append(Line("When", f"{_show_dates(start, end)} ({context.zone.key})", now_at))
        else:
            lines.append(Line("When", now_at))
        if place is not None:
            lines.append(Line("Where", for_display(place), for_display(event.location) or "nowhere"))
        calendar = event.resource.calendar
        lines.append(Line("Calendar", for_display(f"{calendar.name} ({calendar.account})")))
        data = changed(event, Change(title, start, end, place), context.now)
        said = f"“{title or event.title}”" + (
            f" is now on {_show_dates(start, end)}"
            if start is not None and end is not None
            else " is changed"
        )
        return self.propose_with(
            arguments,
            risk=Risk.SEND if event.attendees and calendar.schedules else Risk.WRITE,
            preview=Preview(
                "Change an event", tuple(lines), tuple(await self._warnings(event, start, end, context))
            ),
            payload={
                **_target(event),
                "data": data,
                "said": said,
                "sources": list(self._diary.strangers([event])),
            },
            facts=_facts(event),
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Write the new text, where the event is as it was shown."""
        return await _replace(self._diary, proposal, undo="Change the event back")

    async def undo(self, undo: Undo, context: Context) -> Outcome:
        """Put the old text back, where nobody wrote since."""
        return await undo_write(self._diary, undo)

    async def _new_time(
        self,
        arguments: ChangeEventArguments,
        event: Occurrence,
        length: timedelta | None,
        context: Context,
    ) -> tuple[date | None, date | None]:
        target = _target_time(arguments, context)
        if target is None:
            if length is None or event.all_day:
                return None, None
            return event.start, later(event.start, length)
        if event.all_day and not target.has_time:
            days = (event.end.date() - event.start.date()).days
            return target.days[0], target.days[0] + timedelta(days)
        if target.precision is Precision.RANGE:
            return target.start, target.end
        if target.precision is Precision.PART or target.precision is Precision.SPAN:
            wanted = length or elapsed(event.start, event.end)
            slots = await self._diary.free_slots(target.start, target.end, wanted, context, but=event.key)
            if not slots:
                raise ToolError(f"There is no free {show_length(wanted)} then; name another time.")
            start = slots[0].start
        elif target.precision is Precision.DAY:
            start = at(target.start.date(), event.start.time(), context.zone)
        elif arguments.to and not names_a_day(arguments.to, context.now):
            start = at(event.start.date(), target.start.time(), context.zone)
        else:
            start = target.start
        if event.all_day:
            return start, later(start, length or timedelta(hours=1))
        return start, new_end(event, start, length)

    async def _warnings(
        self, event: Occurrence, start: date | None, end: date | None, context: Context
    ) -> list[str]:
        warnings: list[str] = []
        if event.recurrence_id:
            warnings.append("This is one of a series: only this occurrence changes.")
        if isinstance(start, datetime) and isinstance(end, datetime):
            if start < context.now:
                warnings.append("This is in the past.")
            clashes = await self._diary.clashes(start, end, context, but=event.key)
            warnings += [for_display(f"Clashes with {describe(clash)}") for clash in clashes[:_MOST_NAMED]]
        return [*warnings, *_about_attendees(event)]


class DeleteEventArguments(BaseModel):
    """Which event."""

    event: UserWords = Field(description="Words that name the event: title, person, day.")


class DeleteEvent(Tool[DeleteEventArguments]):
    """Deletes an event, or one occurrence of a series."""

    name = "delete_event"
    description = "Cancel an event: delete it from the calendar."
    arguments = DeleteEventArguments
    highest_risk = Risk.DESTRUCTIVE

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    async def propose(self, arguments: DeleteEventArguments, context: Context) -> Proposal:
        """Find the event and freeze what will be left of it."""
        event = await which(self._diary, arguments.event, context.words, context)
        if day := _day_in(context.words, context):
            _demand_day(self._diary, [event], day, arguments.event, context)
        series = bool(event.recurrence_id) and not stands_alone(event)
        whole = series and _WHOLE_SERIES.search(f"{arguments.event} {context.words}") is not None
        calendar = event.resource.calendar
        lines = [
            Line("What", for_display(event.title)),
            Line("When", _show(event.start, event.end, event.all_day)),
            Line("Calendar", for_display(f"{calendar.name} ({calendar.account})")),
        ]
        warnings = _about_attendees(event)
        if whole:
            warnings.insert(0, "This deletes the whole series, with all its occurrences.")
        elif series:
            warnings.insert(0, "This is one of a series: only this occurrence is deleted.")
        data = without_occurrences([event], context.now) if series and not whole else None
        title = "Delete a whole series" if whole else "Delete an event"
        return self.propose_with(
            arguments,
            risk=Risk.DESTRUCTIVE,
            preview=Preview(title, tuple(lines), tuple(warnings)),
            payload={
                **_target(event),
                "data": data,
                "said": f"“{event.title}” ({describe(event)}) is deleted",
                "sources": list(self._diary.strangers([event])),
            },
            facts=_facts(event),
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Delete it, where it is as it was shown."""
        if proposal.payload["data"] is not None:
            return await _replace(self._diary, proposal, undo="Put the occurrence back")
        calendar = await self._diary.calendar_with_id(str(proposal.payload["calendar"]))
        store, href = self._diary.store_of(calendar), str(proposal.payload["href"])
        await store.delete(calendar, href, str(proposal.payload["etag"]))
        text = f"{proposal.payload['said']}."
        undo = Undo(
            "Put the event back",
            {"calendar": calendar.id, "href": href, "before": proposal.payload["before"], "etag": None},
        )
        return Outcome(for_model(text), for_display(text), undo, complete=True, sources=_sources(proposal))

    async def undo(self, undo: Undo, context: Context) -> Outcome:
        """Put the event back, where nothing of its name is there."""
        return await undo_write(self._diary, undo)


async def which(diary: Diary, words: str, hint: str, context: Context) -> Occurrence:
    """Return the one event that is meant. Raises `ToolError` naming those that fit, or that none does.

    A day in the words, else in `hint` (the part of the sentence that speaks of the event), decides
    between several.
    """
    own_day = _day_in(words, context)
    day = own_day or _day_in(hint, context)
    found: list[Occurrence] = []
    if day is not None:
        found = await diary.find(words, context, day.start, later(day.start, _span(day)))
    if not found:
        found = await diary.find(words, context)
    if own_day is not None:
        _demand_day(diary, found, own_day, words, context)
    if not found:
        raise ToolError(f"No event in the calendar fits {words!r}; ask the person which one is meant.")
    if len(found) > 1:
        rows = [f"{describe(o)} [{context.references.name('event', o.key)}]" for o in found[:_MOST_NAMED]]
        problem = "Several events fit; ask the person which one is meant: " + "; ".join(rows)
        raise ToolError(for_model(problem), sources=diary.strangers(found[:_MOST_NAMED]))
    return found[0]


def _demand_day(diary: Diary, found: list[Occurrence], day: When, words: str, context: Context) -> None:
    """Raise `ToolError` where what was found is on another day than the one that was said."""
    if found and not _named_by_id(words, context) and not _on(found, day):
        rows = [f"{describe(o)} [{context.references.name('event', o.key)}]" for o in found[:_MOST_NAMED]]
        problem = f"Nothing fits {words!r} then; ask the person about: " + "; ".join(rows)
        raise ToolError(for_model(problem), sources=diary.strangers(found[:_MOST_NAMED]))


def _named_by_id(words: str, context: Context) -> bool:
    return any(context.references.key("event", name) for name in re.findall(r"\be\d+\b", words.lower()))


def _on(events: list[Occurrence], day: When) -> bool:
    until = later(day.start, _span(day))
    return any(event.start < until and event.end >= day.start for event in events)


def _span(day: When) -> timedelta:
    return elapsed(day.start, day.end) if day.end > day.start else timedelta(hours=1)


def _day_in(words: str, context: Context) -> When | None:
    try:
        return find_when(words, context.now)
    except ToolError:
        return None


def _target_time(arguments: ChangeEventArguments, context: Context) -> When | None:
    if not arguments.to:
        return None
    # The new time stands behind "to"; what stands before it may be the old one.
    _, _, after = context.words.partition(" to ")
    found = resolve_when(arguments.to, after, context.now) if after else find_when(arguments.to, context.now)
    if found is None and not (arguments.title or arguments.location or arguments.duration):
        raise ToolError(f"{arguments.to!r} names no day or time; say one, such as a weekday and an hour.")
    return found


def _new_title(arguments: ChangeEventArguments, event: Occurrence, context: Context) -> str | None:
    """Return the new title, where it is one: small models like to repeat the old one."""
    title = " ".join((arguments.title or "").split()).strip("\"'“”.,;:")
    if not title or title.lower() in (event.title.lower(), arguments.event.lower()):
        return None
    in_sentence = title.lower() in context.words.lower()
    renames = re.search(r"\b(renam\w*|call\w*|title\w*|name\w*)\b", context.words, re.IGNORECASE)
    return title if renames or not in_sentence else None


def _is_new_place(arguments: ChangeEventArguments, context: Context) -> bool:
    place = arguments.location or ""
    return not (place in (arguments.to, arguments.event) or _day_in(place, context))


def _about_attendees(event: Occurrence) -> list[str]:
    if not event.attendees:
        return []
    people = ", ".join(shown_address(address).text for address in event.attendees)
    if event.resource.calendar.schedules:
        return [f"{event.resource.calendar.account} tells the attendees itself: {people}."]
    return [f"The attendees are not told: {people}."]


def _facts(event: Occurrence) -> dict[str, Json]:
    """Return what a person's rules may look at: the calendar, its account and who takes part."""
    calendar = event.resource.calendar
    return {
        "calendar": calendar.name,
        "account": calendar.account,
        "title": event.title,
        "attendees": list(event.attendees),
    }


def _target(event: Occurrence) -> dict[str, str]:
    return {
        "calendar": event.resource.calendar.id,
        "href": event.resource.href,
        "etag": event.resource.etag,
        "before": event.resource.data,
    }


async def _replace(diary: Diary, proposal: Proposal, *, undo: str) -> Outcome:
    calendar = await diary.calendar_with_id(str(proposal.payload["calendar"]))
    store, href = diary.store_of(calendar), str(proposal.payload["href"])
    data = str(proposal.payload["data"])
    etag = await store.replace(calendar, href, data, str(proposal.payload["etag"]))
    text = f"{proposal.payload['said']}."
    back = await written(store, calendar, href, etag, before=str(proposal.payload["before"]), after=data)
    return Outcome(
        for_model(text), for_display(text), Undo(undo, back), complete=True, sources=_sources(proposal)
    )


def _sources(proposal: Proposal) -> tuple[str, ...]:
    named = proposal.payload["sources"]
    return tuple(map(str, named)) if isinstance(named, list) else ()


def _show(start: datetime, end: datetime, all_day: bool) -> str:
    return _show_dates(start.date(), end.date()) if all_day else show_stretch(start, end)


def _show_dates(start: date, end: date) -> str:
    if isinstance(start, datetime) and isinstance(end, datetime):
        return show_stretch(start, end)
    last = end - timedelta(1)
    return (
        f"{show_day(start)}, all day" if last <= start else f"{show_day(start)} – {show_day(last)}, all day"
    )
