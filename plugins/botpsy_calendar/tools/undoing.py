"""Before-images: how a write to a calendar is taken back, and refused where others wrote since."""

from botpsy_calendar.diary import Diary
from botpsy_calendar.store import CalendarInfo, CalendarStore, Missing, StoreProblem
from botpsy_tui.plugin import Json, Outcome, ToolError, Undo


async def written(
    store: CalendarStore, calendar: CalendarInfo, href: str, etag: str | None, *, before: str | None
) -> dict[str, Json]:
    """Return what `undo_write` needs, right after a write that gave `etag`.

    A server that names none with its answer (RFC 4791 §5.3.4 allows that) is asked for it.
    `before`: the text that stood there, if any.
    """
    if etag is None:
        try:
            etag = (await store.read(calendar, href)).etag
        except StoreProblem:
            etag = None
    return {"calendar": calendar.id, "href": href, "before": before, "etag": etag}


async def undo_write(diary: Diary, undo: Undo) -> Outcome:
    """Put back what stood there before a write. Raises `ToolError` where it was changed since."""
    calendar = await diary.calendar_with_id(str(undo.data["calendar"]))
    store = diary.store_of(calendar)
    href, before, etag = str(undo.data["href"]), undo.data["before"], undo.data["etag"]
    try:
        now_there = (await store.read(calendar, href)).etag
    except Missing:
        now_there = None
    if now_there != etag:
        raise ToolError("The event was changed since, so this can't be undone; change it by hand.")
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
