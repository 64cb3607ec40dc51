"""Calendars in folders: what other programs keep there stays theirs."""

from datetime import timedelta
from pathlib import Path

import pytest
from botpsy_calendar.store import ChangedMeanwhile, Missing, StoreProblem
from botpsy_calendar.vdir import VdirStore

from tests.calendar.world import NOW, event

SOON = (NOW, NOW + timedelta(days=30))
LUNCH = event("lunch", "Lunch", "20261202T120000", "20261202T130000")


async def test_the_first_use_makes_a_calendar(tmp_path: Path) -> None:
    (calendar,) = await VdirStore(tmp_path / "calendars").calendars()
    assert (calendar.name, calendar.writable) == ("Personal", True)
    assert (tmp_path / "calendars" / "personal").is_dir()


async def test_the_name_that_khal_shows_is_the_name(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "displayname").write_text("Choir\n")
    (tmp_path / "b").mkdir()
    assert [c.name for c in await VdirStore(tmp_path).calendars()] == ["Choir", "b"]


async def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    store = VdirStore(tmp_path)
    (calendar,) = await store.calendars()
    await store.create(calendar, "lunch.ics", LUNCH)
    (found,) = await store.resources(calendar, *SOON)
    assert found.data == LUNCH
    assert (tmp_path / "personal" / "lunch.ics").read_bytes() == LUNCH.encode()
    assert not [path for path in (tmp_path / "personal").iterdir() if path.suffix == ".tmp"]


async def test_an_event_is_not_written_over_another(tmp_path: Path) -> None:
    store = VdirStore(tmp_path)
    (calendar,) = await store.calendars()
    await store.create(calendar, "lunch.ics", LUNCH)
    with pytest.raises(ChangedMeanwhile):
        await store.create(calendar, "lunch.ics", "other")
    assert (await store.read(calendar, "lunch.ics")).data == LUNCH


async def test_a_file_changed_by_another_program_is_left_alone(tmp_path: Path) -> None:
    store = VdirStore(tmp_path)
    (calendar,) = await store.calendars()
    await store.create(calendar, "lunch.ics", LUNCH)
    read = await store.read(calendar, "lunch.ics")
    path = tmp_path / "personal" / "lunch.ics"
    path.write_text("changed")
    with pytest.raises(ChangedMeanwhile):
        await store.replace(calendar, "lunch.ics", "mine", read.etag)
    with pytest.raises(ChangedMeanwhile):
        await store.delete(calendar, "lunch.ics", read.etag)
    assert path.read_text() == "changed"


async def test_a_file_that_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    store = VdirStore(tmp_path)
    (calendar,) = await store.calendars()
    with pytest.raises(Missing):
        await store.delete(calendar, "never.ics", "etag")


async def test_a_broken_file_is_named_and_blocks_nothing(tmp_path: Path) -> None:
    store = VdirStore(tmp_path)
    (calendar,) = await store.calendars()
    await store.create(calendar, "lunch.ics", LUNCH)
    broken = tmp_path / "personal" / "broken.ics"
    broken.write_bytes(b"BEGIN:VCALENDAR\r\nnonsense\r\n\xff\xfe")
    assert [r.href for r in await store.resources(calendar, *SOON)] == ["lunch.ics"]
    (warning,) = store.warnings()
    assert "broken.ics" in warning
    assert broken.read_bytes().startswith(b"BEGIN:VCALENDAR\r\nnonsense")


@pytest.mark.parametrize("href", ["../lunch.ics", "a/b.ics", "/etc/passwd", "lunch.txt", ""])
async def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, href: str) -> None:
    store = VdirStore(tmp_path)
    (calendar,) = await store.calendars()
    with pytest.raises(StoreProblem):
        await store.create(calendar, href, LUNCH)
