"""What the chat needs of the rest of the house, and nothing more."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from botpsy_tui.agent.events import ContextTrimmed, Event
from botpsy_tui.agent.undoing import Undoing
from botpsy_tui.agent.waiting import WaitingCalls
from botpsy_tui.approval import Approver
from botpsy_tui.approval.permissions import Permissions
from botpsy_tui.approval.policy import Rule
from botpsy_tui.config import NoticeSettings
from botpsy_tui.engine.types import Session
from botpsy_tui.journal import AuditEntry


class Assistant(Protocol):
    """One conversation."""

    def turn(self, words: str) -> AsyncGenerator[Event, None]:
        """Answer `words`; the last event is `TurnFinished`."""
        ...

    def stop(self) -> None:
        """End the running turn at once."""
        ...

    async def prepare(self) -> None:
        """Read the constant part of the prompt ahead of need."""
        ...

    async def settle(self) -> ContextTrimmed | None:
        """Make room and read ahead between two turns; the next turn ends it."""
        ...


@dataclass(frozen=True)
class ModelOption:
    """A model that a first start can take."""

    spec: str
    title: str
    description: str
    recommended: bool = False


class House(Protocol):
    """Settings, tools and models, put together."""

    @property
    def notice_settings(self) -> NoticeSettings:
        """How the person is called while a call waits."""
        ...

    @property
    def notices(self) -> Sequence[str]:
        """Problems found at the start, a sentence each."""
        ...

    async def interrupted_calls(self) -> Sequence[str]:
        """Return a sentence for each call that a crash left half-way."""
        ...

    def installed_model(self) -> str | None:
        """Return the name of the model that `load_session` would load, or None."""
        ...

    def model_options(self) -> Sequence[ModelOption]:
        """Return what a first start can choose from. May ask the network: call it in a thread."""
        ...

    async def pull_model(self, spec: str, on_progress: Callable[[str, int, int], None]) -> None:
        """Fetch a model: `on_progress(stage, bytes done, bytes in all)`, from any thread."""
        ...

    async def load_session(self) -> Session:
        """Load the model; raises with one sentence where that is impossible."""
        ...

    def new_assistant(self, session: Session, approver: Approver) -> Assistant:
        """Begin a conversation."""
        ...

    @property
    def waiting(self) -> WaitingCalls:
        """The calls that wait: in the outbox, or for a decision."""
        ...

    @property
    def undoing(self) -> Undoing:
        """Takes back what was done."""
        ...

    async def audit(self, most: int) -> Sequence[AuditEntry]:
        """Return the last entries of the audit, oldest first."""
        ...

    async def permissions(self) -> Permissions:
        """Read the rules in force, and what they decided lately."""
        ...

    async def revoke_rule(self, rule_id: str) -> Rule:
        """Take a rule back; return it. Raises with one sentence where that is impossible."""
        ...

    async def close(self) -> None:
        """Release everything."""
        ...
