"""Faults that were found, each with its right value."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botpsy_calendar.caldav_store import CaldavStore
from botpsy_calendar.ics import occurrences
from botpsy_calendar.plugin import CalendarPlugin
from botpsy_calendar.store import CalendarInfo, Resource, StoreProblem
from botpsy_calendar.vdir import VdirStore

from botpsy_tui.plugin import Account, ToolError
from tests.calendar.world import BERLIN, NOW, World, event, lines

HOURS = ",".join(map(str, range(24)))
SIXTY = ",".join(map(str, range(60)))


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.add("dentist", event("dentist", "Dentist", "20261202T130000", "20261202T140000"))
    return world


async def test_part_of_an_address_is_another_person_and_is_not_invited(world: World) -> None:
    with pytest.raises(ToolError, match="no mail address"):
        await world.propose(
            "create_event", title="Lunch", when="tomorrow at noon", attendees="müller@example.org"
        )


async def test_an_address_right_behind_the_name_is_the_persons(world: World) -> None:
    words = "Meet with Lena (lena@example.org) tomorrow at 3pm"
    proposal = await world.propose(
        "create_event", words, title="Meet", when="tomorrow at 3pm", attendees="Lena"
    )
    assert lines(proposal)["With"] == "lena@example.org"


async def test_an_event_on_another_day_is_not_deleted(world: World) -> None:
    with pytest.raises(ToolError, match="Dentist"):
        await world.propose("delete_event", "delete the dentist on Friday", event="the dentist on Friday")


async def test_a_day_that_stands_elsewhere_in_the_sentence_counts_as_well(world: World) -> None:
    with pytest.raises(ToolError, match="Dentist"):
        await world.propose("delete_event", "on Friday, delete the dentist", event="the dentist")


async def test_a_span_that_holds_the_new_day_too_names_the_event(world: World) -> None:
    proposal = await world.propose(
        "change_event", "Move the dentist to Friday", event="the dentist to Friday", to="Friday"
    )
    assert lines(proposal)["When"].startswith("Fri 4 Dec 2026, 13:00–14:00")


async def test_an_id_among_other_words_names_its_event(world: World) -> None:
    await world.do("list_events", when="tomorrow")
    proposal = await world.propose("delete_event", "Delete e1 please", event="Delete e1 please")
    assert lines(proposal)["What"] == "Dentist"


async def test_an_event_can_be_named_by_its_day_alone(world: World) -> None:
    proposal = await world.propose(
        "delete_event", "delete my event on Wednesday", event="my event on Wednesday"
    )
    assert lines(proposal)["What"] == "Dentist"


async def test_an_invitation_to_one_occurrence_is_deleted_as_a_whole(world: World) -> None:
    world.add(
        "one",
        event("one", "Guest", "20261203T100000", "", "RECURRENCE-ID;TZID=Europe/Berlin:20261203T100000"),
    )
    await world.do("delete_event", event="guest")
    assert list(world.files()) == ["dentist.ics"]


async def test_an_empty_title_has_a_default(world: World) -> None:
    assert lines(await world.propose("create_event", title='""', when="tomorrow at 3pm"))["What"] == "Event"


def test_the_persons_address_is_never_made_up(tmp_path: Path) -> None:
    account = Account("work", "caldav", {"url": "http://localhost/", "username": "nia"})
    plugin: Any = World(tmp_path, account).plugin
    assert isinstance(plugin, CalendarPlugin)
    assert plugin._own_address("work") == ""


async def test_a_server_that_is_away_does_not_hide_the_local_calendar(tmp_path: Path) -> None:
    world = World(tmp_path, Account("work", "caldav", {"url": "http://127.0.0.1:9/", "username": "nia"}))
    world.add("dentist", event("dentist", "Dentist", "20261202T130000", "20261202T140000"))
    outcome = await world.do("list_events", when="tomorrow")
    assert "Dentist" in outcome.text
    assert "127.0.0.1:9 can't be reached" in outcome.view
    with pytest.raises(ToolError, match="can't be reached"):
        await world.propose("create_event", title="Lunch", when="tomorrow at noon")
    await world.plugin.close()


async def test_broken_files_of_every_calendar_are_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.ics").write_text("nonsense")
    store = VdirStore(tmp_path)
    for calendar in await store.calendars():
        await store.resources(calendar, NOW, NOW)
    assert [warning[:5] for warning in store.warnings()] == ["a.ics", "b.ics"]


async def test_undo_knows_its_own_write_by_the_etag_that_the_write_gave(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = VdirStore.create

    async def create_and_be_overtaken(self: VdirStore, calendar: Any, href: str, data: str) -> str | None:
        etag = await original(self, calendar, href, data)
        path = world.personal / href
        path.write_text(path.read_text().replace("Lunch", "Brunch"))
        return etag

    monkeypatch.setattr(VdirStore, "create", create_and_be_overtaken)
    outcome = await world.do("create_event", title="Lunch", when="tomorrow at noon")
    with pytest.raises(ToolError, match="changed"):
        await world.undo("create_event", outcome)


@pytest.mark.parametrize("etag", ["", 'W/"1"'])
async def test_without_an_exact_version_nothing_is_written_over(etag: str) -> None:
    store = CaldavStore(Account("work", "caldav", {"url": "http://127.0.0.1:9/"}), lambda _account: "")
    calendar = CalendarInfo("http://127.0.0.1:9/c/", "c", "work")
    with pytest.raises(StoreProblem, match="exact version"):
        await store.replace(calendar, "x.ics", "data", etag)


@pytest.mark.parametrize(
    "rule",
    [
        f"FREQ=DAILY;BYHOUR={HOURS};BYMINUTE={SIXTY}",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYYEARDAY=366;BYMONTH=1",
        "FREQ=DAILY;BYWEEKNO=1;BYMONTH=6",
        "FREQ=WEEKLY;BYYEARDAY=366;BYMONTH=1",
        "FREQ=DAILY;BYSETPOS=5",
        "FREQ=DAILY;BYMONTH=13",
    ],
)
def test_a_rule_made_to_take_for_ever_is_refused_at_once(rule: str) -> None:
    text = event("1", "x", "19700101T000000Z", "", f"RRULE:{rule}")
    resource = Resource(CalendarInfo("a", "a", "a"), "x.ics", "1", text)
    started = time.monotonic()
    with pytest.raises(ValueError):  # noqa: PT011 - each says it in its own words
        occurrences(resource, NOW, NOW + timedelta(days=365), BERLIN)
    assert time.monotonic() - started < 0.5


def test_an_object_with_more_than_a_moments_work_is_refused() -> None:
    series = "".join(
        f"BEGIN:VEVENT\r\nUID:{i}\r\nDTSTART:19700101T000000Z\r\nRRULE:FREQ=DAILY\r\nEND:VEVENT\r\n"
        for i in range(300)
    )
    dates = [
        f"RDATE:202612{d:02d}T{h:02d}{m:02d}00Z" for d in range(1, 5) for h in range(24) for m in range(60)
    ]
    for text in (
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{series}END:VCALENDAR\r\n",
        event("1", "x", "20261201T000000Z", "", *dates),
        event("1", "x" * 3_000_000, "20261201T000000Z"),
    ):
        resource = Resource(CalendarInfo("a", "a", "a"), "x.ics", "1", text)
        started = time.monotonic()
        with pytest.raises(ValueError, match=r"more than|too large"):
            occurrences(resource, NOW, NOW + timedelta(days=365), BERLIN)
        assert time.monotonic() - started < 2
