"""Prints a turn's events: as an answer to read, or as lines of JSON."""

import re
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, Protocol

from botpsy_tui.agent.events import (
    CallDecided,
    CallFailed,
    CallFinished,
    CallHeld,
    CallInvalid,
    CallProgress,
    CallProposed,
    Event,
    TurnFinished,
)
from botpsy_tui.approval import Approve
from botpsy_tui.cli.output import Stream, say, say_json
from botpsy_tui.engine.types import PromptProgress, ReasoningDelta, TextDelta
from botpsy_tui.plugin import Proposal, for_display

_ENDS = {
    "stopped": "Stopped.",
    "refused": "A call needs your approval, and nobody can be asked here: nothing was done.",
    "length": "The answer was cut off at its length limit.",
    "repeated": "Stopped: the model went round in circles.",
    "failed": "It did not work.",
}


class Reporter(Protocol):
    """Takes each event of a turn as it happens."""

    def report(self, event: Event) -> None:
        """Show one event."""
        ...


class TextReporter:
    """The answer on standard output; calls and their ends on standard error."""

    def __init__(self, *, with_calls: bool) -> None:
        self._with_calls = with_calls
        self._answer = Stream()
        self._pending: CallProposed | None = None
        self._told = ""
        self._streamed = False

    def report(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextDelta(text):
                self._answer.write(text)
                return
            case PromptProgress() | ReasoningDelta():
                return
            case _:
                self._answer.end()
        match event:
            case CallProposed():
                self._pending = event
            case CallInvalid(tool=tool, problem=problem):
                self._note(f"✗ {tool}: {problem}")
            case CallDecided(decision=Approve(by=by)) if by != "person" and self._pending:
                self._note(f"✓ {self._pending.proposal.preview.title} (let through: {by})")
            case CallProgress(text=text):
                *whole, self._told = (self._told + text).split("\n")
                self._streamed = True
                for line in whole:
                    self._note(line)
            case CallFinished(outcome=outcome) if self._streamed:
                if self._told:
                    self._note(self._told)
                self._note(outcome.view.split("\n", 1)[0])
                self._told, self._streamed = "", False
            case CallFinished(outcome=outcome) if not outcome.complete:
                self._note(outcome.view)
            case CallHeld(number=number, until=until):
                at = f"{until.astimezone():%H:%M:%S}"
                self._note(f"✓ Approved; call {number} waits in the outbox and leaves at {at}.")
            case CallFailed(problem=problem, unknown=unknown):
                self._note(
                    f"✗ {problem}" + (" It may have happened: look before you try again." if unknown else "")
                )
            case TurnFinished(end=end, problem=problem) if end != "answered":
                say(f"botpsy: {problem or _ENDS[end]}", err=True)
                if end == "refused" and self._pending:
                    say_json(pending_call(self._pending))
                    say(f"botpsy: `botpsy pending decide {self._pending.number}` asks you later.", err=True)
            case _:
                pass

    def _note(self, text: str) -> None:
        if self._with_calls:
            say("\n".join(f"  {line}" for line in for_display(text).split("\n")), err=True)


class JsonReporter:
    """Every event as one line of JSON on standard output."""

    def report(self, event: Event) -> None:
        """Show one event."""
        say_json(event_as_json(event))


def pending_call(event: CallProposed) -> dict[str, Any]:
    """Return a call that waits for a decision, for a program to read."""
    return {
        "event": "pending_call",
        "call_id": event.call_id,
        "number": event.number,
        "proposal": _proposal(event.proposal),
    }


def event_as_json(event: Event) -> dict[str, Any]:
    """Return an event as JSON values: its name in snake case, and its fields."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()
    fields: dict[str, Any] = {}
    for key in event.__dataclass_fields__:
        value = getattr(event, key)
        if isinstance(value, Proposal):
            fields[key] = _proposal(value)
        elif isinstance(event, CallDecided) and key == "decision":
            fields[key] = {"kind": type(value).__name__.lower(), **asdict(value)}
        elif isinstance(value, datetime):
            fields[key] = value.isoformat()
        elif is_dataclass(value) and not isinstance(value, type):
            fields[key] = asdict(value)
        elif isinstance(value, tuple):
            fields[key] = [asdict(v) if is_dataclass(v) else v for v in value]  # pyright: ignore
        else:
            fields[key] = value
    return {"event": name, **fields}


def _proposal(proposal: Proposal) -> dict[str, Any]:
    return {**asdict(proposal), "digest": proposal.digest}
