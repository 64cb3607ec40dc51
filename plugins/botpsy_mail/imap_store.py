"""Mail on an IMAP server (RFC 3501), through one connection in a thread of its own."""

import asyncio
import imaplib
import re
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError, ProtocolError

from botpsy_mail.headlines import HEADLINE_FIELDS, headline_of
from botpsy_mail.imap_connection import ConnectionLost, close, open_connection
from botpsy_mail.imap_search import search_keys
from botpsy_mail.limits import MOST_BYTES
from botpsy_mail.matching import fits_headline
from botpsy_mail.protocol import id_set, mailbox_argument
from botpsy_mail.roles import NEW_NAMES, role_of
from botpsy_mail.servers import explain, server_of
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
from botpsy_tui.plugin import Account, SecretUnavailable, for_display_line

_GONE = "The message is gone: it was moved or deleted elsewhere."
_BATCH = 100
_MOST_LOOKED_AT = 3000
"""Messages whose structure is asked for where the server can't search for what is wanted."""
_MAY_BE_GONE = 60
"""Seconds without a word after which the connection is tried before something is changed."""
_HEAD = f"BODY.PEEK[HEADER.FIELDS ({' '.join(HEADLINE_FIELDS)})]"
_SPECIAL_USE = {
    b"\\sent": Role.SENT, b"\\drafts": Role.DRAFTS, b"\\archive": Role.ARCHIVE, b"\\trash": Role.TRASH,
    b"\\junk": Role.JUNK, b"\\all": Role.ALL,
}  # fmt: skip
_FLAGS = {flag.value.lower().encode(): flag for flag in Flag}
Result = TypeVar("Result")


class ImapStore(MailStore):
    """The mail of one IMAP account."""

    def __init__(self, account: Account, secret: Callable[[Account], str], zone: ZoneInfo) -> None:
        self.name = account.name
        self.address = account.settings.get("email", "")
        self._account = account
        self._secret = secret
        self._zone = zone
        self._client: IMAPClient | None = None
        self._selected: tuple[str, bool] | None = None
        self._validity = 0
        self._last_word = 0.0
        self._folders: list[Folder] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"imap-{account.name}")

    async def folders(self) -> Sequence[Folder]:
        """Return the folders that the server lists, with the roles it gives them or their names."""
        if self._folders is None:
            self._folders = await self._run(self._list_folders)
        return self._folders

    async def search(self, folder: Folder, query: Query, most: int) -> tuple[Sequence[Headline], int]:
        """Search on the server, newest arrivals first."""
        keys = search_keys(query)

        def work(client: IMAPClient) -> tuple[list[Headline], int]:
            self._open(client, folder.path)
            uids = _newest_first(client, keys)
            picky = bool(query.attachments or query.first or query.last)
            found: list[Headline] = []
            misses = 0
            for start in range(0, min(len(uids), _MOST_LOOKED_AT), _BATCH):
                step = _BATCH if picky else most
                for headline in self._headlines(client, folder.path, uids[start : start + step]):
                    if picky and not fits_headline(_only_here(query), headline, self._zone):
                        misses += 1
                    else:
                        found.append(headline)
                if len(found) >= most:
                    break
            found.sort(key=lambda headline: headline.moment, reverse=True)
            return found[:most], max(len(uids) - misses, len(found))

        return await self._run(work)

    async def headline(self, key: MessageKey) -> Headline:
        """Return one message's headline."""

        def work(client: IMAPClient) -> Headline:
            self._open(client, key.folder)
            found = self._headlines(client, key.folder, [self._uid(key)])
            if not found:
                raise Missing(_GONE)
            return found[0]

        return await self._run(work)

    async def read(self, key: MessageKey) -> StoredMessage:
        """Fetch a whole message, without marking it as read."""

        def work(client: IMAPClient) -> StoredMessage:
            self._open(client, key.folder)
            uid = self._uid(key)
            size = _only(client, uid, ["RFC822.SIZE"]).get(b"RFC822.SIZE", 0)
            if isinstance(size, int) and size > MOST_BYTES:
                raise StoreProblem(
                    f"The message is larger than {MOST_BYTES // 1_000_000} MB; open it elsewhere."
                )
            found = _only(client, uid, ["BODY.PEEK[]", "INTERNALDATE"])
            raw = found.get(b"BODY[]")
            if not isinstance(raw, bytes):
                raise StoreProblem(f"{self._where} does not give the message.")
            return StoredMessage(key, raw, _flags(found), _arrived(found) or datetime.now(UTC))

        return await self._run(work)

    async def mark(
        self, key: MessageKey, *, add: Collection[Flag] = (), remove: Collection[Flag] = ()
    ) -> None:
        """Change the flags."""

        def work(client: IMAPClient) -> None:
            self._open(client, key.folder, writable=True)
            uid = self._uid(key)
            _only(client, uid, [])  # a server says yes to changing nothing
            if add:
                client.add_flags(uid, [flag.value for flag in add], silent=True)
            if remove:
                client.remove_flags(uid, [flag.value for flag in remove], silent=True)

        await self._run(work, changes=True)

    async def move(self, key: MessageKey, to: Folder) -> MessageKey | None:
        """Move in one step where the server can (RFC 6851), else copy and take the old one out."""
        mailbox_argument(to.path)

        def work(client: IMAPClient) -> MessageKey | None:
            self._open(client, key.folder, writable=True)
            uid = self._uid(key)
            message_id = self._headlines(client, key.folder, [uid])
            if not message_id:
                raise Missing(_GONE)
            _forget_code(client, "COPYUID")
            if client.has_capability("MOVE"):
                client.move(uid, to.path)
            else:
                client.copy(uid, to.path)
                _take_out(client, uid)
            if code := re.match(rb"(\d+) \d+ (\d+)$", _forget_code(client, "COPYUID")):
                return MessageKey(self.name, to.path, f"{int(code[1])}.{int(code[2])}")
            return self._found_by_id(client, to.path, message_id[0].message_id)

        return await self._run(work, changes=True)

    async def add(self, folder: Folder, raw: bytes, flags: Collection[Flag] = ()) -> MessageKey | None:
        """Append a message."""
        mailbox_argument(folder.path)

        def work(client: IMAPClient) -> MessageKey | None:
            _forget_code(client, "APPENDUID")
            client.append(folder.path, raw, [flag.value for flag in flags])
            if code := re.match(rb"(\d+) (\d+)$", _forget_code(client, "APPENDUID")):
                return MessageKey(self.name, folder.path, f"{int(code[1])}.{int(code[2])}")
            return None

        return await self._run(work, changes=True)

    async def remove(self, key: MessageKey) -> None:
        """Delete this message and no other."""

        def work(client: IMAPClient) -> None:
            self._open(client, key.folder, writable=True)
            uid = self._uid(key)
            _only(client, uid, [])
            _take_out(client, uid)

        await self._run(work, changes=True)

    async def make(self, role: Role) -> Folder:
        """Make a folder where the person's own folders are (RFC 2342)."""

        def work(client: IMAPClient) -> Folder:
            prefix = ""
            if client.has_capability("NAMESPACE") and (personal := client.namespace().personal):
                prefix = personal[0][0]
            path = f"{prefix}{NEW_NAMES[role]}"
            client.create_folder(path)
            client.subscribe_folder(path)
            self._folders = None
            return Folder(self.name, path, role)

        return await self._run(work, changes=True)

    async def close(self) -> None:
        """Log out."""
        if self._client is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, close, self._client)
            self._client = None
        self._thread.shutdown(wait=False)

    async def _run(self, work: Callable[[IMAPClient], Result], *, changes: bool = False) -> Result:
        """Do `work` on the connection; what only looks is done once more on a new one where it breaks."""
        server = server_of(self._account.settings, "imap")

        def attempt(client: IMAPClient, *, final: bool) -> Result:
            try:
                result = work(client)
                self._last_word = time.monotonic()
                return result
            except StoreProblem:
                raise
            except (ConnectionLost, imaplib.IMAP4.abort, OSError) as error:
                self._drop()
                if final:
                    raise explain(error, server, changes=changes) from error
                raise _Again from error
            except (ProtocolError, RecursionError, ValueError, LookupError, TypeError) as error:
                self._drop()
                raise StoreProblem(
                    f"{server.shown} gave an answer that is not IMAP ({type(error).__name__}).",
                    unknown=changes,
                ) from error
            except (IMAPClientError, imaplib.IMAP4.error) as error:
                self._selected = None
                raise StoreProblem(f"{server.shown} refuses: {_said(error)}.") from error

        def explained() -> Result:
            if changes and time.monotonic() - self._last_word > _MAY_BE_GONE:
                self._check_alive()
            try:
                return attempt(self._connection(), final=changes)
            except _Again:
                return attempt(self._connection(), final=True)

        return await asyncio.get_running_loop().run_in_executor(self._thread, explained)

    def _connection(self) -> IMAPClient:
        if self._client is None:
            settings = self._account.settings
            try:
                secret = self._secret(self._account)
            except SecretUnavailable as error:
                raise StoreProblem(str(error)) from error
            user = settings.get("username") or settings.get("email", "")
            client = open_connection(server_of(settings, "imap"), user, secret)
            client.normalise_times = False
            self._client, self._selected = client, None
        return self._client

    def _check_alive(self) -> None:
        if self._client is not None:
            try:
                self._client.noop()
            except Exception:  # noqa: BLE001 - whatever is wrong with it, a new one is made
                self._drop()

    def _drop(self) -> None:
        if self._client is not None:
            close(self._client)
        self._client, self._selected = None, None

    def _list_folders(self, client: IMAPClient) -> list[Folder]:
        return list_folders(client, self.name)

    def _open(self, client: IMAPClient, path: str, *, writable: bool = False) -> None:
        """Open a folder: to look, with EXAMINE, which marks nothing (RFC 3501 §6.3.2)."""
        mailbox_argument(path)
        if self._selected == (path, writable):
            client.noop()  # so that the server tells what is new
            return
        self._selected = None
        answer: dict[bytes, Any] = client.select_folder(path, readonly=not writable)
        if writable and b"READ-ONLY" in answer:
            raise StoreProblem(f"{self._where} allows no changes in {for_display_line(path)}.")
        self._validity = int(answer.get(b"UIDVALIDITY", 0))
        self._selected = path, writable

    def _uid(self, key: MessageKey) -> int:
        """Return a message's UID where the folder still counts as it did (RFC 3501 §2.3.1.1)."""
        validity, _, uid = key.id.partition(".")
        if validity != str(self._validity):
            raise Missing("The server has numbered this folder anew; look for the message again.")
        return int(id_set([uid]))

    def _headlines(self, client: IMAPClient, folder: str, uids: Sequence[int]) -> list[Headline]:
        if not uids:
            return []
        answer: dict[int, dict[bytes, Any]] = client.fetch(
            list(uids), ["FLAGS", "INTERNALDATE", "RFC822.SIZE", "BODYSTRUCTURE", _HEAD]
        )
        return [
            headline_of(
                MessageKey(self.name, folder, f"{self._validity}.{uid}"),
                next((v for k, v in found.items() if k.startswith(b"BODY[HEADER") and v), b""),
                arrived=_arrived(found),
                flags=_flags(found),
                size=int(found.get(b"RFC822.SIZE", 0)),
                attachments=_has_attachment(found.get(b"BODYSTRUCTURE"), 0),
            )
            for uid in uids
            if (found := answer.get(uid)) and not _is_deleted(found)
        ]

    def _found_by_id(self, client: IMAPClient, path: str, message_id: str) -> MessageKey | None:
        """Return the one message with a Message-ID in a folder; None where there are several or none."""
        if not message_id:
            return None
        self._open(client, path)
        uids = _newest_first(client, search_keys(Query(message_ids=(message_id,))))
        exact = [h for h in self._headlines(client, path, uids[:_BATCH]) if h.message_id == message_id]
        return exact[0].key if len(exact) == 1 else None

    @property
    def _where(self) -> str:
        return server_of(self._account.settings, "imap").shown


class _Again(Exception):
    """The connection broke while only looking: once more on a new one."""


def list_folders(client: IMAPClient, account: str) -> list[Folder]:
    """Return the folders that hold messages, the inbox first.

    Roles are those of SPECIAL-USE (RFC 6154), else told by the names.
    """
    found: list[tuple[Folder, bool]] = []
    for flags, delimiter, name in client.list_folders():
        marks = {bytes(flag).lower() for flag in flags}
        path = str(name)
        if marks & {b"\\noselect", b"\\nonexistent"} or re.search(r"[\x00-\x1f\x7f-\x9f]", path):
            continue
        special = next((role for mark, role in _SPECIAL_USE.items() if mark in marks), None)
        last = path.rsplit(delimiter.decode("latin-1"), 1)[-1] if delimiter else path
        role = Role.INBOX if path.upper() == "INBOX" else special or role_of(last)
        if role is Role.INBOX and path.upper() != "INBOX":
            role = None
        found.append((Folder(account, path, role), special is not None))
    told = {folder.role for folder, special in found if special}
    folders = [Folder(account, f.path) if f.role in told and not special else f for f, special in found]
    return sorted(folders, key=lambda folder: (folder.role is not Role.INBOX, folder.path.casefold()))


def _only_here(query: Query) -> Query:
    """Return the part of a query that the server did not answer exactly."""
    return Query(first=query.first, last=query.last, attachments=query.attachments)


def _newest_first(client: IMAPClient, keys: list[bytes]) -> list[int]:
    """Return the UIDs of what fits, by time of arrival where the server sorts (RFC 5256)."""
    raw: Any = client._raw_command_untagged  # pyright: ignore[reportPrivateUsage]
    foreign = not all(key.isascii() for key in keys)
    if client.has_capability("SORT"):
        answer = raw(b"SORT", [b"(REVERSE ARRIVAL)", b"UTF-8" if foreign else b"US-ASCII", *keys])
        return _numbers(answer)
    charset = [b"CHARSET", b"UTF-8"] if foreign else []
    return sorted(_numbers(raw(b"SEARCH", [*charset, *keys])), reverse=True)


def _numbers(answer: Sequence[bytes | None]) -> list[int]:
    return [int(word) for line in answer if line for word in line.split() if word.isdigit()]


def _only(client: IMAPClient, uid: int, wanted: list[str]) -> dict[bytes, Any]:
    """Fetch of one message. Raises `Missing`."""
    answer: dict[int, dict[bytes, Any]] = client.fetch([uid], [*wanted, "FLAGS"])
    if uid not in answer or _is_deleted(answer[uid]):
        raise Missing(_GONE)
    return answer[uid]


def _is_deleted(found: dict[bytes, Any]) -> bool:
    """Say whether a message only waits to be expunged: nobody sees it any more."""
    return b"\\deleted" in (bytes(flag).lower() for flag in found.get(b"FLAGS", ()))


def _take_out(client: IMAPClient, uid: int) -> None:
    """Mark as deleted, and expunge that one alone (RFC 4315); where that can't be, the mark must do.

    A plain EXPUNGE would take with it what others have marked.
    """
    client.add_flags(uid, [b"\\Deleted"], silent=True)
    if client.has_capability("UIDPLUS"):
        client.uid_expunge([uid])


def _forget_code(client: IMAPClient, code: str) -> bytes:
    """Return a response code's data (RFC 3501 §7.1) and forget it."""
    raw: Any = client._imap  # pyright: ignore[reportPrivateUsage]
    _, data = raw.response(code)
    last = data[-1] if data else None
    return last if isinstance(last, bytes) else b""


def _flags(found: dict[bytes, Any]) -> frozenset[Flag]:
    return frozenset(
        _FLAGS[name] for flag in found.get(b"FLAGS", ()) if (name := bytes(flag).lower()) in _FLAGS
    )


def _arrived(found: dict[bytes, Any]) -> datetime | None:
    moment = found.get(b"INTERNALDATE")
    if not isinstance(moment, datetime):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _has_attachment(structure: Any, depth: int) -> bool:
    """Say whether a BODYSTRUCTURE (RFC 3501 §7.4.2) names an attachment."""
    if not isinstance(structure, tuple | list) or depth > 50:
        return False
    first = structure[0] if structure else None
    if isinstance(first, bytes) and first.lower() == b"attachment":
        return True
    return any(_has_attachment(inner, depth + 1) for inner in structure)


def _said(error: Exception) -> str:
    """Return a server's words of refusal in one safe, short line."""
    return for_display_line(str(error).strip().removeprefix("b'").rstrip("'. "))[:200]
