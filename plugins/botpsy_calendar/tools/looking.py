"""Tools that only look: what is on, which event, when there is time."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel, Field

from botpsy_calendar.diary import Diary, describe, significant
from botpsy_calendar.duration import find_duration
from botpsy_calendar.ics import Occurrence
from botpsy_calendar.moments import Precision, When, later, show_day, show_length, show_moment
from botpsy_calendar.when import find_when, resolve_when, without_days
from botpsy_tui.plugin import (
    Context,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    ToolError,
    UserWords,
    for_display,
    for_model,
)

_MOST_SHOWN = 20
_UPCOMING = timedelta(days=14)
_ASKS_AHEAD = re.compile(r"\b(next|upcoming|coming up|soon|planned|calendar|agenda|schedule|events?|free)\b")
_USUAL_FREE = timedelta(minutes=30)


class ListEventsArguments(BaseModel):
    """Which days."""

    when: UserWords = Field(description="The day or days asked about.")


class ListEvents(Tool[ListEventsArguments]):
    """The agenda of a span of time."""

    name = "list_events"
    description = "Show what is in the calendar on a day or in a span of days."
    arguments = ListEventsArguments
    highest_risk = Risk.READ

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    async def propose(self, arguments: ListEventsArguments, context: Context) -> Proposal:
        """Resolve the span; words that name no day but an event are looked for. Nothing is read yet."""
        found = resolve_when(arguments.when, context.words, context.now)
        ahead = _ASKS_AHEAD.search(context.words.lower())
        if found is None and not ahead and significant(arguments.when):
            return search_proposal(self, arguments, arguments.when, None)
        span = window(arguments.when, context)
        return self.propose_with(
            arguments,
            risk=Risk.READ,
            preview=Preview("Look at the calendar", (Line("When", show_window(span)),)),
            payload={"start": span.start.isoformat(), "end": span.end.isoformat(), "said": show_window(span)},
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Read the calendars."""
        if "about" in proposal.payload:
            return await search(self._diary, proposal, context)
        start, end = stretch_of(proposal, context)
        events = await self._diary.between(start, end, context)
        return shown(str(proposal.payload["said"]), events, self._diary, context)


class FindEventsArguments(BaseModel):
    """What to look for."""

    about: UserWords = Field(description="Words of the event: its title, a person or a place.")
    when: UserWords | None = Field(None, description="The day or days, only if they were said.")


class FindEvents(Tool[FindEventsArguments]):
    """A search by words."""

    name = "find_events"
    description = "Find events by words: when something is, or what there is with a person."
    arguments = FindEventsArguments
    highest_risk = Risk.READ

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    async def propose(self, arguments: FindEventsArguments, context: Context) -> Proposal:
        """Resolve the span; nothing is read yet."""
        span = find_when(arguments.when, context.now) if arguments.when else None
        about = arguments.about
        if span is None or span == find_when(about, context.now):
            span = find_when(about, context.now)
            # "about next Friday" is a day, not words of a title.
            about = about if significant(without_days(about, context.now)) else ""
        return search_proposal(self, arguments, about, span)

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Search the calendars."""
        return await search(self._diary, proposal, context)


def search_proposal(tool: Tool[Any], arguments: BaseModel, about: str, span: When | None) -> Proposal:
    """Return the proposal of a search for words, in a span or near now."""
    lines = [Line("Words", for_display(about))] if about else []
    if span is not None:
        lines.append(Line("When", show_window(span)))
    return tool.propose_with(
        arguments,
        risk=Risk.READ,
        preview=Preview("Search the calendar", tuple(lines)),
        payload={
            "about": about,
            "start": span.start.isoformat() if span else None,
            "end": span.end.isoformat() if span else None,
        },
    )


async def search(diary: Diary, proposal: Proposal, context: Context) -> Outcome:
    """Do what a search's proposal says."""
    start, end = stretch_of(proposal, context) if proposal.payload["start"] else (None, None)
    about = str(proposal.payload["about"])
    events = await diary.find(about, context, start, end)
    heading = f"Events about “{about}”" if about else "Events then"
    return shown(heading, events, diary, context)


class FindFreeTimeArguments(BaseModel):
    """When, and for how long."""

    when: UserWords = Field(description="The day or days asked about.")
    duration: UserWords | None = Field(None, description="How long, only if it was said.")


class FindFreeTime(Tool[FindFreeTimeArguments]):
    """Free stretches in a span of time."""

    name = "find_free_time"
    description = "Find when the person is free on a day or in a span of days."
    arguments = FindFreeTimeArguments
    highest_risk = Risk.READ

    def __init__(self, diary: Diary) -> None:
        self._diary = diary

    async def propose(self, arguments: FindFreeTimeArguments, context: Context) -> Proposal:
        """Resolve span and length; nothing is read yet."""
        span = window(arguments.when, context)
        length = find_duration(arguments.duration or "") or _USUAL_FREE
        return self.propose_with(
            arguments,
            risk=Risk.READ,
            preview=Preview(
                "Look for free time",
                (Line("When", show_window(span)), Line("At least", show_length(length))),
            ),
            payload={
                "start": span.start.isoformat(),
                "end": span.end.isoformat(),
                "said": show_window(span),
                "minutes": int(length.total_seconds() // 60),
                "exact": span.precision in (Precision.TIME, Precision.RANGE),
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Read the calendars and list what is free."""
        start, end = stretch_of(proposal, context)
        said = proposal.payload["said"]
        if proposal.payload["exact"]:
            clashes = await self._diary.clashes(start, end, context)
            text = "\n".join([f"Not free {said}:", *map(describe, clashes)]) if clashes else f"Free {said}."
            return Outcome(for_model(text), for_display(text), sources=self._diary.strangers(clashes))
        length = timedelta(minutes=float(str(proposal.payload["minutes"])))
        slots = await self._diary.free_slots(start, end, length, context)
        if not slots:
            text = f"No free stretch of {show_length(length)} {said}."
        else:
            rows = [f"{show_moment(slot.start)}–{slot.end:%H:%M}" for slot in slots[:_MOST_SHOWN]]
            text = "\n".join([f"Free {said}:", *rows])
        text += "".join(f"\nNote: {warning}" for warning in self._diary.warnings)
        return Outcome(for_model(text), for_display(text))


def window(words: str, context: Context) -> When:
    """Return the span that is asked about; for "what's next" and the like, the two weeks ahead."""
    found = resolve_when(words, context.words, context.now)
    if found is None and not _ASKS_AHEAD.search(context.words.lower()):
        raise ToolError(f"{words!r} names no day. If the person asks about no day, answer without a tool.")
    if found is None:
        return When(context.now, later(context.now, _UPCOMING), Precision.SPAN)
    if found.precision is Precision.TIME:
        return When(found.start, later(found.start, timedelta(hours=1)), Precision.TIME)
    return found


def show_window(span: When) -> str:
    """Return a span as a person reads it."""
    if span.precision is Precision.DAY:
        return f"on {show_day(span.start.date())}"
    if span.precision is Precision.SPAN:
        return f"from {show_day(span.start.date())} to {show_day(span.days[-1])}"
    return f"on {show_moment(span.start)}–{span.end:%H:%M}"


def stretch_of(proposal: Proposal, context: Context) -> tuple[datetime, datetime]:
    """Return the frozen span in the person's zone."""
    start, end = (datetime.fromisoformat(str(proposal.payload[name])) for name in ("start", "end"))
    return start.astimezone(context.zone), end.astimezone(context.zone)


def shown(heading: str, events: Sequence[Occurrence], diary: Diary, context: Context) -> Outcome:
    """Return events as a numbered list, each with the id it can be named by."""
    if not events:
        text = view = f"{heading}: nothing in the calendar."
    else:
        rows = [
            f"{i}. {describe(event)} [{context.references.name('event', event.key)}]"
            for i, event in enumerate(events[:_MOST_SHOWN], 1)
        ]
        more = len(events) - len(rows)
        rest = [f"and {more} more; ask for fewer days to see them"] if more > 0 else []
        heading = f"{heading}: {len(events)} event{'s' * (len(events) != 1)}"
        # In one line a small model repeats them all; of a list it likes to name only the count.
        text = f"{heading}: {'; '.join([*rows, *rest])}"
        view = "\n".join([heading, *rows, *rest])
    notes = "".join(f"\nNote: {warning}" for warning in diary.warnings)
    return Outcome(
        for_model(text + notes.replace("\n", " ")),
        for_display(view + notes),
        sources=diary.strangers(events[:_MOST_SHOWN]),
    )
