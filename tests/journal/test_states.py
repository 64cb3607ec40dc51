"""Where a call stands: it moves one way only, whoever has the journal open; a run that ended is noticed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from botpsy_tui.journal import CallMoved, CallState, Journal, JournalProblem
from botpsy_tui.journal.processes import is_running, this_process
from botpsy_tui.journal.states import may_follow
from botpsy_tui.plugin import Outcome
from tests.journal.world import WAY, call_in, journal_in, proposal

ENDED = frozenset(
    [CallState.REJECTED, CallState.REPLACED, CallState.CANCELLED, CallState.FAILED, CallState.UNDONE]
)


@pytest.mark.parametrize("state", [state for state in WAY if state is not CallState.PROPOSED])
async def test_a_call_goes_only_where_it_may_and_is_else_as_it_was(
    journal: Journal, state: CallState
) -> None:
    number = await call_in(journal, state)
    for wanted in CallState:
        if not may_follow(state, wanted):
            with pytest.raises(CallMoved, match=f"Call {number} "):
                await journal.record(number, wanted)
    assert (await journal.call(number)).state is state
    assert await journal.verify() == []


def test_what_has_ended_never_begins_again() -> None:
    for before in CallState:
        for after in (CallState.STARTED, CallState.APPROVED, CallState.HELD, CallState.PENDING):
            if before in ENDED or before in (CallState.DONE, CallState.UNKNOWN):
                assert not may_follow(before, after)


async def test_two_that_decide_at_once_do_not_both_begin(tmp_path: Path, journal: Journal) -> None:
    other = journal_in(tmp_path)
    number = await call_in(journal, CallState.HELD)
    await other.record(number, CallState.CANCELLED)
    with pytest.raises(CallMoved, match="was cancelled; nothing was done now"):
        await journal.record(number, CallState.STARTED)
    other.close()


async def test_a_call_is_undone_once(journal: Journal) -> None:
    done = await call_in(journal, CallState.DONE)
    undoing: list[int] = []
    for _ in range(2):
        undoing.append(await journal.propose(1, "undo", proposal(), undoes=done))
        await journal.record(undoing[-1], CallState.APPROVED)
    await journal.record(undoing[0], CallState.STARTED)
    with pytest.raises(CallMoved):
        await journal.record(undoing[1], CallState.STARTED)
    await journal.finish(undoing[0], Outcome("Undone.", "Undone."))
    with pytest.raises(CallMoved, match="was undone"):
        await journal.record(undoing[1], CallState.STARTED)
    assert (await journal.call(done)).state is CallState.UNDONE
    assert (await journal.call(done)).detail == {"by": undoing[0]}
    assert await journal.undoable() is None


async def test_a_number_that_is_not_there_is_said(journal: Journal) -> None:
    for ask in (journal.call(7), journal.conversation(7), journal.record(7, CallState.STARTED)):
        with pytest.raises(JournalProblem, match=r"There is no .* 7 in the journal"):
            await ask


WAITS = """
import asyncio, sys
from pathlib import Path
from botpsy_tui.journal import CallState
from tests.journal.world import call_in, journal_in

async def main():
    journal = journal_in(Path(sys.argv[1]))
    for state in ("proposed", "approved", "started", "held", "pending"):
        await call_in(journal, CallState(state))
    print("there", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


async def test_what_another_run_is_doing_is_left_to_it_until_it_has_ended(
    tmp_path: Path, journal: Journal
) -> None:
    other = subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", WAITS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "there\n"
    assert await journal.unfinished() == []
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert [call.number for call in await journal.unfinished()] == [3]
    assert [call.state for call in await journal.calls()] == [
        CallState.CANCELLED,
        CallState.CANCELLED,
        CallState.UNKNOWN,
        CallState.HELD,
        CallState.PENDING,
    ]
    assert await journal.unfinished() == [], "it is told once"


def test_a_process_is_known_by_more_than_its_number() -> None:
    boot, number, started = this_process().split("/")
    assert is_running(this_process())
    assert not is_running(f"{boot}/{number}/1{started}"), "the number was given to another"
    assert not is_running(f"another-boot/{number}/{started}")
    assert not is_running(f"{boot}/99999999/{started}")
    for nonsense in ("", "/", "//", f"{boot}/x/y", f"{boot}/{number}/"):
        assert not is_running(nonsense)
