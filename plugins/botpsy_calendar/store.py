"""Where events are kept: the interface of a store, and what can go wrong with one."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from botpsy_tui.plugin import ToolError


class StoreProblem(ToolError):
    """A store could not do what was asked; one sentence says why.

    With `unknown`, a write was sent and its answer lost: it may or may not have happened.
    """

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message, unknown=unknown)


class ChangedMeanwhile(StoreProblem):
    """The event is no longer as it was when it was read; nothing was written."""


class Missing(StoreProblem):
    """There is no such event (any more)."""


@dataclass(frozen=True)
class CalendarInfo:
    """A calendar of a store."""

    id: str
    """Unique over all stores, stable over restarts."""
    name: str
    account: str
    writable: bool = True
    schedules: bool = False
    """True where the server itself sends invitations to attendees (RFC 6638)."""


@dataclass(frozen=True)
class Resource:
    """One calendar object: an event with its overrides, as iCalendar text (RFC 5545)."""

    calendar: CalendarInfo
    href: str
    etag: str
    data: str


class CalendarStore(ABC):
    """Calendars in one place. All methods raise `StoreProblem`; writes are conditional."""

    name: str

    @abstractmethod
    async def calendars(self) -> Sequence[CalendarInfo]:
        """Return the calendars, the one for new events first."""

    @abstractmethod
    async def resources(self, calendar: CalendarInfo, start: datetime, end: datetime) -> Sequence[Resource]:
        """Return the objects that may have an occurrence between two instants."""

    @abstractmethod
    async def read(self, calendar: CalendarInfo, href: str) -> Resource:
        """Return one object. Raises `Missing`."""

    @abstractmethod
    async def create(self, calendar: CalendarInfo, href: str, data: str) -> str | None:
        """Write a new object; return its ETag where the store names it.

        Raises `ChangedMeanwhile` where one of that name is there.
        """

    @abstractmethod
    async def replace(self, calendar: CalendarInfo, href: str, data: str, etag: str) -> str | None:
        """Write over the object that has this ETag; return the new one where it is named.

        Raises `ChangedMeanwhile` or `Missing`.
        """

    @abstractmethod
    async def delete(self, calendar: CalendarInfo, href: str, etag: str) -> None:
        """Delete the object that has this ETag. Raises `ChangedMeanwhile` or `Missing`."""

    def warnings(self) -> Sequence[str]:
        """Return a sentence for each thing that was left out of the last reading."""
        return ()

    async def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Close connections."""
