"""What a person asks the calendar, what they are shown before it happens, and how it is taken back."""

import json
from pathlib import Path

import pytest

from botpsy_tui.plugin import ChangedSince, Line, Proposal, Risk, ToolError
from tests.calendar.world import World, event, lines

BOOK = "Book 30 minutes with lena@example.org tomorrow afternoon when I'm free, call it Review"


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.add("dentist", event("dentist", "Dentist", "20261202T130000", "20261202T140000", "X-COLOUR:teal"))
    world.add(
        "standup",
        event("standup", "Standup", "20261123T100000", "20261123T101500", "RRULE:FREQ=DAILY;COUNT=40"),
    )
    return world


async def test_the_agenda_of_a_day_is_numbered_and_named(world: World) -> None:
    outcome = await world.do("list_events", "What's on tomorrow?", when="tomorrow")
    assert "Standup" in outcome.text
    assert "Dentist" in outcome.text
    assert "[e1]" in outcome.text
    assert world.references.names("event") == ["e1", "e2"]


async def test_an_empty_day_is_said_to_be_empty(world: World) -> None:
    assert "nothing" in (await world.do("list_events", when="12 February")).text


async def test_an_event_is_found_by_a_word_of_its_title(world: World) -> None:
    assert "13:00" in (await world.do("find_events", about="the dentist")).text


async def test_free_time_leaves_out_what_is_taken(world: World) -> None:
    outcome = await world.do("find_free_time", when="tomorrow", duration="30 minutes")
    assert "09:00–10:00" in outcome.text
    assert "10:15–13:00" in outcome.text
    assert "14:00–18:00" in outcome.text


async def test_the_first_free_time_is_chosen_and_others_are_named(world: World) -> None:
    proposal = await world.propose(
        "create_event",
        BOOK,
        title="Review",
        when="tomorrow afternoon",
        duration="30 minutes",
        attendees="lena@example.org",
    )
    assert proposal.risk is Risk.SEND
    assert lines(proposal)["When"] == "Wed 2 Dec 2026, 14:00–14:30 (30 min, Europe/Berlin)"
    assert lines(proposal)["With"] == "lena@example.org"
    assert "14:30" in lines(proposal)["Also free"]
    assert any("no invitation" in warning for warning in proposal.preview.warnings)


async def test_a_proposal_writes_nothing_and_its_payload_is_what_is_written(world: World) -> None:
    before = world.files()
    proposal = await world.propose("create_event", title="Lunch", when="tomorrow at noon")
    assert world.files() == before
    again = Proposal(**{**vars(proposal), "payload": json.loads(json.dumps(dict(proposal.payload)))})
    await world.commit(again)
    (new,) = set(world.files()) - set(before)
    assert world.files()[new] == proposal.payload["data"]
    assert "DTSTAMP:20261201T080000Z" in world.files()[new]
    assert "BEGIN:VTIMEZONE" in world.files()[new]


async def test_a_day_without_a_time_is_a_whole_day(world: World) -> None:
    proposal = await world.propose("create_event", title="Holiday", when="12 December")
    assert lines(proposal)["When"] == "Sat 12 Dec 2026, all day"


async def test_a_clash_is_named(world: World) -> None:
    proposal = await world.propose("create_event", title="Call", when="tomorrow at 13:30")
    assert any("Dentist" in warning for warning in proposal.preview.warnings)


async def test_what_the_edit_form_sends_needs_no_sentence(world: World) -> None:
    proposal = await world.propose(
        "create_event", BOOK, title="Review", when="2026-12-03 14:00", duration="45 min"
    )
    assert lines(proposal)["When"] == "Thu 3 Dec 2026, 14:00–14:45 (45 min, Europe/Berlin)"


@pytest.mark.parametrize("when", ["February 30", "tomorrow at 25:00", "yesterdayish"])
async def test_a_time_that_does_not_exist_is_refused(world: World, when: str) -> None:
    with pytest.raises(ToolError) as caught:
        await world.propose("create_event", title="Call", when=when)
    assert str(caught.value).count(".") >= 1


@pytest.mark.parametrize("place", ["Review", "tomorrow", "lena@example.org"])
async def test_a_place_that_is_another_slot_is_no_place(world: World, place: str) -> None:
    proposal = await world.propose(
        "create_event", BOOK, title="Review", when="tomorrow", attendees="lena@example.org", location=place
    )
    assert "Where" not in lines(proposal)


async def test_what_was_created_can_be_undone(world: World) -> None:
    before = world.files()
    outcome = await world.do("create_event", title="Lunch", when="tomorrow at noon")
    await world.undo("create_event", outcome)
    assert world.files() == before


async def test_undo_refuses_where_the_event_was_changed_since(world: World) -> None:
    before = set(world.files())
    outcome = await world.do("create_event", title="Lunch", when="tomorrow at noon")
    (name,) = set(world.files()) - before
    path = world.personal / name
    path.write_text(path.read_text().replace("Lunch", "Brunch"))
    with pytest.raises(ChangedSince, match="changed") as refused:
        await world.undo("create_event", outcome)
    assert refused.value.changes == (Line("What", "Brunch", "Lunch"),)
    assert "Brunch" in path.read_text()
    path.write_text(path.read_text().replace("T120000", "T130000"))
    with pytest.raises(ChangedSince) as refused:
        await world.undo("create_event", outcome)
    assert Line("Starts", "2026-12-02 13:00", "2026-12-02 12:00") in refused.value.changes
    path.unlink()
    with pytest.raises(ChangedSince) as refused:
        await world.undo("create_event", outcome)
    assert refused.value.changes == (Line("Event", "deleted", "Lunch"),)


async def test_a_moved_event_keeps_its_length_and_all_that_is_not_named(world: World) -> None:
    proposal = await world.propose(
        "change_event", "Move the dentist to Thursday at 4pm", event="dentist", to="Thursday at 4pm"
    )
    (when,) = [line for line in proposal.preview.lines if line.label == "When"]
    assert when.value.startswith("Thu 3 Dec 2026, 16:00–17:00")
    assert when.before == "Wed 2 Dec 2026, 13:00–14:00"
    outcome = await world.commit(proposal)
    assert "X-COLOUR:teal" in world.files()["dentist.ics"]
    before = event("dentist", "Dentist", "20261202T130000", "20261202T140000", "X-COLOUR:teal")
    await world.undo("change_event", outcome)
    assert world.files()["dentist.ics"] == before


async def test_an_event_changed_between_preview_and_commit_is_left_alone(world: World) -> None:
    proposal = await world.propose("change_event", event="dentist", to="Thursday at 4pm")
    path = world.personal / "dentist.ics"
    path.write_text(path.read_text().replace("Dentist", "Surgeon"))
    with pytest.raises(ToolError, match="changed"):
        await world.commit(proposal)
    assert "Surgeon" in path.read_text()


async def test_one_occurrence_is_moved_and_the_series_stays(world: World) -> None:
    proposal = await world.propose(
        "change_event", "Move tomorrow's standup to 11:00", event="tomorrow's standup", to="11:00"
    )
    assert any("only this occurrence" in warning for warning in proposal.preview.warnings)
    await world.commit(proposal)
    text = world.files()["standup.ics"]
    assert text.count("BEGIN:VEVENT") == 2
    assert "RECURRENCE-ID;TZID=Europe/Berlin:20261202T100000" in text
    assert "RRULE:FREQ=DAILY;COUNT=40" in text
    agenda = (await world.do("list_events", when="tomorrow")).text
    assert "11:00–11:15 Standup" in agenda
    assert "10:00–10:15" not in agenda


async def test_one_occurrence_is_deleted_and_the_series_stays(world: World) -> None:
    outcome = await world.do(
        "delete_event", "Delete the standup on Thursday", event="the standup on Thursday"
    )
    assert "EXDATE;TZID=Europe/Berlin:20261203T100000" in world.files()["standup.ics"]
    await world.undo("delete_event", outcome)
    assert "EXDATE" not in world.files()["standup.ics"]


async def test_the_whole_series_is_deleted_only_where_that_is_said(world: World) -> None:
    proposal = await world.propose(
        "delete_event", "Delete the whole standup series", event="the whole standup series"
    )
    assert proposal.risk is Risk.DESTRUCTIVE
    assert any("whole series" in warning for warning in proposal.preview.warnings)
    outcome = await world.commit(proposal)
    assert list(world.files()) == ["dentist.ics"]
    await world.undo("delete_event", outcome)
    assert list(world.files()) == ["dentist.ics", "standup.ics"]


async def test_an_event_can_be_named_by_the_id_it_was_shown_with(world: World) -> None:
    await world.do("list_events", when="tomorrow")
    proposal = await world.propose("delete_event", "Delete e2", event="e2")
    assert lines(proposal)["What"] == "Dentist"


async def test_where_several_fit_the_person_is_asked(world: World) -> None:
    world.add("other", event("other", "Dentist", "20261209T130000", "20261209T140000"))
    with pytest.raises(ToolError, match=r"Several.*\[e1\].*\[e2\]"):
        await world.propose("delete_event", "Delete the dentist", event="dentist")


async def test_what_fits_nothing_is_said(world: World) -> None:
    with pytest.raises(ToolError, match="piano"):
        await world.propose("delete_event", "Delete the piano lesson", event="piano lesson")


async def test_text_from_outside_is_cleaned_before_anyone_sees_it(world: World) -> None:
    world.add("evil", event("evil", "Tea\u202e\x1b[31m", "20261210T130000", "20261210T140000"))
    outcome = await world.do("list_events", when="10 December")
    for shown in (outcome.text, outcome.view):
        assert "\x1b" not in shown
        assert "\u202e" not in shown


async def test_proposed_again_it_is_the_same_while_nothing_has_changed(world: World) -> None:
    context = world.context()
    for name, arguments in {
        "create_event": {"title": "Lunch", "when": "tomorrow at noon"},
        "change_event": {"event": "dentist", "to": "Thursday at 4pm"},
        "delete_event": {"event": "dentist"},
    }.items():
        tool = world.tools[name]
        first, second = [await tool.propose(tool.arguments(**arguments), context) for _ in range(2)]
        assert first.digest == second.digest


async def test_rules_see_the_calendar_that_was_resolved(world: World) -> None:
    created = await world.propose("create_event", title="Lunch", when="tomorrow at noon")
    changed = await world.propose("change_event", event="dentist", to="Thursday at 4pm")
    deleted = await world.propose("delete_event", event="dentist")
    calendar = created.facts["calendar"]
    assert calendar
    assert [p.facts["calendar"] for p in (changed, deleted)] == [calendar, calendar]
    assert (created.facts["title"], deleted.facts["title"]) == ("Lunch", "Dentist")
    assert created.facts["attendees"] == []
