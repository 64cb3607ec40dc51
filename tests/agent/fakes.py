"""A model that says what the test tells it to, and a tool that keeps what it was made to do."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from botpsy_tui.approval import Approve, Decision, Question
from botpsy_tui.engine.types import (
    CallWritten,
    Finished,
    ModelInfo,
    Request,
    SessionEvent,
    Statistics,
    StopReason,
    TextDelta,
    ToolCall,
)
from botpsy_tui.plugin import Context, Line, Outcome, Preview, Proposal, Risk, Tool, ToolError, Undo

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))


@dataclass(frozen=True)
class Broken:
    """Text that the model did not end by itself."""

    text: str
    reason: StopReason


Said = str | Broken | ToolCall | Sequence[ToolCall] | Exception


def clock() -> datetime:
    return NOW


class FakeSession:
    """Plays a list of what the model says, one item a step; keeps the requests it was given."""

    info = ModelInfo("fake", "none", "Q0", 4096, "hermes", calls_tools=True)

    def __init__(self, *said: Said) -> None:
        self._said = list(said)
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[SessionEvent]:
        self.requests.append(request)
        said = self._said.pop(0)
        if isinstance(said, Exception):
            raise said
        reason: StopReason = "end"
        if isinstance(said, Broken):
            said, reason = said.text, said.reason
        if isinstance(said, str):
            for word in said.split(" "):
                yield TextDelta(word + " ")
        else:
            for call in [said] if isinstance(said, ToolCall) else said:
                yield CallWritten(call)
        yield Finished(reason, Statistics(prompt_tokens=10, decoded_tokens=5, generated_tokens=3))

    async def count(self, request: Request) -> int:
        return sum(8 + len(m.content) // 4 for m in request.messages)

    async def prepare(self, request: Request) -> Statistics:
        return Statistics()

    async def close(self) -> None:
        pass


class NoteArguments(BaseModel):
    text: str
    loud: bool | None = None


@dataclass
class NoteTool(Tool[NoteArguments]):
    """Writes a note; can be told to break."""

    name = "write_note"
    description = "Write a note."
    arguments = NoteArguments
    risk: Risk = Risk.WRITE
    committed: list[str] = field(default_factory=list)
    breaks: Exception | None = None
    complete: bool = False
    before_commit: Callable[[], object] = lambda: None

    async def propose(self, arguments: NoteArguments, context: Context) -> Proposal:
        if not arguments.text:
            raise ToolError("The note is empty; say what to write.")
        return self.propose_with(
            arguments,
            risk=self.risk,
            preview=Preview("Write a note", (Line("Text", arguments.text),)),
            payload={"text": arguments.text},
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        self.before_commit()
        if self.breaks:
            raise self.breaks
        self.committed.append(str(proposal.payload["text"]))
        return Outcome("Noted.", "Noted.", Undo("Tear it out"), complete=self.complete)


class ScriptedApprover:
    """Decides by a list: a decision, or what makes one of the question."""

    def __init__(self, *decisions: Decision | Callable[[Question], Decision]) -> None:
        self._decisions = list(decisions)
        self.questions: list[Question] = []

    async def decide(self, question: Question) -> Decision:
        self.questions.append(question)
        decision = self._decisions.pop(0)
        return decision(question) if callable(decision) else decision


def yes(question: Question) -> Decision:
    return Approve(question.proposal.digest)
