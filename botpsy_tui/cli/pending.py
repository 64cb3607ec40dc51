"""``botpsy pending``: calls that wait for a decision, because nobody could be asked."""

from typing import Annotated

import typer

from botpsy_tui.cli.output import say
from botpsy_tui.cli.waiting import decide, list_calls, run

app = typer.Typer(help="Calls that wait for your decision.", invoke_without_command=True)

Number = Annotated[int, typer.Argument(metavar="N", help="The call's number, as the list shows it.")]


@app.callback()
def pending(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show the calls that wait: those proposed where nobody could be asked, and those that changed since.

    Example: botpsy pending · botpsy pending decide 12
    """
    if context.invoked_subcommand is None:
        calls = run(lambda application: application.waiting.left_behind())
        list_calls(calls, "Nothing waits for you.", as_json=as_json)


@app.command("decide")
def decide_on(number: Number) -> None:
    """Ask about a call, as it is now.

    It is made again from the same words, judged by the rules of today, and what is different from then
    is shown.
    """
    decide(number, at_once=False)


@app.command("reject")
def reject(
    number: Number,
    reason: Annotated[str, typer.Option(help="Why; it is put on record.")] = "",
) -> None:
    """Say no to a call that waits."""
    from botpsy_tui.journal import CallState

    run(
        lambda application: application.journal.record(
            number, CallState.REJECTED, {"reason": reason, "by": "person"}
        )
    )
    say(f"Call {number} is rejected; nothing was done.")
