"""Calendars on a CalDAV server (RFC 4791), through the caldav library in a thread of its own."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

import caldav

from botpsy_calendar.store import (
    CalendarInfo,
    CalendarStore,
    ChangedMeanwhile,
    Missing,
    Resource,
    StoreProblem,
)
from botpsy_tui.plugin import Account, AccountKind, AccountProblem, SecretUnavailable

SECONDS = 20
"""How long a server may take to answer."""

_QUERY = """<?xml version="1.0" encoding="utf-8"?>
<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">
<D:prop><D:getetag/><C:calendar-data/></D:prop>
<C:filter><C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT">
<C:time-range start="{start}" end="{end}"/>
</C:comp-filter></C:comp-filter></C:filter>
</C:calendar-query>"""

Result = TypeVar("Result")


class CaldavStore(CalendarStore):
    """The calendars of one CalDAV account."""

    def __init__(self, account: Account, secret: Callable[[Account], str]) -> None:
        self.name = account.name
        self._account = account
        self._secret = secret
        self._client: Any = None
        self._calendars: list[CalendarInfo] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"caldav-{account.name}")

    async def calendars(self) -> Sequence[CalendarInfo]:
        """Return the account's event calendars, as the server lists them."""
        if self._calendars is None:
            self._calendars = await self._run(self._find_calendars)
        return self._calendars

    async def resources(self, calendar: CalendarInfo, start: datetime, end: datetime) -> Sequence[Resource]:
        """Ask for what may occur in the time range (RFC 4791 §7.8)."""
        query = _QUERY.format(start=_utc(start), end=_utc(end))

        def work() -> list[Resource]:
            headers = {"Depth": "1", "Content-Type": "application/xml; charset=utf-8"}
            response = self._request("REPORT", _url_of(calendar), query, headers)
            _expect(response.status, self._host, 207)
            if response.tree is None:
                # caldav takes broken XML for an empty answer; "nothing is on" would be untrue.
                raise StoreProblem(f"{self._host} gave an answer that is not CalDAV (broken XML).")
            return [
                Resource(calendar, item.href, item.etag or "", item.calendar_data)
                for item in response.parse_calendar_query()
                if item.calendar_data
            ]

        return await self._run(work)

    async def read(self, calendar: CalendarInfo, href: str) -> Resource:
        """Fetch one event with its ETag."""

        def work() -> Resource:
            response = self._request("GET", self._absolute(calendar, href))
            _expect(response.status, self._host, 200)
            return Resource(calendar, href, response.headers.get("ETag", ""), response.raw)

        return await self._run(work)

    async def create(self, calendar: CalendarInfo, href: str, data: str) -> str | None:
        """Put a new object; the server refuses one that exists (``If-None-Match: *``)."""
        return await self._write("PUT", calendar, href, data, {"If-None-Match": "*"})

    async def replace(self, calendar: CalendarInfo, href: str, data: str, etag: str) -> str | None:
        """Put over an object; the server refuses one that was changed (``If-Match``)."""
        return await self._write("PUT", calendar, href, data, _if_match(etag))

    async def delete(self, calendar: CalendarInfo, href: str, etag: str) -> None:
        """Delete an object; the server refuses one that was changed (``If-Match``)."""
        await self._write("DELETE", calendar, href, "", _if_match(etag))

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._run(self._client.close)
        self._thread.shutdown(wait=False)

    async def _write(
        self, method: str, calendar: CalendarInfo, href: str, data: str, headers: Mapping[str, str]
    ) -> str | None:
        def work() -> str | None:
            sent = {"Content-Type": "text/calendar; charset=utf-8", **headers} if data else dict(headers)
            response = self._request(method, self._absolute(calendar, href), data, sent)
            _expect(response.status, self._host, 200, 201, 204, writes=True)
            return response.headers.get("ETag")

        return await self._run(work, writes=True)

    async def _run(self, work: Callable[[], Result], *, writes: bool = False) -> Result:
        def explained() -> Result:
            try:
                return work()
            except StoreProblem:
                raise
            except SecretUnavailable as error:
                raise StoreProblem(str(error)) from error
            except Exception as error:
                raise explain(error, self._host, writes=writes) from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, explained)

    def _request(
        self, method: str, url: str, body: str = "", headers: Mapping[str, str] | None = None
    ) -> Any:
        return self._connection().request(url, method, body, dict(headers or {}))

    def _connection(self) -> Any:
        if self._client is None:
            self._client = connect(self._account.settings, self._secret(self._account))
        return self._client

    def _find_calendars(self) -> list[CalendarInfo]:
        client = self._connection()
        return list_calendars(client, self._account.name)

    def _absolute(self, calendar: CalendarInfo, href: str) -> str:
        base = _url_of(calendar)
        if href.startswith("/"):
            parts = urlsplit(base)
            return f"{parts.scheme}://{parts.netloc}{href}"
        if "://" in href:
            if urlsplit(href).netloc != urlsplit(base).netloc:
                raise StoreProblem(f"The server names an event on another host ({href}); it is left alone.")
            return href
        return base.rstrip("/") + "/" + href

    @property
    def _host(self) -> str:
        url = self._account.settings.get("url", "")
        return urlsplit(url).netloc or url or self._account.name


class CaldavAccount(AccountKind):
    """``botpsy account add caldav URL --user NAME``."""

    kind: ClassVar[str] = "caldav"
    description: ClassVar[str] = "A CalDAV server: Nextcloud, Radicale, Fastmail, iCloud and others"

    async def connect(self, settings: Mapping[str, str], secret: str | None) -> tuple[dict[str, str], str]:
        """Log in and list the calendars."""
        url = settings.get("url", "")
        if not url.startswith(("http://", "https://")):
            url = f"https://{url}"
        if not settings.get("username"):
            raise AccountProblem("A CalDAV account needs a user name: add --user NAME.")
        complete = {**settings, "url": url}

        def work() -> list[CalendarInfo]:
            client = connect(complete, secret or "")
            try:
                return list_calendars(client, "")
            finally:
                client.close()

        try:
            found = await asyncio.to_thread(work)
        except StoreProblem as error:
            raise AccountProblem(str(error)) from error
        except Exception as error:
            raise AccountProblem(str(explain(error, urlsplit(url).netloc))) from error
        if not found:
            raise AccountProblem(
                f"{urlsplit(url).netloc} has no calendar for this user; make one there first."
            )
        names = ", ".join(calendar.name for calendar in found)
        plain = " The connection is not encrypted." if url.startswith("http://") else ""
        return complete, f"{len(found)} calendar{'s' * (len(found) != 1)} found: {names}.{plain}"


def connect(settings: Mapping[str, str], secret: str) -> Any:
    """Make a client; nothing is asked of the server yet."""
    make: Any = caldav.DAVClient
    return make(
        url=settings["url"],
        username=settings.get("username"),
        password=secret,
        timeout=SECONDS,
        rate_limit_handle=False,
        enable_rfc6764=False,
    )


def list_calendars(client: Any, account: str) -> list[CalendarInfo]:
    """Return the calendars that hold events, through principal and home set (RFC 4791 §6.2)."""
    principal: Any = client.principal()
    schedules = "calendar-auto-schedule" in (_dav_header(client, str(principal.url)) or "")
    found: list[CalendarInfo] = []
    for calendar in principal.calendars():
        components = calendar.get_supported_components() or ["VEVENT"]
        if "VEVENT" in components:
            name = calendar.get_display_name() or str(calendar.url).rstrip("/").rpartition("/")[2]
            found.append(CalendarInfo(str(calendar.url), name, account, schedules=schedules))
    return found


def _dav_header(client: Any, url: str) -> str | None:
    return client.request(url, "OPTIONS").headers.get("DAV")


def explain(error: Exception, host: str, *, writes: bool = False) -> StoreProblem:
    """Return what went wrong between us and a server as one sentence."""
    import niquests  # a third of a second, and a person without a server never needs it
    from caldav.lib import error as dav_error

    if isinstance(error, dav_error.AuthorizationError) and error.status == 403:
        return StoreProblem(f"{host} does not allow that; nothing was changed.")
    if isinstance(error, dav_error.AuthorizationError):
        return StoreProblem(f"{host} does not accept the user name or password; add the account again.")
    if isinstance(error, dav_error.RateLimitError):
        seconds = error.retry_after_seconds
        wait = "a minute" if seconds is None else f"{seconds:.0f} s"
        return StoreProblem(f"{host} asks us to wait; nothing was changed, try again in {wait}.")
    if isinstance(error, dav_error.NotFoundError):
        return Missing(f"{host} has nothing at that address.")
    if isinstance(error, niquests.exceptions.SSLError):
        return StoreProblem(f"The certificate of {host} can't be trusted: {_innermost(error)}.")
    if isinstance(error, niquests.exceptions.ConnectTimeout):
        return StoreProblem(f"{host} can't be reached: no answer within {SECONDS} s.")
    lost = " It is not known whether the change was made: look before you try again." if writes else ""
    if isinstance(error, niquests.exceptions.Timeout):
        return StoreProblem(f"{host} took longer than {SECONDS} s to answer.{lost}", unknown=writes)
    if isinstance(error, niquests.exceptions.ConnectionError):
        refused = any(
            word in repr(error) for word in ("refused", "NameResolution", "resolve", "NewConnection")
        )
        if refused:
            return StoreProblem(f"{host} can't be reached: it refuses connections or does not exist.")
        return StoreProblem(f"The connection to {host} broke off.{lost}", unknown=writes)
    if isinstance(error, dav_error.DAVError):
        return StoreProblem(f"{host} gave an answer that is not CalDAV ({type(error).__name__}).")
    return StoreProblem(f"{host} could not be used ({type(error).__name__}: {error}).{lost}", unknown=writes)


_STATUS = {
    401: "does not accept the user name or password; add the account again",
    403: "does not allow that",
    413: "says the event is too large",
    423: "says the event is locked; try again later",
    429: "asks us to wait; try again in a minute",
    500: "has an error of its own",
    502: "can't be reached behind its gateway",
    504: "can't be reached behind its gateway",
    503: "is not available now; try again in a minute",
    507: "has no space left",
}


def _expect(status: int, host: str, *good: int, writes: bool = False) -> None:
    """Raise the sentence for a status that is not among `good`."""
    if status in good:
        return
    if status in (404, 410):
        raise Missing("The event is gone from the server.")
    if status in (409, 412):
        raise ChangedMeanwhile("The event was changed on the server meanwhile; nothing was written.")
    if writes and status in (500, 502, 504):
        raise StoreProblem(
            f"{host} {_STATUS[status]}. It is not known whether the change was made: "
            "look before you try again.",
            unknown=True,
        )
    raise StoreProblem(
        f"{host} {_STATUS.get(status, f'answered with status {status}')}; nothing was changed."
    )


def _innermost(error: BaseException) -> str:
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__  # pyright: ignore
    return str(error).rstrip(".")


def _if_match(etag: str) -> dict[str, str]:
    """Return the precondition. Without a strong ETag there is none (RFC 9110 §13.1.1): refused."""
    if not etag or etag.startswith("W/"):
        raise StoreProblem("The server gives no exact version of this event; change it there.")
    return {"If-Match": etag}


def _url_of(calendar: CalendarInfo) -> str:
    return calendar.id


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
