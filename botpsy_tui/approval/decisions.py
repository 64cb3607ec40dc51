"""What a person can decide about a proposed call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from botpsy_tui.plugin import Proposal


@dataclass(frozen=True)
class Approve:
    """Yes, once, to the proposal with this digest and no other."""

    digest: str
    by: str = "person"
    """Who decided: the person, or the rule's own words."""
    rule: str = ""
    """The id of the rule that decided, if one did."""


@dataclass(frozen=True)
class Edit:
    """Other arguments: a new proposal is made from them, and asked about again."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Reject:
    """No; the reason, if any, goes back to the model."""

    reason: str = ""
    rule: str = ""
    """The id of the rule that decided, if one did."""


@dataclass(frozen=True)
class Stop:
    """No, and end the whole turn."""


Decision = Approve | Edit | Reject | Stop


@dataclass(frozen=True)
class Question:
    """What the person is asked: a call's id in the turn and its proposal."""

    call_id: str
    proposal: Proposal
    schema: Mapping[str, Any]
    """JSON schema of the tool's arguments, for the edit form."""
    problem: str = ""
    """Why the person's last edit could not be taken, if it could not."""
    because: str = ""
    """Why it is asked, where that is not plain: a rule, a repetition, something that has changed."""
    sources: tuple[str, ...] = ()
    """Whose words, from outside, the conversation holds."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences on why it is asked, for the person: names in them are from outside."""
        strangers = f"This conversation holds words of others: {', '.join(self.sources)}."
        return (*([self.because] if self.because else ()), *([strangers] if self.sources else ()))


class Approver(Protocol):
    """Someone who decides: the chat's card, the command line's prompt, a test's script."""

    async def decide(self, question: Question) -> Decision:
        """Wait for a decision. Cancelling the wait decides nothing: the call does not run."""
        ...
