"""``botpsy undo``: takes back what a call has done."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.waiting import run

if TYPE_CHECKING:
    from botpsy_tui.application import Application


def undo(
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="[N]", help="The call's number, as `botpsy audit` shows it; else the last one."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; only together with a number.")] = False,
) -> None:
    """Take back what a call has done, where that is possible.

    It is shown first. Where somebody has changed the thing since, nothing is done, and the difference is
    shown.

    Examples: botpsy undo · botpsy undo 12
    """
    if yes and number is None:
        stop("--yes needs the number of the call that you mean.", Exit.USAGE)
    in_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    if not (yes or in_terminal):
        stop(
            "Nobody can be asked here: `botpsy undo N --yes` takes back a call that you name.",
            Exit.APPROVAL_NEEDED,
        )

    async def work(application: "Application") -> bool:
        from botpsy_tui.agent.events import CallFinished
        from botpsy_tui.agent.undoing import UndoApproved
        from botpsy_tui.cli.deciding import TerminalApprover
        from botpsy_tui.cli.reporting import TextReporter

        reporter, done = TextReporter(with_calls=True), False
        async for event in application.undoing.undo(number, UndoApproved() if yes else TerminalApprover()):
            reporter.report(event)
            done = done or isinstance(event, CallFinished)
        return done

    if not run(work):
        raise typer.Exit(int(Exit.FAILED))
