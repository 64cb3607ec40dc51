"""The loop: a person's words in, typed events out, until the model has nothing left to do."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from botpsy_tui.agent.calls import HOLD, Call, CallRunner, CallVerdict
from botpsy_tui.agent.events import CallInvalid, ContextTrimmed, Event, StepFinished, TurnEnd, TurnFinished
from botpsy_tui.agent.prompt import SYSTEM_PROMPT, schema_of, stamped
from botpsy_tui.agent.window import ConversationWindow
from botpsy_tui.approval import Approver, Judge
from botpsy_tui.engine.repetition import without_loop
from botpsy_tui.engine.types import (
    CallWritten,
    EngineError,
    Finished,
    Message,
    ReasoningDelta,
    Request,
    Role,
    Sampling,
    Session,
    Statistics,
    TextDelta,
    Thinking,
    ToolCall,
)
from botpsy_tui.journal import Journal, JournalProblem, PastConversation
from botpsy_tui.plugin import Clock, Context, References, Tool, for_model

_COMING = Message("user", "(What the person says next.)")
"""Stands where the next message will, so that all before it can be read ahead."""
_MOST_STEPS = 8
_MOST_MISTAKES = 2
_SAME_CALL_LIMIT = 3


class Assistant:
    """One conversation with a model that has tools. One turn at a time."""

    def __init__(
        self,
        *,
        session: Session,
        tools: Sequence[Tool[Any]],
        approver: Approver,
        journal: Journal,
        clock: Clock,
        sampling: Sampling | None = None,
        thinking: Thinking = "auto",
        reasoning_tokens: int = 512,
        policy_path: Path | None = None,
        hold: timedelta = HOLD,
        resumed: PastConversation | None = None,
    ) -> None:
        """Begin a conversation, or go on with `resumed`: with its words, its ids, and its taint.

        `hold`: how long an approved call waits in the outbox, where it is one that is held.
        """
        self._session = session
        self._judge = Judge(policy_path, journal.uses, clock)
        tools = self._judge.shown_to_model(tools)
        self._schemas = [schema_of(tool) for tool in tools]
        self._journal = journal
        self._clock = clock
        self._sampling = sampling
        self._thinking: Thinking = thinking
        self._reasoning_tokens = reasoning_tokens
        self._references = References(resumed.shown_ids if resumed else None)
        self._recorded_ids = self._references.as_dict()
        self._judge.taint(resumed.sources if resumed else ())
        self._recorded_sources = self._judge.sources
        self._window = ConversationWindow(
            Message("system", SYSTEM_PROMPT),
            session.info.context_size,
            lambda messages: session.count(self._request(messages, "")),
        )
        self._settling: asyncio.Task[None] | None = None
        self._untold: ContextTrimmed | None = None
        self._conversation = resumed.number if resumed else None
        self._window.messages += _messages_of(resumed) if resumed else []
        self._calls = CallRunner({tool.name: tool for tool in tools}, approver, self._judge, journal, hold)
        self._stopping = asyncio.Event()

    @property
    def messages(self) -> Sequence[Message]:
        """What the model sees of the conversation so far, the system prompt first."""
        return tuple(self._window.messages)

    async def prepare(self) -> None:
        """Have the model read the constant part of the prompt ahead of the first message."""
        await self._session.prepare(self._request([*self._window.messages, _COMING], ""))

    async def settle(self) -> ContextTrimmed | None:
        """Between two turns: make room where little is left, and have the model read what it can ahead.

        The next turn ends it at once.
        """
        self._settling = asyncio.ensure_future(self._settle())
        try:
            await asyncio.wait({self._settling})
        finally:
            self._settling.cancel()
        return self._told()

    async def _settle(self) -> None:
        with contextlib.suppress(EngineError):  # the next turn will say it
            self._untold = await self._window.make_room_ahead(_COMING) or self._untold
            await self.prepare()

    def _told(self) -> ContextTrimmed | None:
        trimmed, self._untold = self._untold, None
        return trimmed

    def stop(self) -> None:
        """End the running turn at once; a call that waits for a decision does not run."""
        self._stopping.set()

    async def turn(self, words: str) -> AsyncGenerator[Event, None]:
        """Answer `words`. The last event is `TurnFinished`; what went wrong is in it, not raised."""
        self._stopping.clear()
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait({self._settling})
        if (trimmed := self._told()) is not None:
            yield trimmed
        steps: list[Statistics] = []
        try:
            if self._conversation is None:
                self._conversation = await self._journal.begin_conversation(self._session.info.name)
            asked = Message("user", stamped(for_model(words), self._clock()))
            await self._window.admit(asked)
            await self._record(asked)
            end: TurnEnd | None = None
            turn = _Turn(words)
            self._judge.begin_task()
            while end is None:
                if len(steps) == _MOST_STEPS:
                    end = "repeated"
                    break
                step = _Step()
                if (trimmed := await self._window.make_room()) is not None:
                    yield trimmed
                async for event in self._step(turn, step):
                    yield event
                steps.append(step.finished.statistics)
                yield StepFinished(step.finished.statistics)
                end = self._end_of(step)
                if end == "answered" and not step.text.strip():
                    # A small model may end without a word: what the tools said is not kept from the person.
                    yield TextDelta(turn.told or "I have no answer to that.")
                if end == "repeated":
                    turn.problem = "The model began to say the same again and again, and was stopped."
                if end is not None:
                    break
                async for event in self._do_calls(turn, step):
                    yield event
                end = turn.end
                if end is None and turn.said is not None:
                    yield TextDelta(turn.said)
                    await self._say(Message("assistant", turn.said))
                    end = "answered"
            yield TurnFinished(end, tuple(steps), turn.problem)
        except (EngineError, JournalProblem) as error:
            yield TurnFinished("failed", tuple(steps), str(error))

    async def _step(self, turn: "_Turn", step: "_Step") -> AsyncGenerator[Event, None]:
        """Have the model write one answer or call."""
        stream = self._session.stream(self._request(self._window.messages, turn.words))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            while True:
                following = asyncio.ensure_future(anext(stream))
                await asyncio.wait({following, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    following.cancel()
                    await asyncio.wait({following})
                    step.finished = Finished("cancelled", step.finished.statistics)
                    break
                event = following.result()
                if isinstance(event, CallWritten):
                    step.calls.append(_encodable(event.call))
                elif isinstance(event, Finished):
                    step.finished = event
                    break
                else:
                    if isinstance(event, TextDelta):
                        step.text += event.text
                    elif isinstance(event, ReasoningDelta):
                        step.reasoning += event.text
                    yield event
        finally:
            stopping.cancel()
            await stream.aclose()  # pyright: ignore
            if step.finished.reason != "end":
                step.calls.clear()
            if step.finished.reason == "repeated":
                step.text, step.reasoning = without_loop(step.text), without_loop(step.reasoning)
            if step.text or step.calls:
                await self._say(
                    Message("assistant", step.text.strip(), tuple(step.calls), step.reasoning.strip())
                )

    def _end_of(self, step: "_Step") -> TurnEnd | None:
        if step.finished.reason == "cancelled":
            return "stopped"
        if step.finished.reason in ("length", "repeated"):
            return step.finished.reason
        return None if step.calls else "answered"

    async def _do_calls(self, turn: "_Turn", step: "_Step") -> AsyncGenerator[Event, None]:
        """Do the calls of one step, each shown and decided; tell the model what came of them."""
        context = Context(
            clock=self._clock, words=turn.words, references=self._references, stopping=self._stopping
        )
        conversation = self._conversation
        assert conversation is not None
        complete: list[str] = []
        for written in step.calls:
            if turn.end is not None:
                await self._say(Message("tool", "Not run: the turn ended before it."))
                continue
            call_id = turn.next_call_id()
            if turn.count(written) >= _SAME_CALL_LIMIT:
                turn.end = "repeated"
                turn.problem = f"The model made the same call ({written.name}) {_SAME_CALL_LIMIT} times."
                await self._say(Message("tool", "Not run: the same call again."))
                continue
            call = Call(call_id, written, conversation)
            async for event in self._calls.run(call, context, self._stopping):
                if isinstance(event, CallInvalid):
                    turn.mistakes += 1
                yield event
            await self._say(Message("tool", for_model(call.answer)))
            turn.told = for_model(call.answer)
            if call.complete:
                complete.append(for_model(call.answer))
            if call.verdict is CallVerdict.STOPPED or self._stopping.is_set():
                turn.end = "stopped"
            elif call.verdict is CallVerdict.REFUSED:
                turn.end = "refused"
            elif turn.mistakes > _MOST_MISTAKES:
                turn.end = "failed"
                turn.problem = f"The model could not write a call that works. The last problem: {call.answer}"
        if len(complete) == len(step.calls):
            turn.said = "\n".join(complete)

    async def _say(self, message: Message) -> None:
        self._window.messages.append(message)
        await self._record(message)

    async def _record(self, message: Message) -> None:
        assert self._conversation is not None
        calls = [{"name": c.name, "arguments": dict(c.arguments)} for c in message.tool_calls]
        sources, ids = self._judge.sources, self._references.as_dict()
        await self._journal.add_message(
            self._conversation,
            message.role,
            message.content,
            calls,
            sources=[source for source in sources if source not in self._recorded_sources],
            shown_ids={name: thing for name, thing in ids.items() if name not in self._recorded_ids},
        )
        self._recorded_sources, self._recorded_ids = sources, ids

    def _request(self, messages: Sequence[Message], words: str) -> Request:
        kinds = {kind for kind, _ in self._references.as_dict().values()}
        return Request(
            messages=tuple(messages),
            tools=self._schemas,
            words=words,
            references={kind: self._references.names(kind) for kind in kinds},
            sampling=self._sampling,
            thinking=self._thinking,
            reasoning_tokens=self._reasoning_tokens,
            max_tokens=self._window.answer_tokens,
        )


_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}
_UNANSWERED = Message("tool", "Not known: the conversation was interrupted before the answer came.")


def _messages_of(past: PastConversation) -> list[Message]:
    """Return a past conversation as the model sees it; a call that was left without a result gets one."""
    messages: list[Message] = []
    unanswered = 0
    for message in past.messages:
        if message.role != "tool":
            messages += [_UNANSWERED] * unanswered
            unanswered = 0
        calls = tuple(ToolCall(call.tool, call.arguments) for call in message.calls)
        messages.append(Message(_ROLES[message.role], message.content, calls))
        unanswered += len(calls) - (message.role == "tool")
    return messages + [_UNANSWERED] * unanswered


def _encodable(call: ToolCall) -> ToolCall:
    """Return a call without halves of surrogate pairs, which JSON can hold and UTF-8 can't."""
    text = json.dumps(dict(call.arguments), ensure_ascii=False)
    return replace(call, arguments=json.loads(text.encode(errors="replace")))


class _Turn:
    """What is counted through one turn."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.end: TurnEnd | None = None
        self.problem = ""
        self.said: str | None = None
        """What the tools have said to the person, where that is all there is to say."""
        self.told = ""
        """What the model was told last of a tool."""
        self.mistakes = 0
        self._ids = 0
        self._seen: dict[str, int] = {}

    def next_call_id(self) -> str:
        self._ids += 1
        return f"call-{self._ids}"

    def count(self, call: ToolCall) -> int:
        """Count a call; return how many times it has been made, this one included."""
        key = json.dumps([call.name, dict(call.arguments)], sort_keys=True, default=str)
        self._seen[key] = self._seen.get(key, 0) + 1
        return self._seen[key]


class _Step:
    """What one step of the model has brought."""

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.calls: list[ToolCall] = []
        self.finished = Finished("cancelled", Statistics())
