"""What the calendar's tests share: a clock that stands still, a plugin on a folder, iCalendar text."""

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from botpsy_calendar import CalendarPlugin

from botpsy_tui.plugin import Account, Context, Host, Outcome, Proposal, References, Tool

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 9, 0, tzinfo=BERLIN)  # a Tuesday


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


def event(uid: str, title: str, start: str, end: str = "", *more: str) -> str:
    """Return one event; times such as 20261202T140000 are in Berlin, 20261202 is a whole day."""

    def stamped(name: str, value: str) -> str:
        if len(value) == 8:
            return f"{name};VALUE=DATE:{value}"
        return f"{name}:{value}" if value.endswith("Z") else f"{name};TZID=Europe/Berlin:{value}"

    lines = [
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", "BEGIN:VEVENT", f"UID:{uid}",
        "DTSTAMP:20261101T000000Z", stamped("DTSTART", start), *([stamped("DTEND", end)] if end else []),
        f"SUMMARY:{title}", *more, "END:VEVENT", "END:VCALENDAR",
    ]  # fmt: skip
    return "\r\n".join(lines) + "\r\n"


class World:
    """A plugin and one conversation with it."""

    def __init__(self, folder: Path, *accounts: Account, secret: str = "", **settings: object) -> None:
        self.personal = folder / "calendars" / "personal"
        self.plugin = CalendarPlugin(
            Host(
                data_folder=folder,
                settings=settings,
                accounts=accounts,
                secret=lambda _account: secret,
                clock=lambda: NOW,
            )
        )
        self.references = References()
        self.tools: dict[str, Tool[Any]] = {tool.name: tool for tool in self.plugin.tools()}

    def add(self, name: str, text: str) -> Path:
        self.personal.mkdir(parents=True, exist_ok=True)
        path = self.personal / f"{name}.ics"
        path.write_bytes(text.encode())
        return path

    def files(self) -> dict[str, str]:
        return {path.name: path.read_bytes().decode() for path in sorted(self.personal.glob("*.ics"))}

    def context(self, words: str = "") -> Context:
        return Context(clock=lambda: NOW, words=words, references=self.references)

    async def propose(self, name: str, words: str = "", **arguments: str) -> Proposal:
        tool = self.tools[name]
        return await tool.propose(tool.arguments(**arguments), self.context(words))

    async def commit(self, proposal: Proposal) -> Outcome:
        return await self.tools[proposal.tool].commit(proposal, self.context())

    async def do(self, name: str, words: str = "", **arguments: str) -> Outcome:
        return await self.commit(await self.propose(name, words, **arguments))

    async def undo(self, name: str, outcome: Outcome) -> Outcome:
        assert outcome.undo is not None
        return await self.tools[name].undo(outcome.undo, self.context())


def lines(proposal: Proposal) -> dict[str, str]:
    return {line.label: line.value for line in proposal.preview.lines}
