"""What a person asks for, through the real model, loop and approvals; read back from the server itself."""

import pytest

from botpsy_tui.agent.events import CallFailed, TurnFinished
from botpsy_tui.approval import Decision, Edit, Question, Reject
from botpsy_tui.engine.types import Session
from botpsy_tui.plugin import Risk
from tests.end_to_end.world import Person, answer_of, approve, opened
from tests.servers.radicale import RadicaleServer

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("starter")]

BOOK = "Book 30 minutes with lena@example.org tomorrow afternoon when I'm free, call it Review"


def titled(server: RadicaleServer, title: str) -> list[dict[str, str]]:
    return [event for event in server.events() if event["SUMMARY"] == title]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("What's on tomorrow?", ["Standup", "Dentist"]),
        ("What do I have today?", ["Standup", "Lunch with Tom"]),
        ("What's on next Friday?", ["Planning"]),
        ("When is the choir?", ["19:00"]),
    ],
)
async def test_a_question_is_answered_with_what_the_calendar_holds(
    session: Session, server: RadicaleServer, words: str, told: list[str]
) -> None:
    person, before = Person(), server.texts()
    async with opened(session, person) as ask:
        answer = answer_of(await ask(words))
    for fact in told:
        assert fact.lower() in answer.lower()
    assert {proposal.risk for proposal in person.asked} == {Risk.READ}
    assert server.texts() == before


async def test_this_week_is_listed_on_the_card_of_the_call(session: Session, server: RadicaleServer) -> None:
    person = Person()
    async with opened(session, person) as ask:
        events = await ask("What is on this week?")
    view = "".join(event.outcome.view for event in events if hasattr(event, "outcome"))
    assert all(title in view for title in ("Standup", "Lunch with Tom", "Dentist", "Choir"))
    assert "Planning" not in view


async def test_a_meeting_is_booked_at_the_first_free_time(session: Session, server: RadicaleServer) -> None:
    person = Person()
    async with opened(session, person) as ask:
        events = await ask(BOOK)
    assert isinstance(events[-1], TurnFinished)
    assert events[-1].end == "answered"
    (event,) = titled(server, "Review")
    assert event["DTSTART;TZID=Europe/Berlin"] == "20261202T140000", "the dentist is from 13:00 to 14:00"
    assert event["DTEND;TZID=Europe/Berlin"] == "20261202T143000"
    assert event["ATTENDEE"] == "mailto:lena@example.org"
    (proposal,) = person.asked
    assert proposal.risk is Risk.SEND
    lines = {line.label: line.value for line in proposal.preview.lines}
    assert lines["When"] == "Wed 2 Dec 2026, 14:00–14:30 (30 min, Europe/Berlin)"
    assert lines["With"] == "lena@example.org"
    assert lines["Calendar"] == "Personal (work)"


async def test_a_step_reads_only_what_is_new(session: Session, server: RadicaleServer) -> None:
    async with opened(session, Person()) as ask:
        await ask("What do I have today?")
        events = await ask(BOOK)
        listing = await ask("What's on tomorrow?")
    for turn in (events, listing):
        for step in turn[-1].steps:
            assert step.prompt_tokens > 1000
            assert step.decoded_tokens < 220


async def test_a_conversation_goes_on_and_claims_no_deed_that_was_not_done(
    session: Session, server: RadicaleServer
) -> None:
    person = Person()
    async with opened(session, person) as ask:
        await ask("What do I have today?")
        await ask(BOOK)
        await ask("Move the review to Friday at 10")
        (event,) = titled(server, "Review")
        assert event["DTSTART;TZID=Europe/Berlin"] == "20261204T100000"
        await ask("Cancel the review")
        thanked = await ask("Thanks!")
    assert not titled(server, "Review")
    assert [proposal.tool for proposal in person.asked] == [
        "list_events",
        "create_event",
        "change_event",
        "delete_event",
    ]
    assert answer_of(thanked)


async def test_a_rejected_booking_leaves_the_calendar_as_it_was(
    session: Session, server: RadicaleServer
) -> None:
    before = server.texts()
    async with opened(session, Person(lambda _question: Reject("not with her"))) as ask:
        await ask(BOOK)
    assert server.texts() == before


async def test_an_edited_booking_is_what_is_written(session: Session, server: RadicaleServer) -> None:
    def decide(question: Question) -> Decision:
        if question.proposal.arguments["title"] == "Review":
            return Edit({"title": "Retrospective", "when": "2026-12-03 16:00", "duration": "45 minutes"})
        return approve(question)

    async with opened(session, Person(decide)) as ask:
        await ask(BOOK)
    assert not titled(server, "Review")
    (event,) = titled(server, "Retrospective")
    assert event["DTSTART;TZID=Europe/Berlin"] == "20261203T160000"
    assert event["DTEND;TZID=Europe/Berlin"] == "20261203T164500"
    assert "ATTENDEE" not in event


async def test_an_all_day_event_has_dates_and_no_times(session: Session, server: RadicaleServer) -> None:
    async with opened(session, Person()) as ask:
        await ask("Put Nia's birthday on Friday as an all-day event")
    (event,) = titled(server, "Nia's birthday")
    assert event["DTSTART;VALUE=DATE"] == "20261204"
    assert event["DTEND;VALUE=DATE"] == "20261205"


async def test_an_event_is_moved_and_keeps_its_length(session: Session, server: RadicaleServer) -> None:
    async with opened(session, Person()) as ask:
        await ask("Move the dentist to Thursday at 3pm")
    (event,) = titled(server, "Dentist")
    assert event["DTSTART;TZID=Europe/Berlin"] == "20261203T150000"
    assert event["DTEND;TZID=Europe/Berlin"] == "20261203T160000"
    assert event["LOCATION"] == "Main Street 5"


async def test_an_event_is_cancelled_and_nothing_else(session: Session, server: RadicaleServer) -> None:
    person, before = Person(), server.names()
    async with opened(session, person) as ask:
        await ask("Cancel the lunch with Tom")
    assert set(before) - set(server.names()) == {"lunch.ics"}
    assert person.asked[0].risk is Risk.DESTRUCTIVE


async def test_a_clash_is_on_the_card_before_anything_is_written(
    session: Session, server: RadicaleServer
) -> None:
    person = Person(lambda _question: Reject())
    async with opened(session, person) as ask:
        await ask("Book Gym tomorrow at 1pm")
    assert any("Clashes with" in w and "Dentist" in w for w in person.asked[0].preview.warnings)
    assert not titled(server, "Gym")


async def test_a_date_that_does_not_exist_writes_nothing_and_is_said(
    session: Session, server: RadicaleServer
) -> None:
    before = server.texts()
    async with opened(session, Person()) as ask:
        events = await ask("Book a table on February 30")
    assert "february 30" in (answer_of(events) + events[-1].problem).lower()
    assert server.texts() == before


async def test_a_server_that_goes_away_before_the_approval_is_one_sentence(
    session: Session, server: RadicaleServer
) -> None:
    def decide(question: Question) -> Decision:
        server.stop()
        return approve(question)

    async with opened(session, Person(decide)) as ask:
        events = await ask(BOOK)
    (failed,) = [event for event in events if isinstance(event, CallFailed)]
    assert "can't be reached" in failed.problem or "broke off" in failed.problem
    server.start()
    assert not titled(server, "Review")
