"""Calendars on a real Radicale, read back over HTTP by a reader of its own; and servers that fail."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from botpsy_calendar.caldav_store import CaldavAccount

from botpsy_tui.plugin import Account, AccountProblem, Risk, ToolError
from tests.calendar.world import World, event, lines
from tests.servers.radicale import RadicaleServer, start_radicale


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RadicaleServer]:
    with start_radicale(tmp_path_factory.mktemp("radicale")) as server:
        yield server


@pytest.fixture
def server(running: RadicaleServer) -> RadicaleServer:
    for name in running.names():
        running.request("DELETE", running.calendar_url + name)
    running.put("dentist", event("dentist", "Dentist", "20261202T130000", "20261202T140000", "X-COLOUR:teal"))
    return running


def account(url: str, username: str) -> Account:
    return Account("work", "caldav", {"url": url, "username": username})


@asynccontextmanager
async def opened(folder: Path, url: str, server: RadicaleServer, secret: str = "") -> AsyncIterator[World]:
    world = World(folder, account(url, server.username), secret=secret or server.password)
    try:
        yield world
    finally:
        await world.plugin.close()


async def test_an_account_is_connected_and_its_calendars_are_named(server: RadicaleServer) -> None:
    settings, sentence = await CaldavAccount().connect(
        {"url": server.url, "username": server.username}, server.password
    )
    assert "Personal" in sentence
    assert server.password not in str(settings)


async def test_a_wrong_password_is_said_to_be_wrong(server: RadicaleServer) -> None:
    with pytest.raises(AccountProblem, match="user name or password"):
        await CaldavAccount().connect({"url": server.url, "username": server.username}, "wrong")


async def test_a_server_that_is_not_there_is_said_not_to_be(server: RadicaleServer) -> None:
    with pytest.raises(AccountProblem, match="can't be reached"):
        await CaldavAccount().connect({"url": "http://127.0.0.1:9/", "username": "nia"}, "x")


async def test_an_event_is_created_changed_and_deleted(tmp_path: Path, server: RadicaleServer) -> None:
    async with opened(tmp_path, server.url, server) as world:
        proposal = await world.propose("create_event", title="Review", when="tomorrow at 15:00")
        assert lines(proposal)["Calendar"] == "Personal (work)"
        assert "Review" not in str(server.events())
        outcome = await world.commit(proposal)
        (review,) = [e for e in server.events() if e["SUMMARY"] == "Review"]
        assert review["DTSTART;TZID=Europe/Berlin"] == "20261202T150000"
        await world.undo("create_event", outcome)
        assert [e["SUMMARY"] for e in server.events()] == ["Dentist"]

        outcome = await world.do("change_event", event="dentist", to="Thursday at 4pm")
        (dentist,) = server.events()
        assert dentist["DTSTART;TZID=Europe/Berlin"] == "20261203T160000"
        assert dentist["X-COLOUR"] == "teal"
        await world.undo("change_event", outcome)
        assert server.events()[0]["DTSTART;TZID=Europe/Berlin"] == "20261202T130000"

        proposal = await world.propose("delete_event", event="dentist")
        assert proposal.risk is Risk.DESTRUCTIVE
        outcome = await world.commit(proposal)
        assert server.events() == []
        await world.undo("delete_event", outcome)
        assert server.events()[0]["SUMMARY"] == "Dentist"


async def test_an_event_changed_on_the_server_meanwhile_is_left_alone(
    tmp_path: Path, server: RadicaleServer
) -> None:
    async with opened(tmp_path, server.url, server) as world:
        moving = await world.propose("change_event", event="dentist", to="Thursday at 4pm")
        deleting = await world.propose("delete_event", event="dentist")
        server.put("dentist", event("dentist", "Surgeon", "20261202T130000", "20261202T140000"))
        for proposal in (moving, deleting):
            with pytest.raises(ToolError, match="changed") as caught:
                await world.commit(proposal)
            assert not getattr(caught.value, "unknown", False)
    assert [e["SUMMARY"] for e in server.events()] == ["Surgeon"]


async def test_an_event_made_there_meanwhile_is_not_written_over(
    tmp_path: Path, server: RadicaleServer
) -> None:
    async with opened(tmp_path, server.url, server) as world:
        proposal = await world.propose("create_event", title="Review", when="tomorrow at 15:00")
        await world.commit(proposal)
        with pytest.raises(ToolError):
            await world.commit(proposal)
    assert len(server.events()) == 2


async def test_a_wrong_password_in_use_changes_nothing(tmp_path: Path, server: RadicaleServer) -> None:
    async with opened(tmp_path, server.url, server, secret="wrong") as world:
        outcome = await world.do("list_events", when="tomorrow")
        assert "does not accept the user name or password" in outcome.text
        with pytest.raises(ToolError, match="user name or password"):
            await world.propose("create_event", title="Review", when="tomorrow at 15:00")


async def test_a_server_that_went_away_is_named_and_the_write_is_known_not_to_have_happened(
    tmp_path: Path,
) -> None:
    with start_radicale(tmp_path / "radicale") as server:
        async with opened(tmp_path, server.url, server) as world:
            proposal = await world.propose("create_event", title="Review", when="tomorrow at 15:00")
            server.stop()
            with pytest.raises(ToolError, match=r"127\.0\.0\.1"):
                await world.commit(proposal)
            server.start()
            assert server.events() == []


@asynccontextmanager
async def answer_lost(server: RadicaleServer) -> AsyncIterator[str]:
    """Stand before the server: pass all on, but hang up where a PUT should be answered."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _request(reader):
                there, out = await asyncio.open_connection("127.0.0.1", server.port)
                out.write(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
                answer = await there.read()
                out.close()
                if not request.startswith(b"PUT"):
                    writer.write(answer)
                    await writer.drain()
                return
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/"
    finally:
        proxy.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    if b"transfer-encoding" in fields:
        body = b""
        while not body.endswith(b"0\r\n\r\n"):
            body += await reader.readuntil(b"\r\n")
        return head + body
    return head + await reader.readexactly(int(fields.get(b"content-length", 0)))


async def test_a_write_whose_answer_is_lost_is_reported_as_unknown(
    tmp_path: Path, server: RadicaleServer
) -> None:
    async with (
        answer_lost(server) as url,
        opened(tmp_path, url, server) as world,
    ):
        proposal = await world.propose("create_event", title="Review", when="tomorrow at 15:00")
        with pytest.raises(ToolError) as caught:
            await world.commit(proposal)
    assert getattr(caught.value, "unknown", False)
    assert "not known" in str(caught.value)
    assert "Review" in str(server.events()), "it was made, and that is why it may not be tried again"
