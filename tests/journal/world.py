"""What the journal's tests have in common: a journal, a proposal, and calls brought to a state."""

from pathlib import Path
from typing import Any

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.events import Event
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import CallRequest, CallState, Journal
from botpsy_tui.plugin import Line, Outcome, Preview, Proposal, Risk, Undo
from tests.agent.fakes import NOW, FakeSession, NoteTool, ScriptedApprover, clock

MILK = ToolCall("write_note", {"text": "milk"})
WAY: dict[CallState, tuple[CallState, ...]] = {
    CallState.PROPOSED: (),
    CallState.PENDING: (CallState.PENDING,),
    CallState.REJECTED: (CallState.REJECTED,),
    CallState.APPROVED: (CallState.APPROVED,),
    CallState.HELD: (CallState.APPROVED, CallState.HELD),
    CallState.STARTED: (CallState.APPROVED, CallState.STARTED),
    CallState.FAILED: (CallState.APPROVED, CallState.STARTED, CallState.FAILED),
    CallState.DONE: (CallState.APPROVED, CallState.STARTED, CallState.DONE),
}


def journal_in(folder: Path) -> Journal:
    return Journal(folder / "journal.sqlite")


def proposal(text: str = "milk", **other: Any) -> Proposal:
    return Proposal(
        "write_note", "1", Risk.WRITE, Preview("Write a note", (Line("Text", text),)),
        {"text": text}, {"text": text}, {"words": [text]}, **other,
    )  # fmt: skip


def request(text: str = "milk") -> CallRequest:
    return CallRequest({"text": text}, f"Note {text}", "key", NOW)


async def call_in(journal: Journal, state: CallState, text: str = "milk") -> int:
    """Bring a call of a new conversation to a state; return its number."""
    conversation = await journal.begin_conversation("fake")
    number = await journal.propose(conversation, "call-1", proposal(text), request(text))
    for step in WAY[state]:
        if step is CallState.DONE:
            await journal.finish(number, Outcome("Noted.", "Noted.", Undo("Tear it out", {"page": 1})))
        else:
            await journal.record(number, step, {"by": "person"})
    return number


def assistant(journal: Journal, session: FakeSession, *decisions: Any, **other: Any) -> Assistant:
    tools = other.pop("tools", [NoteTool()])
    return Assistant(
        session=session,
        tools=tools,
        approver=ScriptedApprover(*decisions),
        journal=journal,
        clock=clock,
        **other,
    )


async def events_of(talk: Assistant, words: str = "Note milk") -> list[Event]:
    return [event async for event in talk.turn(words)]
