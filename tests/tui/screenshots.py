"""Makes the screenshots of the docs again: ``python -m tests.tui.screenshots``."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import BaseModel, Field
from textual.pilot import Pilot

from botpsy_tui.engine.types import Finished, ModelInfo, Request, SessionEvent, Statistics, ToolCall
from botpsy_tui.plugin import Context, Line, Outcome, Preview, Proposal, Risk, Tool
from botpsy_tui.tui import BotPsyApp
from tests.agent.fakes import FakeSession
from tests.tui.fakes import FakeHouse
from tests.tui.test_chat import card_in_focus, say, shows, until

FOLDER = Path(__file__).parents[2] / "docs" / "screenshots"
BOOK = "Book 30 minutes with lena@example.org tomorrow afternoon when I'm free, call it Review"
PREVIEW = Preview(
    "Create an event",
    (
        Line("What", "Review"),
        Line("When", "Wed 2 Dec 2026, 14:00–14:30 (30 min, Europe/Berlin)"),
        Line("With", "lena@example.org"),
        Line("Calendar", "Personal (work)"),
        Line("Also free", "Wed 2 Dec 2026, 14:30, Wed 2 Dec 2026, 15:00"),
    ),
    ("The attendees are noted in the event; this calendar sends no invitations.",),
)

CALL = ToolCall(
    "create_event",
    {
        "title": "Review",
        "when": "tomorrow afternoon",
        "duration": "30 minutes",
        "attendees": "lena@example.org",
    },
)
LIKELY = Statistics(1240, 64, 48, 0.9, 2.6, 1288, 8192)


class LikelySession(FakeSession):
    """A `FakeSession` with the name and the numbers of a small model on a laptop."""

    info = ModelInfo("BotPsy 0.8B", "qwen35", "Q4_K_M", 8192, "qwen-xml", calls_tools=True)

    async def stream(self, request: Request) -> AsyncIterator[SessionEvent]:
        async for event in super().stream(request):
            yield Finished("end", LIKELY) if isinstance(event, Finished) else event


class EventArguments(BaseModel):
    """The arguments that the form of the docs shows."""

    title: str = Field(description="What the event is called.")
    when: str = Field(description="Day and time.")
    duration: str | None = Field(None, description="How long, only if it was said.")
    attendees: str | None = Field(None, description="Mail addresses to invite.")


class EventTool(Tool[EventArguments]):
    """Shows the card that the calendar shows."""

    name = "create_event"
    description = "Put an event into the calendar."
    arguments = EventArguments

    async def propose(self, arguments: EventArguments, context: Context) -> Proposal:
        return self.propose_with(arguments, risk=Risk.SEND, preview=PREVIEW, payload={})

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        said = "“Review” is now in the calendar Personal: Wed 2 Dec 2026, 14:00–14:30, with lena@example.org."
        return Outcome(said, said, complete=True)


def save(pilot: Pilot[None], name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for field in pilot.app.screen.query("Input, TextArea"):
        field.cursor_blink = False  # type: ignore[attr-defined]
    (FOLDER / f"{name}.svg").write_text(pilot.app.export_screenshot(title="BotPsy"), encoding="utf-8")


async def the_chat(folder: Path) -> None:
    session = LikelySession("You have **Standup** at 10:00 and **Lunch with Tom** at 12:30.", CALL)
    house = FakeHouse(folder, session, EventTool())
    async with BotPsyApp(house).run_test(size=(96, 28)) as pilot:
        await until(pilot, shows(pilot, "ready"))
        save(pilot, "start")
        await say(pilot, "What do I have today?")
        await until(pilot, shows(pilot, "Lunch with Tom"))
        await say(pilot, BOOK)
        await card_in_focus(pilot)
        await pilot.pause(0.7)
        save(pilot, "approval")
        await pilot.press("e")
        await until(pilot, shows(pilot, "Edit: Create an event"))
        await pilot.pause(0.3)
        save(pilot, "edit")
        await pilot.press("escape")
        await card_in_focus(pilot)
        await pilot.pause(0.7)
        await pilot.press("y")
        await until(pilot, shows(pilot, "is now in the calendar"))
        await pilot.pause(0.5)
        save(pilot, "answer")


async def the_first_run(folder: Path) -> None:
    house = FakeHouse(folder, FakeSession(), installed=None)
    async with BotPsyApp(house).run_test(size=(96, 22)) as pilot:
        await until(pilot, shows(pilot, "Enter fetches"))
        save(pilot, "first-run")


def main() -> None:
    for scene in (the_chat, the_first_run):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["BOTPSY_HOME"] = folder
            asyncio.run(scene(Path(folder)))


if __name__ == "__main__":
    main()
