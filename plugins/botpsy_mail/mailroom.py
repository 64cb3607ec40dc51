"""All the person's mailboxes seen as one: what is there, which mail is meant, whose words it holds."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar
from weakref import WeakKeyDictionary

from botpsy_mail.store import (
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
from botpsy_mail.wishes import Wish, attempts, joined
from botpsy_mail.wording import read_wish
from botpsy_tui.plugin import Context, References, ToolError, for_display_line, for_model

KIND = "mail"
"""The kind of the references to mails: ``m1``, ``m2`` …"""
_MOST_FOLDERS = 30
_MOST_SCORED = 200
_MOST_NAMED = 6
_MOST_AT_ONCE = 50
_ELSEWHERE = (Role.TRASH, Role.JUNK, Role.DRAFTS)
"""Folders that are looked into only where they are named."""
Found = TypeVar("Found")


@dataclass
class _Shown:
    """What one conversation has been shown."""

    listed: list[MessageKey] = field(default_factory=list[MessageKey])
    opened: MessageKey | None = None


class Mailroom:
    """The mailboxes of all stores."""

    def __init__(self, stores: Sequence[MailStore]) -> None:
        self._stores = {store.name: store for store in stores}
        self._shown: WeakKeyDictionary[References, _Shown] = WeakKeyDictionary()
        self.warnings: list[str] = []

    @property
    def own_addresses(self) -> list[str]:
        """The person's own addresses, of all accounts."""
        return [store.address for store in self._stores.values() if store.address]

    def store(self, account: str) -> MailStore:
        """Return an account's store. Raises `ToolError` where there is none (any more)."""
        if account not in self._stores:
            raise ToolError(f"There is no mail account {account!r} any more.")
        return self._stores[account]

    async def folders(self) -> list[Folder]:
        """Return the folders that can be had; a server that is away hides its own, not the others'."""
        self.warnings = []
        found = await self._each([store.folders() for store in self._stores.values()])
        return [folder for folders in found for folder in folders]

    async def folder(self, account: str, role: Role) -> Folder | None:
        """Return an account's folder for a role, or None where it has none."""
        folders = await self.store(account).folders()
        return next((folder for folder in folders if folder.role is role), None)

    async def find(self, wish: Wish, most: int, context: Context) -> tuple[list[Headline], int]:
        """Return the mails that fit, newest first, and how many fit; `warnings` says what is missing."""
        folders = self._where(wish, await self.folders())
        for query in attempts(wish):
            found, count = await self._search(folders, query, most)
            if found:
                return found, count
        if len(wish.terms) > 1:
            found = await self._best(wish, folders)
            return found[:most], len(found)
        return [], 0

    async def wish(self, words: str, context: Context) -> Wish:
        """Return what pointed-at words ask for, with what the sentence adds."""
        folders = await self.folders()
        today = context.now.date()
        own = read_wish(words, today, folders)
        if words.strip() == context.words.strip():
            return own
        return joined(own, read_wish(context.words, today, folders, whole_sentence=True))

    async def which(self, words: str, context: Context, *, several: bool = False) -> list[Headline]:
        """Return the mail that is meant, as it is now; with `several`, all that are.

        Where more than one fits and not all are meant, they come in order, the newest first. Raises
        `ToolError` where none fits.
        """
        wish = await self.wish(words, context)
        if keys := self._pointed_at(wish, context):
            return [await self.store(key.account).headline(key) for key in keys]
        most = _MOST_AT_ONCE if several else _MOST_NAMED
        found, _ = await self.find(replace(wish, role=wish.role), most, context)
        if wish.oldest and found:
            found, _ = await self.find(wish, _MOST_SCORED, context)
            found = found[::-1]
        if not found:
            missing = "".join(f" {warning}" for warning in self.warnings)
            raise ToolError(f"No mail fits {for_model(words)!r}; ask the person which one is meant.{missing}")
        if wish.newest or wish.oldest:
            return found[: wish.count or 1]
        return found

    async def read(self, key: MessageKey) -> StoredMessage:
        """Return a whole message."""
        return await self.store(key.account).read(key)

    async def thread(self, headline: Headline) -> list[Headline]:
        """Return the mails of a thread that are there, the oldest first."""
        ids = tuple(dict.fromkeys((*headline.references[:1], *headline.references[-1:], headline.message_id)))
        if not any(ids):
            return [headline]
        folders = self._where(Wish(terms=("thread",)), await self._stores[headline.key.account].folders())
        found, _ = await self._search(folders, Query(message_ids=tuple(filter(None, ids))), _MOST_SCORED)
        return sorted({h.key: h for h in [headline, *found]}.values(), key=lambda h: h.moment)

    def list_was_shown(self, headlines: Sequence[Headline], context: Context) -> None:
        """Remember a list, so that "the second one" names something."""
        shown = self._shown.setdefault(context.references, _Shown())
        shown.listed, shown.opened = [headline.key for headline in headlines], None

    def was_opened(self, headline: Headline, context: Context) -> None:
        """Remember a mail, so that "it" names something."""
        self._shown.setdefault(context.references, _Shown()).opened = headline.key

    def describe(self, headline: Headline, context: Context, *, own: bool = False) -> str:
        """Return a mail as one line: who, what, when, its id, its state; not yet made safe to show."""
        if not headline.readable:
            return f"{headline.subject} [{self.name(headline, context)}]"
        people = [headline.sender] if not own else list(headline.recipients[:2])
        who = ", ".join(mailbox.shown.text for mailbox in people if mailbox.address) or "nobody"
        state = [
            *(["unread"] if headline.unread else []),
            *(["flagged"] if "\\Flagged" in headline.flags else []),
            *(["with attachment"] if headline.attachments else []),
        ]
        subject = for_display_line(headline.subject) or "no subject"
        moment = show_moment(headline.moment.astimezone(context.zone), context.now)
        return (
            f"[{self.name(headline, context)}] {'to ' * own}{who}: “{subject}”, {', '.join([moment, *state])}"
        )

    def name(self, headline: Headline, context: Context) -> str:
        """Return a mail's id in this conversation."""
        return context.references.name(KIND, headline.key.as_text())

    async def close(self) -> None:
        """Close all stores."""
        for store in self._stores.values():
            await store.close()

    def _pointed_at(self, wish: Wish, context: Context) -> list[MessageKey]:
        """Return the mails that are named by id, by place in the last list, or as "it"."""
        if wish.ids:
            keys = [(name, context.references.key(KIND, name)) for name in wish.ids]
            if unknown := [name for name, key in keys if key is None]:
                raise ToolError(f"No mail {unknown[0]} was shown; look for it first.")
            return [MessageKey.from_text(key) for _, key in keys if key is not None]
        shown = self._shown.get(context.references, _Shown())
        if wish.position is not None and shown.listed:
            if wish.position > len(shown.listed):
                raise ToolError(f"The last list had only {len(shown.listed)} mails.")
            return [shown.listed[wish.position - 1]]
        if wish.names_something:
            return []
        if wish.several and shown.listed:
            return shown.listed
        if shown.opened:
            return [shown.opened]
        if shown.listed:
            return shown.listed[:1] if len(shown.listed) == 1 else shown.listed
        return []

    def _where(self, wish: Wish, folders: Sequence[Folder]) -> list[Folder]:
        """Return where to look: in what is named, in the inbox, or everywhere where a search is wider."""
        if wish.folder:
            return [folder for folder in folders if folder == wish.folder]
        if wish.role:
            return [folder for folder in folders if folder.role is wish.role]
        query = wish.query
        if not (wish.terms or query.sender or query.people or query.recipient):
            return [folder for folder in folders if folder.role is Role.INBOX]
        found: list[Folder] = []
        for account in self._stores:
            own = [folder for folder in folders if folder.account == account]
            whole = [folder for folder in own if folder.role in (Role.INBOX, Role.ALL)]
            if not any(folder.role is Role.ALL for folder in whole):
                whole = [folder for folder in own if folder.role not in _ELSEWHERE]
            if len(whole) > _MOST_FOLDERS:
                self.warnings.append(f"Only {_MOST_FOLDERS} of the {len(whole)} folders were searched.")
            found += whole[:_MOST_FOLDERS]
        return found

    async def _search(self, folders: Sequence[Folder], query: Query, most: int) -> tuple[list[Headline], int]:
        """Search folders; a mail that lies in several counts once."""
        read = await self._each(
            [self.store(folder.account).search(folder, query, most) for folder in folders]
        )
        headlines = sorted((h for found, _ in read for h in found), key=lambda h: h.moment, reverse=True)
        once: dict[str, Headline] = {}
        for headline in headlines:
            once.setdefault(headline.message_id or headline.key.as_text(), headline)
        twice = len(headlines) - len(once)
        return list(once.values())[:most], max(sum(count for _, count in read) - twice, len(once))

    async def _best(self, wish: Wish, folders: Sequence[Folder]) -> list[Headline]:
        """Return the mails that hold the most of the words, where none holds them all."""
        hits: dict[str, tuple[int, Headline]] = {}
        for term in wish.terms:
            query = replace(wish.query, words=(term,))
            for headline in (await self._search(folders, query, _MOST_SCORED))[0]:
                name = headline.message_id or headline.key.as_text()
                hits[name] = hits.get(name, (0, headline))[0] + 1, headline
        most = max((count for count, _ in hits.values()), default=0)
        if most * 2 < len(wish.terms):
            return []
        return [headline for count, headline in hits.values() if count == most]

    async def _each(self, readings: Sequence[Awaitable[Found]]) -> list[Found]:
        """Return what could be read; what could not is told in `warnings`. Raises where nothing could."""
        results = await asyncio.gather(*readings, return_exceptions=True)
        problems = [result for result in results if isinstance(result, BaseException)]
        for problem in problems:
            if not isinstance(problem, StoreProblem) or len(problems) == len(results):
                raise problem
            if not isinstance(problem, Missing) and str(problem) not in self.warnings:
                self.warnings.append(str(problem))
        return [result for result in results if not isinstance(result, BaseException)]


def whose(headlines: Sequence[Headline]) -> tuple[str, ...]:
    """Return whose words mails hold, for the person: a few by their subject, many by their senders."""
    if len(headlines) <= 3:
        return tuple(
            for_display_line(f"the mail “{headline.subject}” from {headline.sender.shown.text or 'nobody'}")
            for headline in headlines
        )
    senders = list(dict.fromkeys(for_display_line(h.sender.address) or "nobody" for h in headlines))
    more = f" and {len(senders) - 3} others" if len(senders) > 3 else ""
    return (f"{len(headlines)} mails from {', '.join(senders[:3])}{more}",)


def show_moment(moment: datetime, now: datetime) -> str:
    """Return ``today 07:30``, ``yesterday 07:30``, ``Wed 2 Dec 07:30`` or the date with its year."""
    days = (now.date() - moment.date()).days
    if days == 0:
        return f"today {moment:%H:%M}"
    if days == 1:
        return f"yesterday {moment:%H:%M}"
    year = "" if moment.year == now.year else f" {moment.year}"
    return f"{moment:%a} {moment.day} {moment:%b}{year} {moment:%H:%M}"
