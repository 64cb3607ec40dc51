"""``botpsy outbox``: what was approved and has not left yet; and the count-down in a terminal."""

import asyncio
import sys
import termios
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from botpsy_tui.cli.exits import Exit
from botpsy_tui.cli.output import rewrite_line, say
from botpsy_tui.cli.waiting import decide, list_calls, run

if TYPE_CHECKING:
    from botpsy_tui.agent.waiting import Left, WaitingCalls
    from botpsy_tui.journal import CallRecord

app = typer.Typer(help="What was approved and has not left yet.", invoke_without_command=True)

Number = Annotated[int, typer.Argument(metavar="N", help="The call's number, as the list shows it.")]


@app.callback()
def outbox(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Show what is in the outbox, and when it leaves.

    What a run that ended has left there does not leave by itself: it asks again.

    Example: botpsy outbox · botpsy outbox cancel 12
    """
    if context.invoked_subcommand is None:
        calls = run(lambda application: application.waiting.outbox())
        list_calls(calls, "The outbox is empty.", as_json=as_json)


@app.command("cancel")
def cancel(number: Number) -> None:
    """Take a call out of the outbox: it is not done."""
    run(lambda application: application.waiting.take_back(number))
    say(f"Call {number} is taken back; nothing was sent.")


@app.command("release")
def release(number: Number) -> None:
    """Have a call leave now: it is shown as it is now, and you are asked once more."""
    decide(number, at_once=True)


async def see_off(waiting: "WaitingCalls", code: Exit, *, in_terminal: bool) -> Exit:
    """Count down what this run has put into the outbox, and have it leave; else leave it there, and say so.

    Returns the exit code: `code`, where all has left or was taken back.
    """
    for call in await waiting.mine():
        if not in_terminal:
            say(f"botpsy: `botpsy outbox release {call.number}` has it leave the outbox.", err=True)
            code = Exit.APPROVAL_NEEDED
            continue
        stays = f"\n  It stays in the outbox: `botpsy outbox release {call.number}` has it leave."
        try:
            wish = await _counted_down(call)
        except asyncio.CancelledError:
            say(stays, err=True)
            raise
        if wish == "stay":
            say(stays, err=True)
            code = Exit.APPROVAL_NEEDED
        elif wish == "take back":
            await waiting.take_back(call.number)
            say("  Taken back: nothing was sent.", err=True)
        else:
            left = await waiting.release(call.number)
            say(f"  {in_words(left)}", err=True)
            code = code if left.state == "done" else Exit.FAILED
    return code


def in_words(left: "Left") -> str:
    """Say what became of a call that was in the outbox."""
    from botpsy_tui.journal import CallState

    match left.state:
        case CallState.DONE:
            return left.text
        case CallState.PENDING:
            return f"It has not left. {left.text} `botpsy pending decide {left.number}` asks again."
        case CallState.UNKNOWN:
            return f"? {left.text} It may have happened: look before you try again."
        case _:
            return f"✗ {left.text}"


async def _counted_down(call: "CallRecord") -> Literal["leave", "take back", "stay"]:
    """Wait until a call leaves, or the person says something else; a closed terminal says nothing."""
    until = call.until or datetime.now(UTC)
    loop, typed = asyncio.get_running_loop(), asyncio.Event()
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    loop.add_reader(sys.stdin, typed.set)
    try:
        while (rest := (until - datetime.now(UTC)).total_seconds()) > 0:
            rewrite_line(
                f"  “{call.title}” leaves in {rest:.0f} s. u: take it back · Enter: send now · "
                "Ctrl+C: leave it in the outbox "
            )
            try:
                await asyncio.wait_for(typed.wait(), min(1.0, rest))
            except TimeoutError:
                continue
            typed.clear()
            line = sys.stdin.readline()
            if not line:
                return "stay"
            if line.strip().lower() in ("u", ""):
                return "take back" if line.strip() else "leave"
    finally:
        loop.remove_reader(sys.stdin)
    say(err=True)
    return "leave"
