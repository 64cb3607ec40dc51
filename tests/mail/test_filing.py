"""What a person does with mails: archived, deleted, moved, marked; seen before, taken back after."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from botpsy_tui.plugin import Account, Risk, ToolError
from tests.mail.letters import letter
from tests.mail.world import MAILS, World, lines
from tests.servers.dovecot import DovecotServer, start_dovecot


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path).fill()
    yield world
    await world.plugin.close()


async def test_a_mail_is_archived_and_put_back(world: World) -> None:
    before = world.files()
    proposal = await world.propose("file_mail", "Archive the invoice", mail="the invoice", action="archive")
    assert proposal.risk is Risk.WRITE
    assert proposal.preview.title == "Archive: a mail"
    assert lines(proposal) == {
        "From": "Shop <billing@shop.example>",
        "Subject": "Invoice 17",
        "Came": "yesterday 09:00",
        "In": "INBOX (local)",
        "To": ".Archive",
    }
    assert world.files() == before
    outcome = await world.commit(proposal)
    assert outcome.text == "“Invoice 17” is archived."
    assert outcome.complete
    assert world.files("Archive") == {"Invoice 17": ""}
    await world.undo("file_mail", outcome)
    assert world.files() == before
    assert world.files("Archive") == {}


async def test_deleting_is_destructive_goes_to_the_trash_and_keeps_the_marks(world: World) -> None:
    proposal = await world.propose(
        "file_mail", "Delete Tom's mail about the office", mail="office", action="delete"
    )
    assert proposal.risk is Risk.DESTRUCTIVE
    outcome = await world.commit(proposal)
    assert world.files("Trash") == {"Plan for the office": "FS"}
    await world.undo("file_mail", outcome)
    assert world.files("Trash") == {}
    assert world.files()["Plan for the office"] == "FS"


async def test_what_is_in_the_trash_is_not_deleted_for_good(world: World) -> None:
    world.add("gone", letter("Gone", sender="x@y.example"), folder="Trash")
    with pytest.raises(ToolError, match="already"):
        await world.propose(
            "file_mail", "Delete Gone in the trash", mail="Gone in the trash", action="delete"
        )


@pytest.mark.parametrize(
    ("action", "mail", "subject", "flags"),
    [
        ("flag", "the invoice", "Invoice 17", "F"),
        ("unflag", "office", "Plan for the office", "S"),
        ("read", "the invoice", "Invoice 17", "S"),
        ("unread", "choir", "Notes on the choir", ""),
    ],
)
async def test_a_mark_is_set_and_taken_back(
    world: World, action: str, mail: str, subject: str, flags: str
) -> None:
    before = world.files()
    outcome = await world.do("file_mail", f"Mark {mail} as {action}", mail=mail, action=action)
    assert world.files() == {**before, subject: flags}
    await world.undo("file_mail", outcome)
    assert world.files() == before


async def test_a_mark_that_is_there_already_is_left_and_not_taken_away_by_undo(world: World) -> None:
    outcome = await world.do("file_mail", "Flag the office mail", mail="office", action="flag")
    assert outcome.undo is None
    assert world.files()["Plan for the office"] == "FS"


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("Move the invoice to Taxes", {"mail": "the invoice", "folder": "Taxes"}),
        ("Move the invoice to the taxes folder", {"mail": "the invoice", "folder": "the taxes folder"}),
        ("Move the invoice to Taxes", {"mail": "the invoice to Taxes"}),
        ("Move the invoice into Taxes", {"mail": "invoice"}),
    ],
)
async def test_a_mail_is_moved_to_a_folder_by_its_name(
    world: World, words: str, arguments: dict[str, str]
) -> None:
    for part in ("cur", "new", "tmp"):
        (world.mailbox / ".Taxes" / part).mkdir(parents=True)
    await world.do("file_mail", words, action="move", **arguments)
    assert world.files("Taxes") == {"Invoice 17": ""}


async def test_a_folder_that_is_not_there_is_named_with_those_that_are(world: World) -> None:
    with pytest.raises(ToolError, match=r"no folder 'Mars' in local; there are: INBOX, "):
        await world.propose("file_mail", "Move it to Mars", mail="the invoice", action="move", folder="Mars")


async def test_where_several_fit_the_person_is_asked_which(world: World) -> None:
    with pytest.raises(ToolError, match="ask the person which") as caught:
        await world.propose(
            "file_mail", "Delete the mail from Lena", mail="the mail from Lena", action="delete"
        )
    assert "Lunch?" in str(caught.value)
    assert "Holiday photos" in str(caught.value)
    assert caught.value.sources


async def test_the_last_one_is_only_the_last_one(world: World) -> None:
    await world.do(
        "file_mail", "Delete the last mail from Lena", mail="the last mail from Lena", action="delete"
    )
    assert world.files("Trash") == {"Lunch?": ""}


async def test_all_that_fit_are_shown_and_filed_together_and_put_back(world: World) -> None:
    before = world.files()
    proposal = await world.propose(
        "file_mail", "Archive all mails from Lena", mail="all mails from Lena", action="archive"
    )
    assert proposal.preview.title == "Archive: 2 mails"
    assert "Lunch?" in lines(proposal)["1"]
    assert "Holiday photos" in lines(proposal)["2"]
    assert proposal.facts["from"] == ["lena@example.org", "lena@example.org"]
    outcome = await world.commit(proposal)
    assert set(world.files("Archive")) == {"Lunch?", "Holiday photos"}
    await world.undo("file_mail", outcome)
    assert world.files() == before


async def test_them_are_the_mails_of_the_last_list(world: World) -> None:
    await world.do("find_mail", "What's new?")
    await world.do("file_mail", "Mark them as read", mail="them", action="read")
    assert world.files()["Lunch?"] == "S"
    assert world.files()["Invoice 17"] == "S"


async def test_a_mail_that_another_program_moved_meanwhile_is_said_to_be_gone(world: World) -> None:
    proposal = await world.propose("file_mail", "Archive the invoice", mail="the invoice", action="archive")
    (world.mailbox / "new" / "invoice").unlink()
    with pytest.raises(ToolError, match="gone"):
        await world.commit(proposal)
    assert world.files("Archive") == {}


async def test_one_that_is_gone_does_not_hide_what_was_done_to_the_others(world: World) -> None:
    proposal = await world.propose(
        "file_mail", "Archive all mails from Lena", mail="all mails from Lena", action="archive"
    )
    (world.mailbox / "cur" / "old:2,S").unlink()
    outcome = await world.commit(proposal)
    assert outcome.text.startswith("1 of 2 mails were archived; then: ")
    await world.undo("file_mail", outcome)
    assert "Lunch?" in world.files()


async def test_undo_says_so_where_the_mail_was_moved_on(world: World) -> None:
    outcome = await world.do("file_mail", "Archive the invoice", mail="the invoice", action="archive")
    for path in (world.mailbox / ".Archive" / "cur").glob("*"):
        path.unlink()
    with pytest.raises(ToolError, match="can't be undone"):
        await world.undo("file_mail", outcome)


@pytest.fixture(scope="module", params=["", "IMAP4rev1 SASL-IR ID ENABLE LITERAL+"], ids=["dovecot", "bare"])
def server(request: pytest.FixtureRequest) -> Iterator[DovecotServer]:
    with start_dovecot(capability=request.param) as server:
        yield server


@pytest.mark.parametrize(("action", "folder"), [("archive", "Archive"), ("delete", "Trash")])
async def test_on_a_server_it_is_the_same_and_a_missing_archive_is_made(
    tmp_path: Path, server: DovecotServer, action: str, folder: str
) -> None:
    server.empty()
    server.deliver("1", MAILS["invoice"][0])
    account = Account("work", "mail", server.settings())
    world = World(tmp_path, account, secret=server.password)
    proposal = await world.propose("file_mail", "File the invoice", mail="the invoice", action=action)
    assert lines(proposal)["To"] == ("Archive (a new folder)" if action == "archive" else "Trash")
    assert server.messages("Archive") == {}
    outcome = await world.commit(proposal)
    assert list(server.messages(folder)) == [MAILS["invoice"][0]]
    await world.undo("file_mail", outcome)
    found = await world.do("find_mail", "Mails from the shop", person="the shop")
    assert "1 mail" in found.text
    await world.plugin.close()
