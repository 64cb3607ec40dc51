"""Mail in folders on this machine: one file a message (Maildir), as mbsync, neomutt and mu keep them.

Both layouts are read: Maildir++ (the root is the inbox, its folders are called ``.Name``) and plain
folders in folders. Other programs may write the same files at any time; nothing is cached but what
a file's name can't change.
"""

import asyncio
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from botpsy_mail.content import searchable_text
from botpsy_mail.headlines import headline_of
from botpsy_mail.limits import MOST_BYTES, MOST_HEADER_BYTES
from botpsy_mail.matching import fits
from botpsy_mail.roles import NEW_NAMES, role_of
from botpsy_mail.store import (
    Flag,
    Folder,
    Headline,
    MailStore,
    MessageKey,
    Missing,
    Query,
    Role,
    StoredMessage,
    StoreProblem,
)

_LETTERS = {Flag.DRAFT: "D", Flag.FLAGGED: "F", Flag.ANSWERED: "R", Flag.SEEN: "S"}
_TRASHED = "T"
_DEEPEST = 4
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_ATTACHED = re.compile(rb"^content-disposition:\s*attachment", re.IGNORECASE | re.MULTILINE)
_LOOK_FOR_ATTACHMENTS = 64_000
_MOST_KNOWN = 50_000
Result = TypeVar("Result")


class MaildirStore(MailStore):
    """A Maildir and the folders in it."""

    def __init__(
        self, root: Path, zone: ZoneInfo, *, name: str = "local", address: str = "", make: bool = True
    ) -> None:
        """`make`: with no folder there yet, make the usual ones."""
        self.name = name
        self._make = make
        self.address = address
        self._root = root
        self._zone = zone
        self._known: dict[tuple[str, str], tuple[bytes, int, float, bool]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"maildir-{name}")

    async def folders(self) -> Sequence[Folder]:
        """Return the folders; where there are none, those of a new mailbox."""
        return await self._run(self._folders)

    async def search(self, folder: Folder, query: Query, most: int) -> tuple[Sequence[Headline], int]:
        """Read the folder's headers, and what the messages say where words are looked for."""

        def work() -> tuple[list[Headline], int]:
            found = [
                headline
                for path in self._files(folder.path)
                if (headline := self._headline(folder.path, path))
                and fits(query, headline, lambda path=path: searchable_text(_read(path)), self._zone)
            ]
            found.sort(key=lambda headline: headline.moment, reverse=True)
            return found[:most], len(found)

        return await self._run(work)

    async def headline(self, key: MessageKey) -> Headline:
        """Return one message's headline."""

        def work() -> Headline:
            headline = self._headline(key.folder, self._file(key))
            if headline is None:
                raise Missing("The message is gone.")
            return headline

        return await self._run(work)

    async def read(self, key: MessageKey) -> StoredMessage:
        """Return a whole message."""

        def work() -> StoredMessage:
            path = self._file(key)
            arrived = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            return StoredMessage(key, _read(path), _flags_of(path), arrived)

        return await self._run(work)

    async def mark(
        self, key: MessageKey, *, add: Collection[Flag] = (), remove: Collection[Flag] = ()
    ) -> None:
        """Give the file the name that carries the new flags."""

        def work() -> None:
            path = self._file(key)
            letters = set(_letters_of(path)) - {_LETTERS[flag] for flag in remove}
            letters |= {_LETTERS[flag] for flag in add}
            path.rename(path.parent.parent / "cur" / f"{key.id}:2,{''.join(sorted(letters))}")

        await self._run(work)

    async def move(self, key: MessageKey, to: Folder) -> MessageKey | None:
        """Move the file under a new name, so that no synchroniser takes it for the old message."""

        def work() -> MessageKey:
            path, unique = self._file(key), _new_name()
            path.rename(self._folder(to.path) / "cur" / f"{unique}:2,{_letters_of(path)}")
            return MessageKey(self.name, to.path, unique)

        return await self._run(work)

    async def add(self, folder: Folder, raw: bytes, flags: Collection[Flag] = ()) -> MessageKey | None:
        """Write a new file, have it on the disk, then give it its place."""

        def work() -> MessageKey:
            unique, place = _new_name(), self._folder(folder.path)
            temporary = place / "tmp" / unique
            with temporary.open("xb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            letters = "".join(sorted(_LETTERS[flag] for flag in flags))
            temporary.rename(place / "cur" / f"{unique}:2,{letters}")
            return MessageKey(self.name, folder.path, unique)

        return await self._run(work)

    async def remove(self, key: MessageKey) -> None:
        """Delete the file."""
        await self._run(lambda: self._file(key).unlink())

    async def make(self, role: Role) -> Folder:
        """Make a folder for a role, in the layout that is there."""

        def work() -> Folder:
            name = NEW_NAMES[role]
            path = f".{name}" if (self._root / "cur").is_dir() else name
            _make_maildir(self._root / path)
            return Folder(self.name, path, role)

        return await self._run(work)

    async def close(self) -> None:
        """Let the thread go."""
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[], Result]) -> Result:
        def explained() -> Result:
            try:
                return work()
            except FileNotFoundError as error:
                raise Missing("The message is gone: another program has moved or deleted it.") from error
            except OSError as error:
                raise StoreProblem(
                    f"The local mail {self._root} can't be used: {error.strerror}; nothing was changed."
                ) from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, explained)

    def _folders(self) -> list[Folder]:
        places = list(_maildirs(self._root)) if self._root.exists() else []
        if not places and self._make:
            for path in ("", *(f".{name}" for name in NEW_NAMES.values())):
                _make_maildir(self._root / path)
            places = list(_maildirs(self._root))
        found: list[Folder] = []
        for place in places:
            path = "" if place == self._root else place.relative_to(self._root).as_posix()
            last = re.split(r"[./]", path)[-1] if path else "inbox"
            found.append(Folder(self.name, path or "INBOX", role_of(last)))
        return sorted(found, key=lambda folder: (folder.role is not Role.INBOX, folder.path))

    def _folder(self, path: str) -> Path:
        if ".." in Path(path).parts or Path(path).is_absolute():
            raise StoreProblem(f"{path!r} is no folder of the local mail.")
        if path == "INBOX" and (self._root / "cur").is_dir():
            return self._root
        return self._root / path

    def _files(self, folder: str) -> list[Path]:
        place = self._folder(folder)
        return [
            Path(entry.path)
            for part in ("new", "cur")
            for entry in os.scandir(place / part)
            if not entry.name.startswith(".") and "\n" not in entry.name and _TRASHED not in _info(entry.name)
        ]

    def _file(self, key: MessageKey) -> Path:
        """Return where a message lies now. Raises `Missing`."""
        place = self._folder(key.folder)
        for part in ("cur", "new"):
            for entry in os.scandir(place / part):
                if _unique(entry.name) == key.id:
                    return Path(entry.path)
        raise Missing("The message is gone: another program has moved or deleted it.")

    def _headline(self, folder: str, path: Path) -> Headline | None:
        """Return a file's headline, or None where it vanished meanwhile."""
        unique = _unique(path.name)
        known = self._known.get((folder, unique))
        if known is None:
            try:
                with path.open("rb") as file:
                    start = file.read(max(MOST_HEADER_BYTES + 4, _LOOK_FOR_ATTACHMENTS))
                    size, arrived = os.fstat(file.fileno()).st_size, os.fstat(file.fileno()).st_mtime
            except FileNotFoundError:
                return None
            end = _HEAD_END.search(start)
            head = start[: end.end()] if end else start
            known = head, size, arrived, _ATTACHED.search(start) is not None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[folder, unique] = known
        head, size, arrived, attached = known
        return headline_of(
            MessageKey(self.name, folder, unique),
            head,
            arrived=datetime.fromtimestamp(arrived, UTC),
            flags=_flags_of(path),
            size=size,
            attachments=attached,
        )


def _maildirs(root: Path, depth: int = 0) -> list[Path]:
    """Return the folders at and below a root that hold mail."""
    found = [root] if (root / "cur").is_dir() and (root / "new").is_dir() else []
    if depth < _DEEPEST:
        for inner in sorted(root.iterdir()):
            if inner.name not in ("cur", "new", "tmp") and inner.is_dir() and not inner.is_symlink():
                found += _maildirs(inner, depth + 1)
    return found


def _make_maildir(path: Path) -> None:
    for part in ("cur", "new", "tmp"):
        (path / part).mkdir(parents=True, exist_ok=True, mode=0o700)


def _new_name() -> str:
    host = socket.gethostname().replace("/", "_").replace(":", "_")
    return f"{int(time.time())}.{secrets.token_hex(8)}.{host}"


def _read(path: Path) -> bytes:
    if path.stat().st_size > MOST_BYTES:
        raise StoreProblem(f"The message is larger than {MOST_BYTES // 1_000_000} MB; open it elsewhere.")
    return path.read_bytes()


def _unique(name: str) -> str:
    return name.partition(":2,")[0]


def _info(name: str) -> str:
    return name.partition(":2,")[2]


def _letters_of(path: Path) -> str:
    return _info(path.name)


def _flags_of(path: Path) -> frozenset[Flag]:
    letters = _letters_of(path)
    return frozenset(flag for flag, letter in _LETTERS.items() if letter in letters)
