"""What ``botpsy pending`` and ``botpsy outbox`` have in common: listing what waits, and asking about one."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json, say_row

if TYPE_CHECKING:
    from botpsy_tui.application import Application
    from botpsy_tui.journal import CallRecord

Result = TypeVar("Result")


@asynccontextmanager
async def opened() -> "AsyncGenerator[Application, None]":
    """Open the house for one command; ends it with a sentence where that is not possible."""
    from botpsy_tui.application import Application
    from botpsy_tui.config import SettingsProblem
    from botpsy_tui.journal import JournalProblem

    try:
        application = Application.open()
    except (SettingsProblem, JournalProblem) as error:
        stop(str(error))
    try:
        yield application
    except JournalProblem as error:
        stop(str(error))
    finally:
        await application.close()


def run(work: "Callable[[Application], Awaitable[Result]]") -> Result:
    """Do one command's work in an opened house."""

    async def do() -> Result:
        async with opened() as application:
            return await work(application)

    return asyncio.run(do())


def list_calls(calls: "list[CallRecord]", nothing: str, *, as_json: bool) -> None:
    """Show calls that wait, oldest first."""
    if as_json:
        say_json([as_values(call) for call in calls])
        return
    for call in calls:
        say_row(f"{call.number}", f"{call.title} ({call.risk.value}). {standing(call)}", indent=0, width=4)
        for line in call.proposal.preview.lines:
            say_row(line.label, line.value, indent=6, width=10)
    if not calls:
        say(nothing)


def as_values(call: "CallRecord") -> dict[str, Any]:
    """Return a call as JSON values."""
    from dataclasses import asdict

    return {
        "number": call.number,
        "state": call.state.value,
        "since": call.at.isoformat(),
        "until": call.until.isoformat() if call.until else None,
        "reason": call.detail.get("reason", ""),
        "proposal": {**asdict(call.proposal), "digest": call.proposal.digest},
    }


def standing(call: "CallRecord") -> str:
    """Say where a call that waits stands."""
    from botpsy_tui.journal.processes import is_running

    if call.until is None:
        since = f"It waits for your decision since {call.at.astimezone():%a %d %b, %H:%M}."
        return " ".join([since, *filter(None, [str(call.detail.get("reason", ""))])])
    if is_running(call.process):
        return f"It leaves at {call.until.astimezone():%H:%M:%S}."
    return "The run that approved it has ended: it asks again before it leaves."


def decide(number: int, *, at_once: bool) -> None:
    """Ask about a call in the terminal, and do what is decided; `at_once`: it is not held again."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        stop("Only you can decide on a call, in a terminal.", Exit.APPROVAL_NEEDED)

    async def work(application: "Application") -> Exit:
        from datetime import timedelta

        from botpsy_tui.agent.events import CallFailed, CallInvalid
        from botpsy_tui.cli.deciding import TerminalApprover
        from botpsy_tui.cli.outbox import see_off
        from botpsy_tui.cli.reporting import TextReporter

        reporter, failed = TextReporter(with_calls=True), False
        waiting = application.waiting_calls(hold=timedelta(0) if at_once else None)
        async for event in waiting.decide(number, TerminalApprover()):
            reporter.report(event)
            failed = failed or isinstance(event, CallFailed | CallInvalid)
        return await see_off(waiting, Exit.FAILED if failed else Exit.DONE, in_terminal=True)

    code = run(work)
    if code is not Exit.DONE:
        raise typer.Exit(int(code))
