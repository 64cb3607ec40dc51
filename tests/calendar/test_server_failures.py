"""What a person reads where a CalDAV server refuses: who, why, and what to do; and whether it happened."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from botpsy_calendar.caldav_store import CaldavStore
from botpsy_calendar.store import CalendarInfo, StoreProblem

from botpsy_tui.plugin import Account
from tests.calendar.world import NOW, event

LUNCH = event("lunch", "Lunch", "20261202T120000", "20261202T130000")


@contextmanager
def answering(status: int, body: bytes = b"", **headers: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Run a server that gives one answer to all; give its URL and the headers of what was asked."""
    asked: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            super().handle_one_request()

        def answer(self) -> None:
            asked.append({**{k.lower(): v for k, v in self.headers.items()}, "method": self.command})
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_DELETE = do_REPORT = do_PROPFIND = do_OPTIONS = do_GET = answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        server.server_close()


def store_at(url: str) -> tuple[CaldavStore, CalendarInfo]:
    account = Account("work", "caldav", {"url": url, "username": "nia"})
    return CaldavStore(account, lambda _account: "secret"), CalendarInfo(f"{url}c/", "c", "work")


@pytest.mark.parametrize(
    ("status", "says", "unknown"),
    [
        (401, "does not accept the user name or password", False),
        (403, "does not allow that", False),
        (404, "gone", False),
        (412, "changed", False),
        (413, "too large", False),
        (423, "locked", False),
        (500, "not known whether", True),
        (502, "not known whether", True),
        (503, "not available", False),
        (504, "not known whether", True),
        (507, "no space", False),
    ],
)
async def test_a_write_that_is_refused_says_why_and_whether_it_happened(
    status: int, says: str, unknown: bool
) -> None:
    with answering(status) as (url, _):
        store, calendar = store_at(url)
        with pytest.raises(StoreProblem, match=says) as caught:
            await store.replace(calendar, "lunch.ics", LUNCH, '"1"')
        await store.close()
    assert caught.value.unknown is unknown
    assert str(caught.value).endswith(".")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_asks_to_wait_says_how_long(status: int) -> None:
    with answering(status, Retry_After="120") as (url, _):
        store, calendar = store_at(url)
        with pytest.raises(StoreProblem, match="120 s"):
            await store.replace(calendar, "lunch.ics", LUNCH, '"1"')
        await store.close()


async def test_the_conditions_of_a_write_are_sent() -> None:
    with answering(204) as (url, asked):
        store, calendar = store_at(url)
        await store.create(calendar, "lunch.ics", LUNCH)
        await store.replace(calendar, "lunch.ics", LUNCH, '"1"')
        await store.delete(calendar, "lunch.ics", '"2"')
        await store.close()
    sent = [(a["method"], a.get("if-none-match"), a.get("if-match")) for a in asked]
    assert sent == [("PUT", "*", None), ("PUT", None, '"1"'), ("DELETE", None, '"2"')]


async def test_broken_xml_is_one_sentence() -> None:
    with answering(207, b"<not><xml") as (url, _):
        store, calendar = store_at(url)
        with pytest.raises(StoreProblem, match=r"127\.0\.0\.1.*not CalDAV"):
            await store.resources(calendar, NOW, NOW + timedelta(days=1))
        await store.close()


async def test_a_host_that_does_not_exist_is_one_sentence() -> None:
    store, calendar = store_at("http://no-such-host.invalid/")
    with pytest.raises(StoreProblem, match="can't be reached") as caught:
        await store.create(calendar, "lunch.ics", LUNCH)
    await store.close()
    assert not caught.value.unknown
