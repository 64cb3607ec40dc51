"""A mailbox on a real Dovecot, and in a folder, looked at and changed; read back from the files alone."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from botpsy_mail.imap_store import ImapStore
from botpsy_mail.maildir import MaildirStore
from botpsy_mail.store import (
    Flag,
    Folder,
    Headline,
    MailStore,
    MessageKey,
    Missing,
    Query,
    Role,
)

from botpsy_tui.plugin import Account, ToolError
from tests.mail.letters import letter
from tests.servers.dovecot import DovecotServer, start_dovecot

BERLIN = ZoneInfo("Europe/Berlin")
BARE = "IMAP4rev1 SASL-IR LOGIN-REFERRALS ID ENABLE LITERAL+"
"""A server that can do nothing but the standard of 2003."""

LENA, TOM = "Lena Ott <lena@example.org>", "Tom <tom@example.net>"
SHOP = "Rechnung <billing@shop.example>"
INBOX = {
    "1": letter("Invoice 17", "The sum is 20 €.\n", sender=SHOP, attached="invoice.pdf"),
    "2": letter("Lunch?", "At noon, in the Grüne Gans.\n"),
    "3": letter("Notes on the choir", "See below.\n", sender=TOM, to=LENA),
    "4": letter("Äpfel", "Three pounds.\n", sender="Jörg Müller <joerg@example.com>"),
}  # fmt: skip


@dataclass
class Place:
    """A store, and how to look behind it."""

    store: MailStore
    files: Callable[[str], dict[bytes, str]]

    async def folder(self, role: Role) -> Folder:
        return next(folder for folder in await self.store.folders() if folder.role is role)

    async def found(self, query: Query = Query(), role: Role = Role.INBOX) -> list[Headline]:  # noqa: B008
        headlines, count = await self.store.search(await self.folder(role), query, 50)
        assert count == len(headlines)
        return list(headlines)

    async def subjects(self, query: Query = Query(), role: Role = Role.INBOX) -> list[str]:  # noqa: B008
        return sorted(headline.subject for headline in await self.found(query, role))

    async def one(self, subject: str, role: Role = Role.INBOX) -> MessageKey:
        (headline,) = [h for h in await self.found(role=role) if h.subject == subject]
        return headline.key


@pytest.fixture(scope="module")
def running() -> Iterator[DovecotServer]:
    with start_dovecot() as server:
        yield server


@pytest.fixture(scope="module")
def bare() -> Iterator[DovecotServer]:
    with start_dovecot(special_use=False, capability=BARE) as server:
        yield server


def on(server: DovecotServer, url: str = "") -> ImapStore:
    settings = server.settings(**({"imap": url} if url else {}))
    return ImapStore(Account("work", "mail", settings), lambda _account: server.password, BERLIN)


@pytest.fixture(params=["imaps", "starttls", "bare", "maildir++", "maildir"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    kind = request.param
    if kind.startswith("maildir"):
        store, files = in_folder(tmp_path, "." if kind == "maildir++" else "")
        place = Place(store, files)
    else:
        server: DovecotServer = request.getfixturevalue("bare" if kind == "bare" else "running")
        server.empty()
        for name, raw in INBOX.items():
            server.deliver(name, raw)
        place = Place(on(server, server.imap if kind == "starttls" else ""), server.messages)
    yield place
    await place.store.close()


def in_folder(root: Path, dot: str) -> tuple[MaildirStore, Callable[[str], dict[bytes, str]]]:
    inbox = root if dot else root / "INBOX"
    for folder in (inbox, *(root / f"{dot}{name}" for name in ("Sent", "Drafts", "Trash"))):
        for part in ("cur", "new", "tmp"):
            (folder / part).mkdir(parents=True, exist_ok=True)
    for name, raw in INBOX.items():
        (inbox / "new" / name).write_bytes(raw)

    def files(folder: str = "") -> dict[bytes, str]:
        place = root / f"{dot}{folder}" if folder else inbox
        return {
            path.read_bytes(): path.name.partition(":2,")[2]
            for part in ("new", "cur")
            for path in (place / part).glob("*")
        }

    return MaildirStore(root, BERLIN), files


async def test_the_folders_have_their_roles_and_the_inbox_is_first(place: Place) -> None:
    roles = [folder.role for folder in await place.store.folders()]
    assert roles[0] is Role.INBOX
    assert {Role.SENT, Role.DRAFTS, Role.TRASH} <= set(roles)


@pytest.mark.parametrize(
    ("query", "subjects"),
    [
        (Query(), ["Invoice 17", "Lunch?", "Notes on the choir", "Äpfel"]),
        (Query(sender=("lena",)), ["Lunch?"]),
        (Query(people=("lena",)), ["Lunch?", "Notes on the choir"]),
        (Query(recipient=("ott",)), ["Notes on the choir"]),
        (Query(subject=("invoice",)), ["Invoice 17"]),
        (Query(words=("noon",)), ["Lunch?"]),
        (Query(words=("grüne gans",)), ["Lunch?"]),
        (Query(words=("pounds", "äpfel")), ["Äpfel"]),
        (Query(sender=("jörg",)), ["Äpfel"]),
        (Query(attachments=True), ["Invoice 17"]),
        (Query(unread=False), []),
        (Query(flagged=True), []),
        (Query(words=('"', "\\")), []),
        (Query(words=("ALL) OR (",)), []),
    ],
)
async def test_a_search_finds_what_fits(place: Place, query: Query, subjects: list[str]) -> None:
    assert await place.subjects(query) == subjects


async def test_a_search_by_day_counts_days_in_the_persons_zone(place: Place) -> None:
    today = datetime.now(BERLIN).date()
    assert len(await place.subjects(Query(first=today, last=today))) == 4
    assert await place.subjects(Query(last=date(2020, 1, 1))) == []
    assert await place.subjects(Query(first=date(2100, 1, 1))) == []


async def test_a_thread_is_found_by_its_ids(place: Place) -> None:
    inbox = await place.folder(Role.INBOX)
    answer = letter("Re: Lunch?", message_id="<answer@x>", References="<4c756e63683f@example.org>")
    await place.store.add(inbox, answer)
    assert await place.subjects(Query(message_ids=("<4c756e63683f@example.org>",))) == [
        "Lunch?",
        "Re: Lunch?",
    ]


async def test_looking_and_reading_mark_nothing(place: Place) -> None:
    before = place.files("")
    for headline in await place.found():
        assert headline.unread
        message = await place.store.read(headline.key)
        assert message.raw in before
    assert place.files("") == before


async def test_a_mark_is_set_and_taken_away_and_leaves_the_others(place: Place) -> None:
    key = await place.one("Lunch?")
    await place.store.mark(key, add=[Flag.SEEN, Flag.FLAGGED])
    assert sorted(place.files("")[INBOX["2"]]) == ["F", "S"]
    assert await place.subjects(Query(flagged=True)) == ["Lunch?"]
    assert await place.subjects(Query(unread=False)) == ["Lunch?"]
    await place.store.mark(key, remove=[Flag.SEEN])
    assert place.files("")[INBOX["2"]] == "F"
    assert sum(1 for flags in place.files("").values() if flags) == 1


async def test_a_message_is_moved_and_moved_back_with_its_marks(place: Place) -> None:
    key = await place.one("Lunch?")
    await place.store.mark(key, add=[Flag.FLAGGED])
    moved = await place.store.move(key, await place.folder(Role.TRASH))
    assert moved is not None
    assert place.files("Trash") == {INBOX["2"]: "F"}
    assert await place.subjects() == ["Invoice 17", "Notes on the choir", "Äpfel"]
    with pytest.raises(Missing, match="gone"):
        await place.store.move(key, await place.folder(Role.TRASH))
    await place.store.move(moved, await place.folder(Role.INBOX))
    assert await place.subjects() == ["Invoice 17", "Lunch?", "Notes on the choir", "Äpfel"]
    assert await place.subjects(role=Role.TRASH) == []


async def test_a_draft_is_added_and_removed_and_nothing_else(place: Place) -> None:
    drafts = await place.folder(Role.DRAFTS)
    first = await place.store.add(drafts, letter("Kept"), [Flag.DRAFT, Flag.SEEN])
    second = await place.store.add(drafts, letter("Not kept"), [Flag.DRAFT])
    assert place.files("Drafts") == {letter("Kept"): "DS", letter("Not kept"): "D"}
    key = second or await place.one("Not kept", Role.DRAFTS)
    await place.store.remove(key)
    assert await place.subjects(role=Role.DRAFTS) == ["Kept"]
    assert first is None or (await place.store.headline(first)).subject == "Kept"


async def test_a_folder_is_made_for_a_role_that_has_none(place: Place) -> None:
    assert Role.ARCHIVE not in [folder.role for folder in await place.store.folders()]
    archive = await place.store.make(Role.ARCHIVE)
    await place.store.move(await place.one("Lunch?"), archive)
    assert place.files("Archive") == {INBOX["2"]: ""}
    assert Role.ARCHIVE in [folder.role for folder in await place.store.folders()]


async def test_a_message_that_is_not_there_is_said_to_be_gone(place: Place) -> None:
    key = await place.one("Lunch?")
    nobody = MessageKey(key.account, key.folder, f"{key.id.partition('.')[0]}.4000000")
    for attempt in (
        place.store.read(nobody),
        place.store.headline(nobody),
        place.store.mark(nobody, add=[Flag.SEEN]),
    ):
        with pytest.raises(Missing, match="gone"):
            await attempt


async def test_a_message_that_breaks_parsers_does_not_hide_the_others(place: Place) -> None:
    bad = b"From: x@y\r\nTo: " + b"(" * 3000 + b"\r\nSubject: boom\r\n\r\nx"
    await place.store.add(await place.folder(Role.INBOX), bad)
    headlines = await place.found()
    assert len(headlines) == 5
    (unsafe,) = [headline for headline in headlines if not headline.readable]
    assert "cannot be shown safely" in unsafe.subject


async def test_a_folder_that_was_numbered_anew_is_not_taken_for_the_old_one(running: DovecotServer) -> None:
    running.empty()
    running.deliver("1", INBOX["1"])
    store = on(running)
    key = MessageKey("work", "INBOX", "1.1")
    with pytest.raises(Missing, match="numbered this folder anew"):
        await store.read(key)
    await store.close()


@pytest.mark.parametrize("folder", ["../elsewhere", "/etc", "a\r\nA1 DELETE INBOX"])
async def test_a_folder_name_that_means_harm_is_refused(place: Place, folder: str) -> None:
    with pytest.raises(ToolError):
        await place.store.search(Folder("x", folder), Query(), 5)


async def test_a_maildir_key_survives_what_other_programs_do(tmp_path: Path) -> None:
    store, files = in_folder(tmp_path, ".")
    place = Place(store, files)
    key = await place.one("Lunch?")
    os.rename(tmp_path / "new" / "2", tmp_path / "cur" / "2:2,RS")  # noqa: PTH104 - as another program does
    assert (await store.headline(key)).flags == {Flag.SEEN, Flag.ANSWERED}
    await store.close()


async def test_the_local_mailbox_exists_with_nothing_configured(tmp_path: Path) -> None:
    store = MaildirStore(tmp_path / "mailbox", BERLIN)
    roles = {folder.role for folder in await store.folders()}
    assert roles >= {Role.INBOX, Role.SENT, Role.DRAFTS, Role.ARCHIVE, Role.TRASH}
    await store.close()
