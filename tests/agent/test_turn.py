"""A turn: what the person says, what is proposed, decided, done and told to the model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.calls import NobodyToAsk
from botpsy_tui.agent.events import (
    CallFailed,
    CallFinished,
    CallInvalid,
    CallProposed,
    Event,
    TurnFinished,
)
from botpsy_tui.approval import Approve, Approver, Edit, Question, Reject, Stop
from botpsy_tui.engine.types import EngineError, Message, TextDelta, ToolCall
from botpsy_tui.journal import CallState, Journal
from botpsy_tui.plugin import Risk, ToolError
from tests.agent.fakes import Broken, FakeSession, NoteTool, ScriptedApprover, clock, yes

MILK = ToolCall("write_note", {"text": "milk"})


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = Journal(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


def assistant(session: FakeSession, journal: Journal, approver: Approver, *tools: NoteTool) -> Assistant:
    return Assistant(session=session, tools=tools, approver=approver, journal=journal, clock=clock)


async def events_of(assistant: Assistant, words: str = "Note milk") -> list[Event]:
    return [event async for event in assistant.turn(words)]


def end_of(events: list[Event]) -> TurnFinished:
    assert isinstance(events[-1], TurnFinished)
    return events[-1]


def told(session: FakeSession) -> str:
    """What the model was told last of a tool."""
    return [m for m in session.requests[-1].messages if m.role == "tool"][-1].content


async def test_an_approved_call_is_done_and_the_model_told(journal: Journal) -> None:
    session, tool = FakeSession(MILK, "It is noted."), NoteTool()
    events = await events_of(assistant(session, journal, ScriptedApprover(yes), tool))
    assert tool.committed == ["milk"]
    assert told(session) == "Noted."
    assert "".join(e.text for e in events if isinstance(e, TextDelta)).strip() == "It is noted."
    assert end_of(events).end == "answered"
    assert [c.state for c in await journal.calls()] == [CallState.DONE]


async def test_what_a_tool_says_completely_is_not_retold_by_the_model(journal: Journal) -> None:
    session = FakeSession(MILK)
    events = await events_of(assistant(session, journal, ScriptedApprover(yes), NoteTool(complete=True)))
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Noted."
    assert end_of(events).end == "answered"
    assert len(session.requests) == 1


async def test_a_model_that_ends_without_a_word_does_not_hide_what_a_tool_said(journal: Journal) -> None:
    session = FakeSession(ToolCall("write_note", {"text": ""}), "")
    events = await events_of(assistant(session, journal, ScriptedApprover(), NoteTool()))
    said = "".join(e.text for e in events if isinstance(e, TextDelta)).strip()
    assert said == "Error: The note is empty; say what to write."


async def test_the_message_carries_the_time_and_the_prompt_before_it_stays_the_same(journal: Journal) -> None:
    session = FakeSession("Hello.", "Again.")
    talk = assistant(session, journal, ScriptedApprover())
    await events_of(talk, "Hi")
    await events_of(talk, "Hi again")
    first, second = (request.messages for request in session.requests)
    assert first[0] == second[0]
    assert first[1].content == "Hi\n\n(It is Tuesday, 2026-12-01 09:00, Europe/Berlin.)"
    assert list(second[: len(first)]) == list(first)
    assert session.requests[0].words == "Hi"


async def test_a_rejected_call_is_not_done_and_the_reason_reaches_the_model(journal: Journal) -> None:
    session, tool = FakeSession(MILK, "All right."), NoteTool()
    await events_of(assistant(session, journal, ScriptedApprover(Reject("we have some")), tool))
    assert tool.committed == []
    assert "we have some" in told(session)
    assert [c.state for c in await journal.calls()] == [CallState.REJECTED]


async def test_an_edit_makes_a_new_proposal_that_is_asked_about_again(journal: Journal) -> None:
    session, tool = FakeSession(MILK, "Done."), NoteTool()
    approver = ScriptedApprover(Edit({"text": "oat milk"}), yes)
    await events_of(assistant(session, journal, approver, tool))
    assert tool.committed == ["oat milk"]
    assert approver.questions[0].proposal.digest != approver.questions[1].proposal.digest
    assert "text to oat milk" in told(session), "the model is told what the person changed"
    assert [c.state for c in await journal.calls()] == [CallState.REPLACED, CallState.DONE]


async def test_an_edit_that_is_wrong_is_asked_again_with_the_problem(journal: Journal) -> None:
    tool = NoteTool()
    approver = ScriptedApprover(Edit({"text": ""}), Edit({"loud": "perhaps"}), yes)
    await events_of(assistant(FakeSession(MILK, "Done."), journal, approver, tool))
    assert "say what to write" in approver.questions[1].problem
    assert "text" in approver.questions[2].problem
    assert tool.committed == ["milk"]


async def test_an_approval_of_something_else_opens_nothing(journal: Journal) -> None:
    session, tool = FakeSession(MILK, "Hm."), NoteTool()
    events = await events_of(assistant(session, journal, ScriptedApprover(Approve("0" * 64)), tool))
    assert tool.committed == []
    assert any(isinstance(e, CallFailed) for e in events)


async def test_stopping_ends_the_turn_and_runs_no_further_call(journal: Journal) -> None:
    session, tool = FakeSession([MILK, ToolCall("write_note", {"text": "eggs"})]), NoteTool()
    events = await events_of(assistant(session, journal, ScriptedApprover(Stop()), tool))
    assert end_of(events).end == "stopped"
    assert tool.committed == []


async def test_stopping_while_a_call_waits_decides_nothing(journal: Journal) -> None:
    class Nobody:
        async def decide(self, question: Question) -> Approve:
            await asyncio.sleep(3600)
            return Approve(question.proposal.digest)

    tool = NoteTool()
    talk = assistant(FakeSession(MILK), journal, Nobody(), tool)
    events: list[Event] = []
    async for event in talk.turn("Note milk"):
        events.append(event)
        if isinstance(event, CallProposed):
            talk.stop()
    assert end_of(events).end == "stopped"
    assert tool.committed == []


async def test_where_nobody_can_be_asked_nothing_runs(journal: Journal) -> None:
    class Absent:
        async def decide(self, question: Question) -> Approve:
            raise NobodyToAsk

    tool = NoteTool()
    events = await events_of(assistant(FakeSession(MILK), journal, Absent(), tool))
    assert end_of(events).end == "refused"
    assert tool.committed == []


async def test_a_wrong_call_goes_back_to_the_model_as_one_error(journal: Journal) -> None:
    session, tool = FakeSession(ToolCall("write_note", {}), MILK, "Done."), NoteTool()
    events = await events_of(assistant(session, journal, ScriptedApprover(yes), tool))
    assert [e.problem for e in events if isinstance(e, CallInvalid)] == ["text: Field required"]
    assert tool.committed == ["milk"]


async def test_after_three_wrong_calls_the_person_is_told(journal: Journal) -> None:
    wrong = [ToolCall("write_note", {"loud": i}) for i in range(3)]
    events = await events_of(assistant(FakeSession(*wrong), journal, ScriptedApprover(), NoteTool()))
    assert end_of(events).end == "failed"
    assert "could not write a call that works" in end_of(events).problem


async def test_the_same_call_three_times_stops_the_turn(journal: Journal) -> None:
    tool = NoteTool()
    events = await events_of(
        assistant(FakeSession(MILK, MILK, MILK), journal, ScriptedApprover(yes, yes), tool)
    )
    assert end_of(events).end == "repeated"
    assert tool.committed == ["milk", "milk"]


async def test_a_model_that_goes_round_in_circles_is_stopped_and_told_so(journal: Journal) -> None:
    session = FakeSession(Broken("Well. " + "I am sorry. " * 60, "repeated"), "Hello.")
    talk = assistant(session, journal, ScriptedApprover())
    end = end_of(await events_of(talk))
    assert end.end == "repeated"
    assert "again and again" in end.problem
    await events_of(talk, "Go on")
    kept = [m.content for m in session.requests[-1].messages if m.role == "assistant"]
    assert kept == ["Well. I am sorry."], "the loop is not left in the conversation, to be learned from"


async def test_a_tool_that_fails_says_so_and_the_talk_goes_on(journal: Journal) -> None:
    session = FakeSession(MILK, "Sorry.")
    events = await events_of(
        assistant(session, journal, ScriptedApprover(yes), NoteTool(breaks=ToolError("The pen is empty.")))
    )
    assert told(session) == "Failed: The pen is empty."
    assert end_of(events).end == "answered"
    assert [c.state for c in await journal.calls()] == [CallState.FAILED]


async def test_a_plugin_that_breaks_leaves_the_call_unknown_and_the_house_standing(journal: Journal) -> None:
    events = await events_of(
        assistant(FakeSession(MILK, "Hm."), journal, ScriptedApprover(yes), NoteTool(breaks=KeyError("x")))
    )
    assert [e.unknown for e in events if isinstance(e, CallFailed)] == [True]
    assert [c.state for c in await journal.calls()] == [CallState.UNKNOWN]


async def test_the_record_is_there_before_the_effect(journal: Journal, tmp_path: Path) -> None:
    import sqlite3

    states: list[str] = []

    def look() -> None:
        with sqlite3.connect(tmp_path / "journal.sqlite") as other:
            states.extend(state for (state,) in other.execute("SELECT state FROM call_now"))

    tool = NoteTool(before_commit=look)
    await events_of(assistant(FakeSession(MILK, "Done."), journal, ScriptedApprover(yes), tool))
    assert states == ["started"]


async def test_a_call_that_a_crash_left_started_is_unknown_and_not_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(BaseException):
        pass

    journal = Journal(tmp_path / "journal.sqlite")
    talk = assistant(FakeSession(MILK), journal, ScriptedApprover(yes), NoteTool(breaks=Crash()))  # type: ignore[arg-type]
    with pytest.raises(Crash):
        await events_of(talk)
    journal.close()
    again = Journal(tmp_path / "journal.sqlite")
    assert await again.unfinished() == [], "whoever began it still runs"
    monkeypatch.setattr("botpsy_tui.journal.journal.is_running", lambda process: False)
    assert [c.title for c in await again.unfinished()] == ["Write a note"]
    assert [c.state for c in await again.calls()] == [CallState.UNKNOWN]
    assert await again.unfinished() == []
    again.close()


async def test_a_model_that_breaks_off_ends_the_turn_with_its_sentence(journal: Journal) -> None:
    talk = assistant(FakeSession(EngineError("The context is full."), "Hello."), journal, ScriptedApprover())
    assert end_of(await events_of(talk)).problem == "The context is full."
    assert end_of(await events_of(talk)).end == "answered"


async def test_hidden_characters_do_not_reach_the_model(journal: Journal) -> None:
    session = FakeSession("Hm.")
    await events_of(assistant(session, journal, ScriptedApprover()), "Hi\u202e\u200b\x1b[31m there")
    assert session.requests[0].messages[1].content.startswith("Hi[31m there")


async def test_several_calls_of_one_step_are_each_asked_about(journal: Journal) -> None:
    session, tool = FakeSession([MILK, ToolCall("write_note", {"text": "eggs"})], "Done."), NoteTool()
    events = await events_of(assistant(session, journal, ScriptedApprover(yes, Reject()), tool))
    assert tool.committed == ["milk"]
    assert len([e for e in events if isinstance(e, CallFinished)]) == 1
    assert [m.content for m in session.requests[-1].messages if m.role == "tool"] == [
        "Noted.",
        "Not run: the person said no.",
    ]
    assert isinstance(session.requests[-1].messages[0], Message)


async def test_a_proposal_worse_than_its_tool_declares_is_not_even_asked_about(journal: Journal) -> None:
    class Modest(NoteTool):
        highest_risk = Risk.WRITE

    tool, approver = Modest(risk=Risk.SEND), ScriptedApprover()
    session = FakeSession(MILK, "Sorry.")
    events = await events_of(assistant(session, journal, approver, tool))
    assert [e.problem for e in events if isinstance(e, CallInvalid)] == [
        "write_note wanted more than it declares (send, and at worst write): it is not run."
    ]
    assert approver.questions == []
    assert tool.committed == []


async def test_half_a_character_from_the_model_does_not_end_the_turn(journal: Journal) -> None:
    session, tool = FakeSession(ToolCall("write_note", {"text": "\ud800"}), "Sorry."), NoteTool()
    events = await events_of(assistant(session, journal, ScriptedApprover(yes), tool))
    assert end_of(events).end == "answered"
