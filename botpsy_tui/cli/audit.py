"""``botpsy audit``: what was proposed, who decided, and what came of it."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json, say_row
from botpsy_tui.cli.waiting import run

if TYPE_CHECKING:
    from botpsy_tui.journal import AuditEntry


def audit(
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", help="Only this call, with all that is known of it.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Only from that day on.")
    ] = None,
    tool: Annotated[str | None, typer.Option(help="Only calls of this tool.")] = None,
    state: Annotated[
        str | None, typer.Option(help="Only this: approved, rejected, done, failed, unknown, undone …")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as lines of JSON.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Look for entries that were changed.")] = False,
) -> None:
    """Show what was proposed, who decided, and what came of it; the newest at the end.

    What looks like a password, a key or a token is left out.

    Examples: botpsy audit --since 2026-12-01 · botpsy audit 12 · botpsy audit --verify
    """
    from botpsy_tui.journal import CallState

    if verify:
        _verify()
        return
    if state is not None and state not in set(CallState):
        stop(f"There is no state {state}; there are {', '.join(CallState)}.", Exit.USAGE)
    begin = since.astimezone() if since else None  # the person's own midnight
    entries = [
        entry
        for entry in run(lambda application: application.journal.audit(call=number, since=begin))
        if tool in (None, entry.tool) and state in (None, entry.state.value)
    ]
    if number is not None and not entries and not (since or tool or state):
        stop(f"There is no call {number} in the journal.")
    for entry in entries:
        if as_json:
            say_json(entry.as_values())
        else:
            _show(entry, whole=number is not None)
    if not entries and not as_json:
        say("There is nothing on record.")


def _show(entry: "AuditEntry", *, whole: bool) -> None:
    from botpsy_tui.journal import hide_secrets

    what = hide_secrets(entry.in_words())
    say_row(
        f"{entry.at.astimezone():%Y-%m-%d %H:%M:%S}",
        f"call {entry.call}, {entry.title}: {what if whole else what.partition(chr(10))[0][:200]}",
        indent=0,
    )
    if whole and entry.state == "proposed":
        values = entry.as_values()["proposal"]
        for line in values["preview"]["lines"]:
            say_row(line["label"], line["value"], indent=4)
        for kind in ("arguments", "payload", "facts"):
            for name, value in values[kind].items():
                say_row(f"{kind} {name}", str(value), indent=4)


def _verify() -> None:
    from botpsy_tui.application import Application

    async def work(application: Application) -> tuple[list[str], list["AuditEntry"]]:
        problems = await application.journal.verify()
        return problems, [] if problems else await application.journal.audit()

    problems, entries = run(work)
    for problem in problems:
        say(problem, err=True)
    if problems:
        stop("The audit is not as it was written.")
    last = f" The last hash is {entries[-1].hash}." if entries else ""
    say(f"{len(entries)} entries, each as it was written.{last}")
