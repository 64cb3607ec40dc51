"""Calendars in folders: one ``.ics`` file an event, as khal and vdirsyncer keep them (vdir).

A calendar is a folder; its files ``displayname`` and ``color`` are honoured. Other programs may
write the same files at any time: every write is atomic and conditional on what was read.
"""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from botpsy_calendar.events import read_events
from botpsy_calendar.store import (
    CalendarInfo,
    CalendarStore,
    ChangedMeanwhile,
    Missing,
    Resource,
    StoreProblem,
)

_LARGEST = 5 * 1024 * 1024


class VdirStore(CalendarStore):
    """A folder of calendars on this machine."""

    def __init__(self, root: Path, *, name: str = "local") -> None:
        self.name = name
        self._root = root
        self._warnings: dict[str, list[str]] = {}

    async def calendars(self) -> Sequence[CalendarInfo]:
        """Return the calendars; with none, makes the folder ``personal``."""
        try:
            folders = _visible_folders(self._root)
            if not folders:
                personal = self._root / "personal"
                personal.mkdir(parents=True, exist_ok=True)
                (personal / "displayname").write_text("Personal", encoding="utf-8")
                folders = [personal]
        except OSError as error:
            raise StoreProblem(f"The local calendar {self._root} can't be used: {error.strerror}.") from error
        return [
            CalendarInfo(f"{self.name}/{f.name}", _display_name(f), self.name, os.access(f, os.W_OK))
            for f in folders
        ]

    async def resources(self, calendar: CalendarInfo, start: datetime, end: datetime) -> Sequence[Resource]:
        """Return every event that can be read; `warnings` names the files that can't."""
        warnings = self._warnings[calendar.id] = []
        found: list[Resource] = []
        for path in sorted(self._folder(calendar).glob("*.ics")):
            try:
                data = _read(path)
                read_events(data)
            except (OSError, ValueError) as error:
                warnings.append(f"{path.name} is not a valid calendar file ({error}); it was left out.")
                continue
            found.append(Resource(calendar, path.name, _etag(data), data))
        return found

    async def read(self, calendar: CalendarInfo, href: str) -> Resource:
        """Return one event."""
        path = self._path(calendar, href)
        try:
            data = _read(path)
        except FileNotFoundError:
            raise Missing(f"The event's file {href} is gone.") from None
        except (OSError, ValueError) as error:
            raise StoreProblem(f"The event's file {href} can't be read: {error}.") from error
        return Resource(calendar, href, _etag(data), data)

    async def create(self, calendar: CalendarInfo, href: str, data: str) -> str | None:
        """Write a new file; never over one that is there."""
        path = self._path(calendar, href)
        try:
            temporary = _written(path.parent, data)
            try:
                os.link(temporary, path)
            finally:
                temporary.unlink()
            _sync_folder(path.parent)
        except FileExistsError:
            raise ChangedMeanwhile(f"There is an event {href} already; nothing was written.") from None
        except OSError as error:
            raise _cannot_write(path, error) from error
        return _etag(data)

    async def replace(self, calendar: CalendarInfo, href: str, data: str, etag: str) -> str | None:
        """Write over a file that is as it was read."""
        await self._still(calendar, href, etag)
        path = self._path(calendar, href)
        try:
            _written(path.parent, data).replace(path)
            _sync_folder(path.parent)
        except OSError as error:
            raise _cannot_write(path, error) from error
        return _etag(data)

    async def delete(self, calendar: CalendarInfo, href: str, etag: str) -> None:
        """Delete a file that is as it was read."""
        await self._still(calendar, href, etag)
        path = self._path(calendar, href)
        try:
            path.unlink()
            _sync_folder(path.parent)
        except OSError as error:
            raise _cannot_write(path, error) from error

    def warnings(self) -> Sequence[str]:
        """Return a sentence for each file that could not be read."""
        return tuple(warning for warnings in self._warnings.values() for warning in warnings)

    async def _still(self, calendar: CalendarInfo, href: str, etag: str) -> None:
        if (await self.read(calendar, href)).etag != etag:
            raise ChangedMeanwhile("The event was changed by another program meanwhile; nothing was written.")

    def _folder(self, calendar: CalendarInfo) -> Path:
        return self._root / calendar.id.removeprefix(f"{self.name}/")

    def _path(self, calendar: CalendarInfo, href: str) -> Path:
        if Path(href).name != href or not href.endswith(".ics"):
            raise StoreProblem(f"{href!r} is not the name of an event's file.")
        return self._folder(calendar) / href


def _visible_folders(root: Path) -> list[Path]:
    """Return a root's calendars; a hidden folder, such as ``.git``, is none."""
    if not root.exists():
        return []
    return sorted(f for f in root.iterdir() if f.is_dir() and not f.name.startswith("."))


def _display_name(folder: Path) -> str:
    try:
        return (folder / "displayname").read_text(encoding="utf-8").strip() or folder.name
    except (OSError, UnicodeDecodeError):
        return folder.name


def _read(path: Path) -> str:
    if path.stat().st_size > _LARGEST:
        raise ValueError("it is larger than 5 MB")
    # Kept as it is, line ends included: the ETag is of the very bytes.
    with path.open(encoding="utf-8-sig", newline="") as file:
        return file.read()


def _etag(data: str) -> str:
    return hashlib.sha256(data.encode()).hexdigest()


def _written(folder: Path, data: str) -> Path:
    """Write `data` to a new file beside its place, and have it on the disk."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot_write(path: Path, error: OSError) -> StoreProblem:
    return StoreProblem(f"{path} can't be written: {error.strerror}. Nothing was changed.")
