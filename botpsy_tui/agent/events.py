"""What happens in a turn, as typed events. The chat, the commands and the tests all read these."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from botpsy_tui.approval import Decision
from botpsy_tui.engine.types import PromptProgress, ReasoningDelta, Statistics, TextDelta
from botpsy_tui.plugin import Outcome, Proposal

TurnEnd = Literal["answered", "stopped", "refused", "length", "repeated", "failed"]


@dataclass(frozen=True)
class CallInvalid:
    """The model wrote a call that can't be done; the model is told why."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    problem: str


@dataclass(frozen=True)
class CallProposed:
    """A call is ready to be decided on. After an edit it comes again, with the new proposal."""

    call_id: str
    proposal: Proposal
    schema: Mapping[str, Any]
    number: int = 0
    """The call's number in the journal."""


@dataclass(frozen=True)
class CallDecided:
    """The person (or a rule) has decided."""

    call_id: str
    decision: Decision


@dataclass(frozen=True)
class CallHeld:
    """An approved call waits in the outbox; until then it can be taken back."""

    call_id: str
    number: int
    """The call's number in the journal."""
    until: datetime
    """In UTC."""


@dataclass(frozen=True)
class CallStarted:
    """An approved call is running."""

    call_id: str


@dataclass(frozen=True)
class CallProgress:
    """A running call has told a further piece of text; it may hold text from outside."""

    call_id: str
    text: str


@dataclass(frozen=True)
class CallFinished:
    """An approved call has ended well."""

    call_id: str
    outcome: Outcome


@dataclass(frozen=True)
class CallFailed:
    """An approved call has ended badly. With `unknown`, it may or may not have happened."""

    call_id: str
    problem: str
    unknown: bool = False


@dataclass(frozen=True)
class ContextTrimmed:
    """What is old had to give way in what the model sees; the journal keeps it. Counts of all so far."""

    shortened: int
    """Tool results of which only the first line is left."""
    left: int
    """Older turns that were left out: a message of the person, and all that followed."""


@dataclass(frozen=True)
class StepFinished:
    """The model has finished one step (an answer, or a call)."""

    statistics: Statistics


@dataclass(frozen=True)
class TurnFinished:
    """The turn is over; always the last event.

    - ``answered``: the model said all it had to say
    - ``stopped``: the person ended it
    - ``refused``: a call was pending where nobody could be asked
    - ``length``: the answer reached its length limit
    - ``repeated``: the model made the same call three times, or wrote the same words again and again
    - ``failed``: the model or a tool broke; `problem` says how
    """

    end: TurnEnd
    steps: tuple[Statistics, ...] = ()
    problem: str = ""


Event = (
    TextDelta
    | ReasoningDelta
    | PromptProgress
    | CallInvalid
    | CallProposed
    | CallDecided
    | CallHeld
    | CallStarted
    | CallProgress
    | CallFinished
    | CallFailed
    | ContextTrimmed
    | StepFinished
    | TurnFinished
)
