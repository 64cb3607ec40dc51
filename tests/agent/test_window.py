"""A long conversation: what is old gives way in time, and a turn costs the same whenever it comes."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Literal

import pytest

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.events import ContextTrimmed, Event, TurnFinished
from botpsy_tui.agent.window import ConversationWindow
from botpsy_tui.engine.local import LocalSession
from botpsy_tui.engine.runtime import ContextSettings
from botpsy_tui.engine.types import (
    CallWritten,
    ContextFull,
    Finished,
    Message,
    ModelInfo,
    Request,
    SessionEvent,
    Statistics,
    TextDelta,
    ToolCall,
)
from botpsy_tui.journal import Journal
from botpsy_tui.plugin import Context, Outcome, Proposal
from tests.agent.fakes import FakeSession, NoteTool, ScriptedApprover, clock, yes
from tests.models.synthetic import QWEN_XML_TEMPLATE, write_model

SIZE = 4096
"""The model's tokens are bytes: this is as narrow as 1,000 tokens of a real one."""
STRICT = (
    "{% if messages[0].role != 'system' %}{{ raise_exception('System message first.') }}{% endif %}"
    "{% if not messages | selectattr('role', 'equalto', 'user') | list %}"
    "{{ raise_exception('No user query found in messages.') }}{% endif %}"
) + QWEN_XML_TEMPLATE
"""As Qwen3.5's own template, it refuses a conversation that is not one."""


class ListTool(NoteTool):
    """Answers with several lines."""

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        lines = "\n".join(
            f"{hour}:00 {proposal.payload['text']}, an event of some length" for hour in range(8, 17)
        )
        return Outcome(lines, lines)


class ScriptedModel:
    """Reads every prompt with a real model, and says what the test tells it to."""

    def __init__(self, session: LocalSession) -> None:
        self._session = session
        self.requests: list[Request] = []
        self.prepared = 0

    @property
    def info(self) -> ModelInfo:
        return self._session.info

    async def count(self, request: Request) -> int:
        return await self._session.count(request)

    async def prepare(self, request: Request) -> Statistics:
        self.prepared += 1
        return await self._session.prepare(request)

    async def stream(self, request: Request) -> AsyncIterator[SessionEvent]:
        self.requests.append(request)
        text = self._session._template.text(request.messages, request.tools, thinking=False)
        assert await self.count(request) == len(self._session._runtime.tokenize(text))
        statistics = await self._session.prepare(request)
        if request.messages[-1].role == "user":
            yield CallWritten(ToolCall("write_note", {"text": f"round {len(self.requests)}"}))
        else:
            yield TextDelta("You have nine events on that day.")
        yield Finished("end", statistics)

    async def close(self) -> None:
        await self._session.close()


def check_whole(messages: Sequence[Message]) -> None:
    """Every call has its result, every result its call, and the person speaks first."""
    assert messages[0].role == "system"
    assert messages[1].role == "user"
    waiting = 0
    for message in messages[1:]:
        if message.role == "tool":
            waiting -= 1
        else:
            assert waiting == 0
            waiting = len(message.tool_calls)
        assert waiting >= 0


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


@pytest.mark.parametrize(
    ("kind", "turns", "idle"),
    [("hybrid", 200, True), ("dense", 50, True), ("hybrid", 50, False)],
    ids=["hybrid", "dense", "hybrid without a pause"],
)
async def test_two_hundred_turns_never_overflow_and_cost_the_same(
    tmp_path: Path, journal: Journal, kind: Literal["hybrid", "dense"], turns: int, idle: bool
) -> None:
    path = write_model(tmp_path / "m.gguf", kind, template=STRICT)
    model = ScriptedModel(await LocalSession.load(path, ContextSettings(size=SIZE, threads=1)))
    talk = Assistant(
        session=model,
        tools=[ListTool()],
        approver=ScriptedApprover(*[yes] * turns),
        journal=journal,
        clock=clock,
    )
    await talk.prepare()
    costs: list[int] = []
    left: list[int] = []
    for i in range(turns):
        events = [event async for event in talk.turn(f"What is on the {i}. day, please?")]
        end = events[-1]
        assert isinstance(end, TurnFinished)
        assert end.end == "answered", end.problem
        assert all(step.prompt_tokens + 1024 <= SIZE for step in end.steps)
        costs.append(sum(step.decoded_tokens for step in end.steps))
        trimmed: list[Event | None] = [*events, await talk.settle() if idle else None]
        left += [event.left for event in trimmed if isinstance(event, ContextTrimmed)]
    for request in model.requests:
        check_whole(request.messages)
    assert left == sorted(left)
    assert left[-1] > turns // 2, "the oldest turns have left"
    assert len(left) < turns // 2, "and not at every turn"
    if idle:
        assert max(costs[1:]) <= max(costs[1:6]) + 40, "no turn pays for making room"
    else:
        assert max(costs) <= SIZE
        assert sum(costs[25:]) <= 2.5 * sum(costs[1:25]), "it seldom has to be read again"
    with sqlite3.connect(tmp_path / "journal.sqlite") as record:
        ((kept,),) = record.execute("SELECT count(*) FROM message WHERE role = 'user'")
    assert kept == turns, "the journal keeps everything"
    await model.close()


# -- what gives way, and in which order


def tokens(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)


async def count(messages: Sequence[Message]) -> int:
    return tokens(messages)


def turn(number: int, result: str) -> list[Message]:
    return [
        Message("user", f"Question {number}"),
        Message("assistant", "", (ToolCall("list", {}),)),
        Message("tool", result),
        Message("assistant", f"Answer {number}"),
    ]


def window_of(*messages: Message, size: int = 4000) -> ConversationWindow:
    window = ConversationWindow(Message("system", "s" * 100), size, count)
    window.messages += messages
    return window


async def test_old_results_are_shortened_before_any_turn_leaves() -> None:
    long = "09:00 Review\n" + "more " * 150
    window = window_of(*(message for i in range(4) for message in turn(i, long)), Message("user", "Now?"))
    assert await window.make_room() == ContextTrimmed(shortened=3, left=0)
    results = [message.content for message in window.messages if message.role == "tool"]
    assert [result.startswith("09:00 Review") for result in results] == [True] * 4
    assert ["look it up again" in result for result in results] == [True, True, True, False]
    assert await window.make_room() is None


async def test_the_oldest_turns_leave_whole() -> None:
    window = window_of(
        *(message for i in range(40) for message in turn(i, "x" * 80)), Message("user", "Now?")
    )
    trimmed = await window.make_room()
    assert trimmed is not None
    assert trimmed.shortened == 0
    check_whole(window.messages)
    assert window.messages[1].content == f"Question {trimmed.left}"
    assert window.messages[-1].content == "Now?"
    assert tokens(window.messages) < 2000


async def test_the_running_turn_stays_and_only_what_its_tools_said_is_cut() -> None:
    asked = turn(1, "first " * 300)[:-1]
    window = window_of(*turn(0, "x"), *asked, *turn(2, "09:00 Lunch " * 400)[1:3])
    assert await window.make_room() is not None
    assert [m.role for m in window.messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert tokens(window.messages) <= 3000
    assert "look it up again" in window.messages[3].content
    assert window.messages[5].content.startswith("09:00 Lunch 09:00 Lunch")
    assert "cut here" in window.messages[5].content
    check_whole(window.messages)


async def test_a_message_longer_than_the_context_is_refused_and_nothing_is_lost() -> None:
    window = window_of(*turn(0, "x"))
    before = list(window.messages)
    with pytest.raises(ContextFull, match="it takes 9,999 tokens, and there is room for 2,899"):
        await window.admit(Message("user", "y" * 10_000))
    assert window.messages == before


async def test_tools_that_leave_no_room_are_told_as_what_they_are() -> None:
    with pytest.raises(ContextFull, match="The tools alone take 101 tokens"):
        await window_of(size=120).admit(Message("user", "Hello"))


async def test_a_turn_that_grows_beyond_the_context_ends_in_a_sentence() -> None:
    window = window_of(Message("user", "y" * 2500), *[m for i in range(9) for m in turn(i, "x" * 90)[1:]])
    with pytest.raises(ContextFull, match="what was done stays done"):
        await window.make_room()


async def test_the_person_is_told_and_the_talk_goes_on_after_a_message_too_long(journal: Journal) -> None:
    session = FakeSession("Hello.")
    talk = Assistant(session=session, tools=[], approver=ScriptedApprover(), journal=journal, clock=clock)
    end = [event async for event in talk.turn("y" * 100_000)][-1]
    assert isinstance(end, TurnFinished)
    assert end.end == "failed"
    assert "too long for the model" in end.problem
    end = [event async for event in talk.turn("Hi")][-1]
    assert isinstance(end, TurnFinished)
    assert end.end == "answered"
    assert len(session.requests[0].messages) == 2


async def test_a_new_turn_ends_what_is_read_ahead_at_once(journal: Journal) -> None:
    class Slow(FakeSession):
        cancelled = False

        async def prepare(self, request: Request) -> Statistics:
            reading.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
            raise AssertionError

    reading = asyncio.Event()
    session = Slow("Hello.")
    talk = Assistant(session=session, tools=[], approver=ScriptedApprover(), journal=journal, clock=clock)
    settling = asyncio.ensure_future(talk.settle())
    await reading.wait()
    end = [event async for event in talk.turn("Hi")][-1]
    assert isinstance(end, TurnFinished)
    assert end.end == "answered"
    assert session.cancelled
    assert await settling is None
