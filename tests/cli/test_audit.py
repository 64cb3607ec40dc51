"""`botpsy audit` and `botpsy undo`, on a journal that the local calendar has filled."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.test_waiting import (
    ASKED,
    COMMAND,
    approve,
    botpsy,
    events,
    exit_of,
    home,  # noqa: F401
    run,
    terminal,
)


@pytest.fixture
def booked(home: Path) -> Path:  # noqa: F811
    """One event that was approved in a terminal, and one call that nobody could be asked about."""
    child = terminal(home, ASKED)
    approve(child)
    assert exit_of(child) == 0
    run(home, ASKED)
    assert len(events(home)) == 1
    return home


def test_it_shows_what_was_proposed_who_decided_and_what_came_of_it(booked: Path) -> None:
    shown = botpsy(booked, "audit").stdout
    assert "call 1, Create an event: approved by you" in shown
    assert "call 1, Create an event: done: “Review” is now in the calendar" in shown.replace(
        "\n" + " " * 21, " "
    )
    assert "call 2, Create an event: pending" in shown
    whole = botpsy(booked, "audit", "1").stdout
    assert "Mon 7 Jan 2030" in whole
    assert "arguments title" in whole
    lines = [json.loads(line) for line in botpsy(booked, "audit", "--json").stdout.splitlines()]
    assert [(line["call"], line["state"]) for line in lines] == [
        (1, "proposed"), (1, "approved"), (1, "started"), (1, "done"), (2, "proposed"), (2, "pending"),
    ]  # fmt: skip
    assert lines[0]["proposal"]["arguments"]["title"] == "Review"
    assert lines[1]["detail"]["by"] == "person"


def test_it_can_be_narrowed_and_says_what_is_not_there(booked: Path) -> None:
    assert len(botpsy(booked, "audit", "--json", "--state", "done").stdout.splitlines()) == 1
    assert botpsy(booked, "audit", "--tool", "sing").stdout == "There is nothing on record.\n"
    assert botpsy(booked, "audit", "--since", "2999-01-01", "--json").stdout == ""
    assert "There is no call 9" in botpsy(booked, "audit", "9").stderr
    assert "There is no state odd" in botpsy(booked, "audit", "--state", "odd").stderr


def test_a_change_to_the_file_is_found(booked: Path) -> None:
    assert "6 entries, each as it was written" in botpsy(booked, "audit", "--verify").stdout
    with sqlite3.connect(booked / "data" / "journal.sqlite") as connection:
        connection.execute("DROP TRIGGER audit_is_never_changed")
        connection.execute("UPDATE audit SET detail = replace(detail, 'person', 'a rule') WHERE id = 2")
    connection.close()
    verified = botpsy(booked, "audit", "--verify")
    assert verified.returncode == 1
    assert "Entry 2" in verified.stderr


def test_what_looks_like_a_secret_is_left_out(home: Path) -> None:  # noqa: F811
    secret = "the password is hunter2"
    run(home, ASKED.replace('"Review"', f'"{secret}"').replace("Book Review", f"Book {secret}"))
    for shown in (botpsy(home, "audit", "1").stdout, botpsy(home, "audit", "--json").stdout):
        assert "password is [secret]" in shown
        assert "hunter2" not in shown


def test_undo_shows_what_it_takes_back_and_asks(booked: Path) -> None:
    refused = botpsy(booked, "undo")
    assert (refused.returncode, len(events(booked))) == (3, 1), "nobody is at the terminal"
    child = terminal(booked, COMMAND, "undo")
    child.expect("Undo: Delete the event again")
    child.expect("call 1, done")
    child.expect("tails")
    child.sendline("y")
    child.expect("Undone: the event is deleted")
    assert exit_of(child) == 0
    assert events(booked) == []
    again = botpsy(booked, "undo", "1", "--yes")
    assert again.returncode == 1
    assert botpsy(booked, "audit", "--verify").returncode == 0


def test_undo_refuses_with_the_difference_where_the_event_was_changed(booked: Path) -> None:
    (path,) = (booked / "data").rglob("*.ics")
    path.write_text(path.read_text().replace("SUMMARY:Review", "SUMMARY:Party"))
    done = botpsy(booked, "undo", "1", "--yes")
    assert done.returncode == 1
    assert "What: Review → Party" in done.stderr
    assert "Party" in path.read_text()
    assert botpsy(booked, "undo", "--yes").returncode == 2
