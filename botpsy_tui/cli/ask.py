"""``botpsy ask``: one question, one answer, on the same loop as the chat."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say

if TYPE_CHECKING:
    from botpsy_tui.agent.events import Event, TurnEnd
    from botpsy_tui.cli.reporting import Reporter

Approvable = Literal["read"]


def ask(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="What to ask. Left out, or `-`: standard input.", metavar="WORDS…"),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="MODEL", help="The model to ask, such as starter.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every event as a line of JSON.")] = False,
    approve: Annotated[
        Approvable | None, typer.Option(help="Let calls of this risk run without asking: only read can be.")
    ] = None,
) -> None:
    """Ask once and print the answer.

    In a terminal each call is shown and you decide on it there. Without one nothing is run: the
    pending call is printed as JSON, and the exit code is 3.

    Examples: botpsy ask "What's on tomorrow?" · botpsy ask --approve read --json "Am I free on Friday?"
    """
    text = _text_of(words)
    try:
        code = asyncio.run(_ask(text, model, as_json, approve))
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    raise typer.Exit(int(code))


def _text_of(words: list[str] | None) -> str:
    if words and words != ["-"]:
        text = " ".join(words)
    elif words is None and sys.stdin.isatty():
        stop(
            'There is nothing to ask: write it behind the command, as in `botpsy ask "What\'s on today?"`.',
            Exit.USAGE,
        )
    else:
        text = sys.stdin.read()
    if not text.strip():
        stop("There is nothing to ask: the words are empty.", Exit.USAGE)
    return text.strip()


async def _ask(text: str, model: str | None, as_json: bool, approve: Approvable | None) -> Exit:
    from botpsy_tui.agent.waiting import Nobody
    from botpsy_tui.application import Application
    from botpsy_tui.attention import Attention
    from botpsy_tui.cli.deciding import CallsAttention, ReadsApproved, TerminalApprover
    from botpsy_tui.cli.model import ensure_model
    from botpsy_tui.cli.outbox import see_off
    from botpsy_tui.cli.reporting import JsonReporter, TextReporter
    from botpsy_tui.config import SettingsProblem
    from botpsy_tui.engine.types import EngineError
    from botpsy_tui.journal import JournalProblem
    from botpsy_tui.models import ModelProblem

    in_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    try:
        application = Application.open()
    except (SettingsProblem, JournalProblem) as error:
        stop(str(error), Exit.FAILED)
    if model is not None or not application.elsewhere:
        application.model = ensure_model(model, interactive=in_terminal)
    for notice in [*application.notices, *await application.interrupted_calls()]:
        say(f"botpsy: {notice}", err=True)
    attention = Attention(application.settings.notice, os.environ)
    approver = CallsAttention(TerminalApprover(), attention) if in_terminal else Nobody()
    if approve == "read":
        approver = ReadsApproved(approver)
    reporter = JsonReporter() if as_json else TextReporter(with_calls=in_terminal)
    try:
        session = await application.load_session()
        try:
            assistant = application.new_assistant(session, approver)
            code = await answer(assistant.turn(text), reporter)
            return await see_off(application.waiting, code, in_terminal=in_terminal)
        finally:
            await session.close()
    except (EngineError, ModelProblem) as error:
        stop(str(error), Exit.NO_MODEL)
    finally:
        await application.close()


async def answer(events: "AsyncGenerator[Event, None]", reporter: "Reporter") -> Exit:
    """Report the events of a turn as they come; return the exit code that it ends with."""
    from botpsy_tui.agent.events import CallFailed, TurnFinished

    failed = False
    end: TurnEnd = "failed"
    async for event in events:
        reporter.report(event)
        failed = failed or isinstance(event, CallFailed)
        if isinstance(event, TurnFinished):
            end = event.end
    if end == "refused":
        return Exit.APPROVAL_NEEDED
    if end == "stopped":
        return Exit.INTERRUPTED
    return Exit.DONE if end == "answered" and not failed else Exit.FAILED
