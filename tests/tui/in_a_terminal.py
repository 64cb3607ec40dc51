"""The chat in a real pseudo-terminal, on a model that says what the test tells it to.

Run as ``python -m tests.tui.in_a_terminal FOLDER CALLS``: it makes CALLS calls in one step and writes
the text of each that is done into FOLDER/committed.
"""

import os
import sys
from pathlib import Path

import pexpect

from botpsy_tui.engine.types import ToolCall
from botpsy_tui.plugin import Context, Outcome, Proposal
from botpsy_tui.tui import run
from tests.agent.fakes import FakeSession, NoteTool
from tests.tui.fakes import FakeHouse


class WrittenDown(NoteTool):
    """Leaves what it has done where another process can read it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        outcome = await super().commit(proposal, context)
        self._path.write_text("\n".join(self.committed))
        return outcome


def open_chat(folder: Path, calls: int = 1, **environment: str) -> "pexpect.spawn[str]":
    """Open the chat in a terminal of 90 by 40."""
    return pexpect.spawn(
        sys.executable,
        ["-m", "tests.tui.in_a_terminal", str(folder), str(calls)],
        cwd=str(Path(__file__).parents[2]),
        env={**os.environ, "TERM": "xterm-256color", "BOTPSY_HOME": str(folder), **environment},
        dimensions=(40, 90),
        encoding="utf-8",
        timeout=30,
    )


def committed(folder: Path) -> list[str]:
    """Return what has been done."""
    path = folder / "committed"
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Open the chat."""
    folder, calls = Path(sys.argv[1]), int(sys.argv[2])
    notes = [ToolCall("write_note", {"text": f"note {number}"}) for number in range(calls)]
    session = FakeSession(notes, "Done.")
    return run(FakeHouse(folder, session, WrittenDown(folder / "committed")))


if __name__ == "__main__":
    sys.exit(main())
