"""A person's month on a real Radicale, and the person, played by a script that decides on each call."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from botpsy_tui.agent.events import Event
from botpsy_tui.application import Application
from botpsy_tui.approval import Approve, Decision, Question
from botpsy_tui.engine.types import Session, TextDelta
from botpsy_tui.plugin import Proposal
from tests.servers.radicale import RadicaleServer

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))  # a Tuesday

_EVENTS = {
    "standup": ("Standup", "20261123T100000", "20261123T101500", "RRULE:FREQ=DAILY;COUNT=40"),
    "lunch": ("Lunch with Tom", "20261201T123000", "20261201T133000", ""),
    "dentist": ("Dentist", "20261202T130000", "20261202T140000", "LOCATION:Main Street 5"),
    "planning": ("Planning", "20261211T150000", "20261211T160000", ""),
    "choir": ("Choir", "20261203T190000", "20261203T203000", ""),
}


def ics(uid: str, title: str, start: str, end: str, more: str = "") -> str:
    lines = [
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN",
        "BEGIN:VTIMEZONE", "TZID:Europe/Berlin",
        "BEGIN:STANDARD", "DTSTART:19961027T030000", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10",
        "TZOFFSETFROM:+0200", "TZOFFSETTO:+0100", "END:STANDARD",
        "BEGIN:DAYLIGHT", "DTSTART:19960331T020000", "RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3",
        "TZOFFSETFROM:+0100", "TZOFFSETTO:+0200", "END:DAYLIGHT", "END:VTIMEZONE",
        "BEGIN:VEVENT", f"UID:{uid}", "DTSTAMP:20261101T000000Z",
        f"DTSTART;TZID=Europe/Berlin:{start}", f"DTEND;TZID=Europe/Berlin:{end}",
        f"SUMMARY:{title}", *([more] if more else []), "END:VEVENT", "END:VCALENDAR",
    ]  # fmt: skip
    return "\r\n".join(lines) + "\r\n"


def fill(server: RadicaleServer) -> None:
    for uid, (title, start, end, more) in _EVENTS.items():
        server.put(uid, ics(uid, title, start, end, more))


def approve(question: Question) -> Decision:
    return Approve(question.proposal.digest)


@dataclass
class Person:
    """Decides by a rule, and remembers what was asked."""

    decide_on: Callable[[Question], Decision] = approve
    asked: list[Proposal] = field(default_factory=list)

    async def decide(self, question: Question) -> Decision:
        self.asked.append(question.proposal)
        return self.decide_on(question)


def answer_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def write_settings(home: Path, server: RadicaleServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `botpsy account add` leaves behind, with the password in the environment."""
    monkeypatch.setenv("BOTPSY_HOME", str(home))
    monkeypatch.setenv("RADICALE_PASSWORD", server.password)
    (home / "config").mkdir(parents=True)
    (home / "config" / "settings.toml").write_text(
        'timezone = "Europe/Berlin"\n[engine]\ntemperature = 0.0\n'
        f'[[accounts]]\nname = "work"\nkind = "caldav"\npassword_env = "RADICALE_PASSWORD"\n'
        f'settings = {{ url = "{server.url}", username = "{server.username}" }}\n'
    )


@asynccontextmanager
async def opened(session: Session, person: Person) -> AsyncIterator[Callable]:
    """Open the application; give what asks the assistant and returns the turn's events."""
    application = Application.open(clock=lambda: NOW)
    assistant = application.new_assistant(session, person)

    async def ask(words: str) -> list[Event]:
        return [event async for event in assistant.turn(words)]

    try:
        yield ask
    finally:
        await application.close()
