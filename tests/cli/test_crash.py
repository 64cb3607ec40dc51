"""A run that was killed in the middle of a call: the next one says so, once, and repeats nothing."""

import os
import subprocess
import sys
from pathlib import Path

KILLED = """
import asyncio, os, signal
from botpsy_tui.application import Application
from botpsy_tui.journal import CallState
from botpsy_tui.plugin import Preview, Proposal, Risk

async def main():
    journal = Application.open().journal
    conversation = await journal.begin_conversation("none")
    proposal = Proposal("create_event", "1", Risk.WRITE, Preview("Create an event"), {}, {})
    row = await journal.propose(conversation, "call-1", proposal)
    await journal.record(row, CallState.APPROVED)
    await journal.record(row, CallState.STARTED)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""
TOLD = """
import asyncio
from botpsy_tui.application import Application

application = Application.open()
print(asyncio.run(application.interrupted_calls()))
"""


def run(script: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "BOTPSY_HOME": str(home)},
    )


def test_a_killed_call_is_told_once_as_unknown(tmp_path: Path) -> None:
    assert run(KILLED, tmp_path).returncode == -9
    first = run(TOLD, tmp_path)
    assert "It is not known whether it happened" in first.stdout, first.stderr
    assert run(TOLD, tmp_path).stdout.strip() == "[]"
