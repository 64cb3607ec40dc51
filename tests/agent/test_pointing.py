"""What a model may only point at is not made up, whoever decodes it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.events import CallInvalid, TextDelta
from botpsy_tui.agent.pointing import NotPointedAt, pointed_at
from botpsy_tui.engine.types import ToolCall
from botpsy_tui.journal import Journal
from botpsy_tui.plugin import (
    Context,
    Outcome,
    Preview,
    Proposal,
    Reference,
    ReferenceOrAddress,
    References,
    Risk,
    Tool,
    UserWords,
)
from tests.agent.fakes import FakeSession, ScriptedApprover, clock, yes

SAID = "Move my Lunch with Zoë to 12:30,\nplease"


class MoveArguments(BaseModel):
    event: UserWords
    to: UserWords | None = None
    of: Annotated[str | None, Reference("event")] = None


@dataclass
class MoveTool(Tool[MoveArguments]):
    name = "move"
    description = "Move an event."
    arguments = MoveArguments
    moved: list[str] = field(default_factory=list)

    async def propose(self, arguments: MoveArguments, context: Context) -> Proposal:
        return self.propose_with(
            arguments, risk=Risk.WRITE, preview=Preview("Move"), payload={"event": arguments.event}
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        self.moved.append(str(proposal.payload["event"]))
        return Outcome("Moved.", "Moved.")


SCHEMA = MoveArguments.model_json_schema()


def context(*shown: str) -> Context:
    references = References()
    for key in shown:
        references.name("event", key)
    return Context(clock=clock, words=SAID, references=references)


def test_the_persons_words_are_taken_as_the_person_spelled_them() -> None:
    given_ = {"event": "lunch  with ZOË", "to": "12:30"}
    assert pointed_at(SCHEMA, given_, context()) == {"event": "Lunch with Zoë", "to": "12:30"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"event": "Lunch with Zoe"}, "event: the person did not say 'Lunch with Zoe'"),
        ({"event": "Lunch", "to": "half past twelve"}, "to: the person did not say"),
        ({"event": "unch"}, "event: the person did not say"),
        ({"event": "Lunch", "of": "e7"}, "of: no event has the id 'e7'; there are e1"),
    ],
)
def test_what_was_not_said_or_shown_is_refused(arguments: dict[str, str], says: str) -> None:
    with pytest.raises(NotPointedAt) as refused:
        pointed_at(SCHEMA, arguments, context("lunch.ics"))
    assert str(refused.value).startswith(says)


def test_an_id_is_refused_while_none_was_shown() -> None:
    with pytest.raises(NotPointedAt, match="look first"):
        pointed_at(SCHEMA, {"event": "Lunch", "of": "e1"}, context())


class ReadArguments(BaseModel):
    page: Annotated[str, ReferenceOrAddress("page")]


READ = ReadArguments.model_json_schema()


def reading(words: str, *shown: str) -> Context:
    references = References()
    for key in shown:
        references.name("page", key)
    return Context(clock=clock, words=words, references=references)


@pytest.mark.parametrize("page", ["https://a.example/x?y=1", "b.example", "p1"])
def test_an_address_that_was_written_and_an_id_that_was_shown_are_taken(page: str) -> None:
    said = reading("Compare https://a.example/x?y=1 with b.example.", "https://c.example/")
    assert pointed_at(READ, {"page": page}, said) == {"page": page}


@pytest.mark.parametrize(
    "page", ["https://a.example/x?y=secret", "https://evil.example/", "Compare", "p2", "https://c.example/"]
)
def test_an_address_is_not_made_up(page: str) -> None:
    said = reading("Compare https://a.example/x?y=1 with b.example.", "https://c.example/")
    with pytest.raises(NotPointedAt) as refused:
        pointed_at(READ, {"page": page}, said)
    assert str(refused.value) == (
        f"page: no page has the id {page!r}; there are p1; the person wrote no address {page!r}."
    )


@given(st.lists(st.text("ab \n.*(", max_size=8), max_size=4), st.text("ab \n.*(", min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_what_passes_is_always_a_part_of_the_words(lines: list[str], value: str) -> None:
    words = "\n".join(lines)
    try:
        taken = pointed_at(SCHEMA, {"event": value}, Context(clock=clock, words=words))["event"]
    except NotPointedAt:
        return
    assert not value.strip() or taken in words


async def test_a_made_up_argument_goes_back_to_the_model_and_nobody_is_asked(tmp_path: Path) -> None:
    journal, tool, approver = Journal(tmp_path / "journal.sqlite"), MoveTool(), ScriptedApprover(yes)
    session = FakeSession(
        ToolCall("move", {"event": "Dinner"}), ToolCall("move", {"event": "lunch"}), "Done."
    )
    talk = Assistant(session=session, tools=[tool], approver=approver, journal=journal, clock=clock)
    events = [event async for event in talk.turn(SAID)]
    journal.close()
    assert [type(event) for event in events].count(CallInvalid) == 1
    assert len(approver.questions) == 1
    assert tool.moved == ["Lunch"]
    assert any(isinstance(event, TextDelta) for event in events)
    assert "did not say 'Dinner'" in session.requests[1].messages[-1].content
