"""`botpsy pending` and `botpsy outbox` in a real terminal and without one, on the local calendar."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

# The calendar's tool stands for one that sends: what it makes waits in the outbox.
HELD = "from botpsy_calendar.tools.creating import CreateEvent; CreateEvent.held = True\n"
COMMAND = "import sys; from botpsy_tui.cli import main; sys.argv[0] = 'botpsy'; main()\n"
ASKED = """
import asyncio, sys
from botpsy_tui.agent.waiting import Nobody
from botpsy_tui.application import Application
from botpsy_tui.cli.ask import answer
from botpsy_tui.cli.outbox import see_off
from botpsy_tui.cli.deciding import TerminalApprover
from botpsy_tui.cli.exits import Exit
from botpsy_tui.cli.reporting import TextReporter
from botpsy_tui.engine.types import ToolCall
from tests.agent.fakes import FakeSession

async def main():
    application = Application.open()
    terminal = sys.stdin.isatty()
    call = ToolCall("create_event", {"title": "Review", "when": "2030-01-07 at 14:00"})
    approver = TerminalApprover() if terminal else Nobody()
    assistant = application.new_assistant(FakeSession(call, "All right."), approver)
    events = assistant.turn("Book Review on 2030-01-07 at 14:00")
    try:
        code = await answer(events, TextReporter(with_calls=terminal))
        return await see_off(application.waiting, code, in_terminal=terminal)
    finally:
        await application.close()

try:
    sys.exit(int(asyncio.run(main())))
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text(
        'timezone = "Europe/Berlin"\n[approvals]\noutbox_seconds = 3000\n'
    )
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "BOTPSY_HOME": str(home), "TERM": "xterm", "COLUMNS": "120"}


def run(home: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=environment(home),
    )


def botpsy(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(home, HELD + COMMAND, *arguments)


def terminal(home: Path, script: str, *arguments: str) -> pexpect.spawn:
    return pexpect.spawn(
        sys.executable, ["-c", script, *arguments], encoding="utf-8", timeout=120, env=environment(home)
    )


def exit_of(child: pexpect.spawn) -> int | None:
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def events(home: Path) -> list[str]:
    return [path.read_text() for path in (home / "data").rglob("*.ics")]


def approve(child: pexpect.spawn) -> None:
    child.expect("Create an event")
    child.expect("tails")
    child.sendline("y")


def test_a_call_that_nobody_could_be_asked_about_is_decided_on_later(home: Path) -> None:
    done = run(home, ASKED)
    assert done.returncode == 3, done.stderr
    assert "botpsy pending decide 1" in done.stderr
    assert json.loads(done.stdout)["number"] == 1
    assert events(home) == []
    listed = botpsy(home, "pending").stdout
    assert "Create an event" in listed
    assert "Mon 7 Jan 2030" in listed
    (call,) = json.loads(botpsy(home, "pending", "--json").stdout)
    assert (call["number"], call["state"]) == (1, "pending")
    refused = botpsy(home, "pending", "decide", "1")
    assert (refused.returncode, events(home)) == (3, []), "nobody is at the terminal"
    child = terminal(home, COMMAND, "pending", "decide", "1")
    child.expect("its words are taken from then")
    child.expect("tails")
    child.sendline("y")
    assert exit_of(child) == 0
    assert ["SUMMARY:Review" in text for text in events(home)] == [True]
    assert botpsy(home, "pending").stdout == "Nothing waits for you.\n"
    again = botpsy(home, "pending", "reject", "1")
    assert again.returncode == 1
    assert "nothing was done now" in again.stderr


def test_a_call_that_waits_can_be_rejected(home: Path) -> None:
    run(home, ASKED)
    assert "is rejected" in botpsy(home, "pending", "reject", "1", "--reason", "too late").stdout
    assert botpsy(home, "pending", "--json").stdout == "[]\n"
    assert "no call 9" in botpsy(home, "pending", "reject", "9").stderr


def test_what_is_approved_counts_down_and_u_takes_it_back(home: Path) -> None:
    child = terminal(home, HELD + ASKED)
    approve(child)
    child.expect(r"leaves in \d+ s")
    child.sendline("x")
    child.expect(r"leaves in \d+ s")
    child.sendline("u")
    child.expect("Taken back: nothing was sent")
    assert exit_of(child) == 0
    assert events(home) == []


def test_enter_sends_it_now(home: Path) -> None:
    child = terminal(home, HELD + ASKED)
    approve(child)
    child.expect(r"leaves in \d+ s")
    child.sendline("")
    child.expect("is now in the calendar")
    assert exit_of(child) == 0
    assert len(events(home)) == 1


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 3)])
def test_leaving_leaves_it_in_the_outbox_where_it_asks_again(home: Path, key: str, code: int) -> None:
    child = terminal(home, HELD + ASKED)
    approve(child)
    child.expect(r"leaves in \d+ s")
    child.send(key)
    child.expect("It stays in the outbox")
    assert exit_of(child) == code
    assert events(home) == []
    assert "asks again before it leaves" in botpsy(home, "outbox").stdout
    assert "Create an event" in botpsy(home, "pending").stdout
    child = terminal(home, HELD + COMMAND, "outbox", "release", "1")
    child.expect("ended before it left")
    child.expect("tails")
    child.sendline("y")
    assert exit_of(child) == 0
    assert len(events(home)) == 1
    assert botpsy(home, "outbox").stdout == "The outbox is empty.\n"


def test_another_terminal_can_take_it_back(home: Path) -> None:
    child = terminal(home, HELD + ASKED)
    approve(child)
    child.expect(r"leaves in \d+ s")
    assert "It leaves at" in botpsy(home, "outbox").stdout
    assert "taken back" in botpsy(home, "outbox", "cancel", "1").stdout
    child.sendline("")
    child.expect("It is cancelled already")
    assert exit_of(child) == 1
    assert events(home) == []
