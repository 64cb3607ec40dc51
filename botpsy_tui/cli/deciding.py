"""Who decides on a call when there is no chat: the terminal, a rule for reads, or nobody."""

import signal
import sys
import termios
from collections.abc import Mapping
from typing import Any

from botpsy_tui.approval import Approve, Approver, Decision, Edit, Question, Reject, Stop
from botpsy_tui.attention import Attention
from botpsy_tui.cli.output import say, say_badge, say_row, show_prompt, show_sequences
from botpsy_tui.plugin import Proposal, Risk, for_display_line

_KEYS = "[y]es, once · [e]dit · [n]o · [d]etails · [s]top: "
_RISK_COLOUR = {Risk.READ: "green", Risk.WRITE: "yellow", Risk.SEND: "magenta", Risk.DESTRUCTIVE: "red"}


class ReadsApproved:
    """Lets reads through, as the person has said; asks about all else."""

    def __init__(self, otherwise: Approver) -> None:
        self._otherwise = otherwise

    async def decide(self, question: Question) -> Decision:
        """Approve a read, ask about anything else."""
        if question.proposal.risk is Risk.READ:
            return Approve(question.proposal.digest, by="--approve read")
        return await self._otherwise.decide(question)


class CallsAttention:
    """Calls the person to the terminal while they are asked."""

    def __init__(self, approver: Approver, attention: Attention) -> None:
        self._approver = approver
        self._attention = attention

    async def decide(self, question: Question) -> Decision:
        """Call, ask, and stop calling."""
        show_sequences(self._attention.waiting(looked_at=False))
        try:
            return await self._approver.decide(question)
        finally:
            show_sequences(self._attention.done())


class TerminalApprover:
    """Shows the call on standard error and asks for a letter. Only a plain `y` approves."""

    async def decide(self, question: Question) -> Decision:
        """Ask until there is a decision. End of input is a no that stops."""
        _show(question)
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
                        say("  Type one of y, e, n, d, s.", err=True)
            except EOFError:
                return Stop()


def _show(question: Question) -> None:
    proposal, preview = question.proposal, question.proposal.preview
    say(err=True)
    if question.problem:
        say(f"  That edit can't be taken: {question.problem}", err=True, colour="red")
    say_badge(proposal.risk.value, _RISK_COLOUR[proposal.risk], preview.title)
    width = max((len(for_display_line(line.label)) for line in preview.lines), default=0)
    for line in preview.lines:
        before = f"{line.before} → " if line.before is not None else ""
        say_row(line.label, before + line.value, indent=4, width=width, err=True)
    for warning in preview.warnings:
        say(f"  ! {for_display_line(warning)}", err=True, colour="yellow")
    for reason in question.reasons:
        say(f"  ? {for_display_line(reason)}", err=True, colour="yellow")


def _show_details(proposal: Proposal) -> None:
    rows = [("tool", f"{proposal.tool} (version {proposal.version})"), ("digest", proposal.digest)]
    rows += [(f"argument {name}", str(value)) for name, value in proposal.arguments.items()]
    rows += [(f"payload {name}", str(value)) for name, value in proposal.payload.items()]
    for label, value in rows:
        say_row(label, value, indent=4, err=True)


def _edited(question: Question) -> Mapping[str, Any]:
    """Ask for each argument; Enter keeps it, a single dash empties it."""
    say("    Enter keeps a value, - empties it.", err=True)
    arguments: dict[str, Any] = {}
    for name in question.schema.get("properties", {}):
        value = question.proposal.arguments.get(name)
        shown = "" if value is None else for_display_line(str(value))
        answer = _read_line(f"    {for_display_line(name)} [{shown}]: ").strip()
        if answer not in ("", "-"):
            arguments[name] = answer
        elif value is not None and answer == "":
            arguments[name] = value
    return arguments


def _read_line(prompt: str) -> str:
    """Read a line that was typed after the question was shown; Ctrl+C interrupts at once."""
    show_prompt(f"  {prompt}" if not prompt.startswith(" ") else prompt)
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        line = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, before)
    if not line:
        raise EOFError
    return line
