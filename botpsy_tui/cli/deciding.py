"""Who decides on a call when there is no chat: the terminal, a rule for reads, or nobody."""

import signal
import sys
import termios
from collections.abc import Mapping
from typing import Any

import typer

from botpsy_tui.agent.calls import NobodyToAsk
from botpsy_tui.approval import Approve, Approver, Decision, Edit, Question, Reject, Stop
from botpsy_tui.plugin import Proposal, Risk, for_display

_KEYS = "[y]es, once · [e]dit · [n]o · [d]etails · [s]top: "
_RISK_COLOUR = {Risk.READ: "green", Risk.WRITE: "yellow", Risk.SEND: "magenta", Risk.DESTRUCTIVE: "red"}


class NobodyApprover:
    """Nobody is there to be asked: nothing runs."""

    async def decide(self, question: Question) -> Decision:
        """Refuse."""
        raise NobodyToAsk


class ReadsApproved:
    """Lets reads through, as the person has said; asks about all else."""

    def __init__(self, otherwise: Approver) -> None:
        self._otherwise = otherwise

    async def decide(self, question: Question) -> Decision:
        """Approve a read, ask about anything else."""
        if question.proposal.risk is Risk.READ:
            return Approve(question.proposal.digest, by="--approve read")
        return await self._otherwise.decide(question)


class TerminalApprover:
    """Shows the call on standard error and asks for a letter. Only a plain `y` approves."""

    async def decide(self, question: Question) -> Decision:
        """Ask until there is a decision. End of input is a no that stops."""
        _show(question.proposal, question.problem)
        while True:
            try:
                answer = _read_line(_KEYS).strip().lower()
                match answer:
                    case "y" | "yes":
                        return Approve(question.proposal.digest)
                    case "n" | "no":
                        return Reject(_read_line("Why not? (Enter for no reason) ").strip())
                    case "e" | "edit":
                        return Edit(_edited(question))
                    case "d" | "details":
                        _show_details(question.proposal)
                    case "s" | "stop":
                        return Stop()
                    case _:
                        typer.echo("  Type one of y, e, n, d, s.", err=True)
            except EOFError:
                return Stop()


def _show(proposal: Proposal, problem: str) -> None:
    preview = proposal.preview
    typer.echo(err=True)
    if problem:
        typer.secho(f"  That edit can't be taken: {for_display(problem)}", fg="red", err=True)
    badge = typer.style(f" {proposal.risk.value} ", fg=_RISK_COLOUR[proposal.risk], reverse=True)
    typer.echo(f"  {badge} {for_display(preview.title)}", err=True)
    width = max((len(line.label) for line in preview.lines), default=0)
    for line in preview.lines:
        before = f"{for_display(line.before)} → " if line.before is not None else ""
        indented = for_display(line.value).replace("\n", "\n" + " " * (width + 6))
        typer.echo(f"    {line.label:<{width}}  {before}{indented}", err=True)
    for warning in preview.warnings:
        typer.secho(f"  ! {for_display(warning)}", fg="yellow", err=True)


def _show_details(proposal: Proposal) -> None:
    typer.echo(f"    tool      {proposal.tool} (version {proposal.version})", err=True)
    typer.echo(f"    digest    {proposal.digest}", err=True)
    for kind, values in (("argument", proposal.arguments), ("payload", proposal.payload)):
        for name, value in values.items():
            text = for_display(str(value)).replace("\n", "\n      ")
            typer.echo(f"    {kind} {name}: {text}", err=True)


def _edited(question: Question) -> Mapping[str, Any]:
    """Ask for each argument; Enter keeps it, a single dash empties it."""
    typer.echo("    Enter keeps a value, - empties it.", err=True)
    arguments: dict[str, Any] = {}
    for name in question.schema.get("properties", {}):
        value = question.proposal.arguments.get(name)
        shown = "" if value is None else for_display(str(value))
        answer = _read_line(f"    {name} [{shown}]: ").strip()
        if answer not in ("", "-"):
            arguments[name] = answer
        elif value is not None and answer == "":
            arguments[name] = value
    return arguments


def _read_line(prompt: str) -> str:
    """Read a line that was typed after the question was shown; Ctrl+C interrupts at once."""
    sys.stderr.write(f"  {prompt}" if not prompt.startswith(" ") else prompt)
    sys.stderr.flush()
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    if not line:
        raise EOFError
    return line
