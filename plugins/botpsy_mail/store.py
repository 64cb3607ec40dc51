"""Where mail is kept: the interface of a store, what it gives, and what can go wrong with one."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from botpsy_mail.addresses import Mailbox
from botpsy_tui.plugin import ToolError


class StoreProblem(ToolError):
    """A store could not do what was asked; one sentence says why.

    With `unknown`, a change was sent and its answer lost: it may or may not have happened.
    """

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class Missing(StoreProblem):
    """There is no such message (any more)."""


class Role(StrEnum):
    """What a folder is for (RFC 6154)."""

    INBOX = "inbox"
    SENT = "sent"
    DRAFTS = "drafts"
    ARCHIVE = "archive"
    TRASH = "trash"
    JUNK = "junk"
    ALL = "all"
    """Holds every message once more, as Gmail's All Mail does."""


class Flag(StrEnum):
    """What a message can be marked as; the values are IMAP's (RFC 3501 §2.3.2)."""

    SEEN = "\\Seen"
    FLAGGED = "\\Flagged"
    ANSWERED = "\\Answered"
    DRAFT = "\\Draft"


@dataclass(frozen=True)
class Folder:
    """A folder of a store."""

    account: str
    path: str
    """As the store knows it; shown through the sanitiser."""
    role: Role | None = None


@dataclass(frozen=True)
class MessageKey:
    """Names one message in one folder, and goes on naming no other."""

    account: str
    folder: str
    id: str
    """On IMAP ``UIDVALIDITY.UID``, in a Maildir the unique part of the file's name."""

    def as_text(self) -> str:
        """Return it as the key of a reference."""
        return "\n".join((self.account, self.folder, self.id))

    @classmethod
    def from_text(cls, text: str) -> "MessageKey":
        """Return what `as_text` wrote."""
        account, folder, id = text.split("\n")
        return cls(account, folder, id)


@dataclass(frozen=True)
class Headline:
    """What a list shows of a message, from its headers alone; decoded, not yet made safe to show."""

    key: MessageKey
    sender: Mailbox
    recipients: tuple[Mailbox, ...]
    subject: str
    moment: datetime
    """When it arrived; else when it says that it was written. Aware."""
    flags: frozenset[Flag] = frozenset()
    size: int = 0
    attachments: bool = False
    message_id: str = ""
    references: tuple[str, ...] = ()
    """The message ids that it answers, the oldest first."""
    readable: bool = True
    """False where its headers can't be shown safely."""

    @property
    def unread(self) -> bool:
        """Whether nobody has opened it yet."""
        return Flag.SEEN not in self.flags


@dataclass(frozen=True)
class StoredMessage:
    """A message as it lies in the store."""

    key: MessageKey
    raw: bytes
    flags: frozenset[Flag]
    arrived: datetime


@dataclass(frozen=True)
class Query:
    """What to look for; everything given must hold. Texts are parts of words, in any letter case."""

    words: tuple[str, ...] = ()
    """Each somewhere in subject, addresses or text."""
    sender: tuple[str, ...] = ()
    """Each in the sender's name or address."""
    recipient: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    """Each in the name or address of sender or recipients."""
    subject: tuple[str, ...] = ()
    first: date | None = None
    """The day of arrival, in the person's zone, at the earliest."""
    last: date | None = None
    unread: bool | None = None
    flagged: bool | None = None
    answered: bool | None = None
    attachments: bool = False
    message_ids: tuple[str, ...] = field(default=())
    """Any of these in Message-ID or References: a thread."""


class MailStore(ABC):
    """Mail in one place. All methods raise `StoreProblem`. Looking changes nothing, not even what is read."""

    name: str
    address: str = ""
    """The person's own address there."""

    @abstractmethod
    async def folders(self) -> Sequence[Folder]:
        """Return the folders that hold messages, the inbox first."""

    @abstractmethod
    async def search(self, folder: Folder, query: Query, most: int) -> tuple[Sequence[Headline], int]:
        """Return the newest messages that fit, newest first, and how many fit in all."""

    @abstractmethod
    async def headline(self, key: MessageKey) -> Headline:
        """Return one message's headline as it is now. Raises `Missing`."""

    @abstractmethod
    async def read(self, key: MessageKey) -> StoredMessage:
        """Return a whole message. Raises `Missing`."""

    @abstractmethod
    async def mark(
        self, key: MessageKey, *, add: Collection[Flag] = (), remove: Collection[Flag] = ()
    ) -> None:
        """Change a message's flags. Raises `Missing`."""

    @abstractmethod
    async def move(self, key: MessageKey, to: Folder) -> MessageKey | None:
        """Move a message; return its new key, or None where the store does not tell. Raises `Missing`."""

    @abstractmethod
    async def add(self, folder: Folder, raw: bytes, flags: Collection[Flag] = ()) -> MessageKey | None:
        """Put a message into a folder; return its key where the store tells."""

    @abstractmethod
    async def remove(self, key: MessageKey) -> None:
        """Remove a message for good: only ever a draft of our own. Raises `Missing`."""

    @abstractmethod
    async def make(self, role: Role) -> Folder:
        """Make the folder for a role that has none."""

    async def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Close connections."""
