"""Before-images: how a write to a calendar is taken back, and refused where others wrote since."""

import re

from botpsy_calendar.diary import Diary
from botpsy_calendar.store import CalendarInfo, CalendarStore, Missing, StoreProblem
from botpsy_tui.plugin import ChangedSince, Json, Line, Outcome, Undo, for_display_line

_NAMES = {
    "SUMMARY": "What",
    "DTSTART": "Starts",
    "DTEND": "Ends",
    "LOCATION": "Where",
    "DESCRIPTION": "Notes",
}
_BOOKKEEPING = frozenset(
    ["DTSTAMP", "LAST-MODIFIED", "CREATED", "SEQUENCE", "PRODID", "BEGIN", "END", "VERSION"]
)
_MOMENT = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_EVENTS = re.compile(r"^BEGIN:VEVENT\s(.*?)^END:VEVENT\b", re.DOTALL | re.MULTILINE)
_MOST_LINES = 12


async def written(
    store: CalendarStore,
    calendar: CalendarInfo,
    href: str,
    etag: str | None,
    *,
    before: str | None,
    after: str,
) -> dict[str, Json]:
    """Return what `undo_write` needs, right after a write that gave `etag`.

    A server that names none with its answer (RFC 4791 §5.3.4 allows that) is asked for it.
    `before`: the text that stood there, if any; `after`: the one that was written.
    """
    if etag is None:
        try:
            etag = (await store.read(calendar, href)).etag
        except StoreProblem:
            etag = None
    return {"calendar": calendar.id, "href": href, "before": before, "after": after, "etag": etag}


async def undo_write(diary: Diary, undo: Undo) -> Outcome:
    """Put back what stood there before a write. Raises `ChangedSince` where it was changed since."""
    calendar = await diary.calendar_with_id(str(undo.data["calendar"]))
    store = diary.store_of(calendar)
    href, before, etag = str(undo.data["href"]), undo.data["before"], undo.data["etag"]
    try:
        there = await store.read(calendar, href)
        now_there, text_there = there.etag, there.data
    except Missing:
        now_there, text_there = None, ""
    if now_there != etag:
        raise ChangedSince(
            "The event was changed since, so this can't be undone; change it by hand.",
            _difference(str(undo.data.get("after") or ""), text_there),
        )
    if before is None:
        await store.delete(calendar, href, str(etag))
        text = "Undone: the event is deleted."
    elif etag is None:
        await store.create(calendar, href, str(before))
        text = "Undone: the event is back."
    else:
        await store.replace(calendar, href, str(before), str(etag))
        text = "Undone: the event is as it was."
    return Outcome(text, text)


def _difference(left: str, there: str) -> tuple[Line, ...]:
    """Return which properties of an event are not as the call had left them."""
    if not there:
        return (Line("Event", "deleted", for_display_line(_value(_properties(left), "SUMMARY"))),)
    before, now = _properties(left), _properties(there)
    names = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    return tuple(
        Line(
            _NAMES.get(name, name.capitalize()),
            for_display_line(_value(now, name)),
            for_display_line(_value(before, name)),
        )
        for name in names[:_MOST_LINES]
    )


def _properties(text: str) -> dict[str, list[str]]:
    """Return the values of each property of the events (RFC 5545 §3.1), but for what only keeps the books."""
    found: dict[str, list[str]] = {}
    events = _EVENTS.findall(re.sub(r"\r?\n[ \t]", "", text))
    for line in "".join(events).splitlines():
        head, separator, value = line.partition(":")
        name = head.partition(";")[0].upper()
        if separator and name not in _BOOKKEEPING:
            found.setdefault(name, []).append(value)
    return found


def _value(properties: dict[str, list[str]], name: str) -> str:
    text = ", ".join(properties.get(name, ())) or "nothing"
    return _MOMENT.sub(_readable, text) if name.startswith("DT") else text.replace("\\,", ",")


def _readable(found: re.Match[str]) -> str:
    year, month, day, hour, minute, utc = found.groups()
    return f"{year}-{month}-{day}" + (f" {hour}:{minute}{' UTC' if utc else ''}" if hour else "")
