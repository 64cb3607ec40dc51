"""Shows a turn as it happens: each event of the assistant changes the log or the status line."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from botpsy_tui.agent.events import (
    CallDecided,
    CallFailed,
    CallFinished,
    CallHeld,
    CallInvalid,
    CallProgress,
    CallProposed,
    CallStarted,
    ContextTrimmed,
    Event,
    StepFinished,
    TurnFinished,
)
from botpsy_tui.approval import Approve, Decision, Edit, Reject
from botpsy_tui.engine.types import PromptProgress, ReasoningDelta, TextDelta
from botpsy_tui.plugin import Proposal
from botpsy_tui.tui.ports import Assistant
from botpsy_tui.tui.widgets.card import CallCard
from botpsy_tui.tui.widgets.log import ConversationLog
from botpsy_tui.tui.widgets.messages import AnswerMessage, Notice, Reasoning, sentence_of
from botpsy_tui.tui.widgets.status import StatusLine

_ENDS = {
    "stopped": "Stopped.",
    "refused": "A call could not be decided on, so nothing was done.",
    "length": "The answer was cut off at its length limit.",
    "repeated": "Stopped: the model went round in circles.",
    "failed": "That did not work.",
}


class Conversation:
    """One conversation on the screen."""

    def __init__(self, assistant: Assistant, log: ConversationLog, status: StatusLine) -> None:
        self._assistant = assistant
        self._log = log
        self._status = status
        self._cards: dict[str, CallCard] = {}
        self._by: dict[str, str] = {}
        """Of each call, who approved it in the person's place."""
        self._answer: AnswerMessage | None = None
        self._reasoning: Reasoning | None = None
        self._stopping: asyncio.Event | None = None
        self.running = False
        self.last_answer = ""

    async def prepare(self) -> None:
        """Have the model read the constant part of the prompt."""
        try:
            await self._assistant.prepare()
        except Exception as error:  # noqa: BLE001 - shown, and the first turn will say it again
            await self._log.add(Notice(sentence_of(error), error=True))

    async def answer(self, words: str) -> None:
        """Run one turn, to its end."""
        await self._follow(self._assistant.turn(words))

    async def decide_later(self, events: AsyncGenerator[Event, None], stopping: asyncio.Event) -> None:
        """Show how a call that has waited is decided on; `stopping` is set where the person stops it."""
        self._stopping = stopping
        try:
            await self._follow(events)
        finally:
            self._stopping = None

    async def _follow(self, turn: AsyncGenerator[Event, None]) -> None:
        self.running = True
        self._cards.clear()
        self._by.clear()
        self._status.state = "thinking …"
        try:
            async with aclosing(turn) as events:
                async for event in events:
                    await self._show(event)
        except Exception as error:  # noqa: BLE001 - whatever broke, the chat goes on, with one sentence
            await self._end_answer()
            await self._log.add(Notice(sentence_of(error), error=True))
        finally:
            for card in self._cards.values():
                if card.waits:
                    card.withdraw()
            await self._end_answer()
            self.running = False
            self._status.state = "ready"

    async def settle(self) -> None:
        """Between two turns, have the assistant make room and read ahead."""
        trimmed = await self._assistant.settle()
        if trimmed is not None:
            self._status.show_trimmed(trimmed.left)

    def stop(self) -> None:
        """End the running turn; a call that waits does not run."""
        if self._stopping is not None:
            self._stopping.set()
        elif self.running:
            self._assistant.stop()

    async def card(self, call_id: str, proposal: Proposal) -> CallCard:
        """Return the card of a call, made where there is none yet."""
        if call_id not in self._cards:
            await self._end_answer()
            self._cards[call_id] = CallCard(call_id, proposal)
            await self._log.add(self._cards[call_id])
        return self._cards[call_id]

    def withdraw(self, call_id: str) -> None:
        """Show that a call will not run."""
        if call_id in self._cards:
            self._cards[call_id].withdraw()

    async def _show(self, event: Event) -> None:
        match event:
            case TextDelta(text):
                await self._say(text)
            case ReasoningDelta(text):
                await self._reason(text)
            case PromptProgress(done, total):
                self._status.state = f"reading {done}/{total}"
            case CallInvalid(tool=tool, problem=problem):
                await self._end_answer()
                await self._log.add(Notice(f"{tool} could not be used: {problem}"))
            case CallProposed(call_id=call_id, proposal=proposal):
                (await self.card(call_id, proposal)).propose(proposal)
            case CallDecided(call_id=call_id, decision=decision):
                self._cards[call_id].show_state(_said(decision))
                self._by[call_id] = f", {_said(decision)}" if _without_asking(decision) else ""
            case CallHeld(call_id=call_id, number=number, until=until):
                self._cards[call_id].hold(number, until)
            case CallStarted(call_id=call_id):
                self._cards[call_id].show_state("running …")
                self._status.state = "running a call …"
            case CallProgress(call_id=call_id, text=text):
                self._cards[call_id].show_progress(text)
            case CallFinished(call_id=call_id, outcome=outcome):
                self._cards[call_id].show_state(
                    f"✓ done{self._by[call_id]}", "" if outcome.complete else outcome.view
                )
            case CallFailed(call_id=call_id, problem=problem, unknown=unknown):
                state = "? it is not known whether this happened" if unknown else "✗ failed"
                self._cards[call_id].show_state(state, problem)
            case ContextTrimmed(left=left):
                self._status.show_trimmed(left)
            case StepFinished(statistics):
                self._status.show_statistics(statistics)
                self._status.state = "thinking …"
            case TurnFinished(end=end, problem=problem):
                await self._end_answer()
                if end != "answered":
                    await self._log.add(Notice(problem or _ENDS[end], error=end == "failed"))
        self._log.follow()

    async def _say(self, text: str) -> None:
        if self._answer is None:
            self._answer = AnswerMessage()
            await self._log.add(self._answer)
            self._status.state = "answering …"
        await self._answer.add(text)

    async def _reason(self, text: str) -> None:
        if self._reasoning is None:
            self._reasoning = Reasoning()
            await self._log.add(self._reasoning)
        self._reasoning.add(text)

    async def _end_answer(self) -> None:
        self._reasoning = None
        if self._answer is not None:
            answer, self._answer = self._answer, None
            self.last_answer = answer.text.strip()
            await answer.freeze()


def _without_asking(decision: Decision) -> bool:
    return isinstance(decision, Approve) and decision.by != "person"


def _said(decision: Decision) -> str:
    match decision:
        case Approve(by="person"):
            return "approved"
        case Approve(by=by):
            return f"approved by {by}"
        case Edit():
            return "edited"
        case Reject(reason):
            return f"rejected: {reason}" if reason else "rejected"
        case _:
            return "not run"
