"""The same request through the two faces: the chat, and `botpsy ask` in a real pseudo-terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from botpsy_tui.application import Application
from botpsy_tui.engine.types import Session
from botpsy_tui.models import InstalledModel
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.house import ApplicationHouse
from tests.end_to_end.world import NOW
from tests.servers.radicale import RadicaleServer
from tests.tui.test_chat import card_in_focus, say, screen_text, shows, until

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("starter")]

ASK = [sys.executable, "-m", "botpsy_tui", "ask"]
BOOK = "Book 30 minutes with lena@example.org on 2030-01-07 at 14:00, call it Review"


class LoadedHouse(ApplicationHouse):
    """The real house, with the model that the tests have loaded already."""

    def __init__(self, application: Application, session: Session) -> None:
        super().__init__(application)
        self._loaded = session

    async def load_session(self) -> Session:
        return _Kept(self._loaded)


class _Kept:
    """A session that the chat may close and the next test still use."""

    def __init__(self, session: Session) -> None:
        self.info, self.stream = session.info, session.stream
        self.prepare, self.count = session.prepare, session.count

    async def close(self) -> None:
        pass


async def test_the_chat_books_the_meeting(session: Session, server: RadicaleServer, starter: Path) -> None:
    application = Application.open(clock=lambda: NOW)
    application.model = InstalledModel("starter", str(starter), starter, 1, "", "Q4_K_M")
    app = BotPsyApp(LoadedHouse(application, session))
    async with app.run_test(size=(100, 36)) as pilot:
        await say(
            pilot, "Book 30 minutes with lena@example.org tomorrow afternoon when I'm free, call it Review"
        )
        await until(pilot, shows(pilot, "waiting for you"), 90)
        await card_in_focus(pilot)
        await pilot.pause(0.6)
        assert "Wed 2 Dec 2026, 14:00–14:30" in screen_text(pilot)
        await pilot.press("y")
        await until(pilot, shows(pilot, "✓ done"), 90)
    assert [e["DTSTART"] for e in server.events() if e["SUMMARY"] == "Review"] == ["20261202T140000"]


def ask(starter: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*ASK, "--model", str(starter), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
        **options,  # type: ignore[call-overload]
    )


def test_in_a_terminal_the_call_is_shown_and_y_books_it(server: RadicaleServer, starter: Path) -> None:
    child = pexpect.spawn(
        ASK[0], [*ASK[1:], "--model", str(starter), BOOK], encoding="utf-8", timeout=240, env=dict(os.environ)
    )
    child.expect("Create an event")
    child.expect("Mon 7 Jan 2030, 14:00|7 Jan 2030, 14:00")
    child.expect("tails")
    child.sendline("x")
    child.expect("Type one of y, e, n, d, s")
    child.sendline("y")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert [e["DTSTART"] for e in server.events() if e["SUMMARY"] == "Review"] == ["20300107T140000"]


def test_piped_it_does_nothing_prints_the_pending_call_and_exits_with_3(
    server: RadicaleServer, starter: Path
) -> None:
    before = server.texts()
    done = ask(starter, BOOK)
    assert done.returncode == 3, done.stderr
    pending = json.loads(done.stdout.splitlines()[-1])
    assert pending["event"] == "pending_call"
    assert pending["proposal"]["tool"] == "create_event"
    assert pending["proposal"]["risk"] == "send"
    assert "needs your approval" in done.stderr
    assert server.texts() == before


def test_reads_can_be_let_through_and_every_event_is_a_line_of_json(
    server: RadicaleServer, starter: Path
) -> None:
    done = ask(starter, "--approve", "read", "--json", "What is on 2026-12-02?")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["event"] == "turn_finished"
    assert "Dentist" in next(e for e in events if e["event"] == "call_finished")["outcome"]["view"]


def test_letting_reads_through_lets_nothing_else_through(server: RadicaleServer, starter: Path) -> None:
    before = server.texts()
    assert ask(starter, "--approve", "read", BOOK).returncode == 3
    assert server.texts() == before
