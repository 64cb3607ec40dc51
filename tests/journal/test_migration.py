"""A journal of the first version is carried over, whole or not at all."""

import json
import sqlite3
import stat
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pytest

from botpsy_tui.journal import CallState, Journal, JournalProblem
from tests.journal.world import journal_in, proposal

FIRST = """
CREATE TABLE conversation (
    id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, model TEXT NOT NULL
);
CREATE TABLE message (
    id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation (id),
    at TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, calls TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE call (
    id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation (id),
    call_id TEXT NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL, risk TEXT NOT NULL,
    digest TEXT NOT NULL, proposal TEXT NOT NULL, decision TEXT NOT NULL DEFAULT '{}',
    result TEXT NOT NULL DEFAULT '', undo TEXT
);
CREATE TABLE call_event (
    id INTEGER PRIMARY KEY, call INTEGER NOT NULL REFERENCES call (id),
    at TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL DEFAULT ''
);
"""
EVENTS = {
    1: [("proposed", ""), ("approved", '{"by": "person", "rule": "notes"}'), ("started", "{}"), ("done", "")],
    2: [("proposed", ""), ("rejected", '{"reason": "we have some"}')],
    3: [("proposed", ""), ("approved", '{"by": "person"}'), ("started", "{}")],
}


def write_first_version(path: Path, *, numbered: bool = True) -> None:
    kept = json.dumps({key: value for key, value in asdict(proposal()).items() if key != "held"})
    connection = sqlite3.connect(path)
    connection.executescript(FIRST)
    connection.execute("INSERT INTO conversation VALUES (1, '2026-12-01T08:00:00.000+00:00', 'starter')")
    call = json.dumps([{"name": "write_note", "arguments": {"text": "milk"}}])
    for role, content, calls in (
        ("user", "Note milk", "[]"),
        ("assistant", "", call),
        ("tool", "Noted.", "[]"),
    ):
        connection.execute(
            "INSERT INTO message (conversation, at, role, content, calls) VALUES"
            " (1, '2026-12-01T08:00:01.000+00:00', ?, ?, ?)",
            (role, content, calls),
        )
    for number, events in EVENTS.items():
        state, detail = events[-1][0], events[1][1]
        connection.execute(
            "INSERT INTO call VALUES (?, 1, ?, 'write_note', ?, 'write', 'd', ?, ?, ?, ?)",
            (
                number,
                f"call-{number}",
                state,
                kept,
                detail,
                "Noted." if state == "done" else "",
                '{"summary": "Tear it out", "data": {"page": 1}}' if state == "done" else None,
            ),
        )
        for state, detail in events:
            connection.execute(
                "INSERT INTO call_event (call, at, state, detail) VALUES (?, ?, ?, ?)",
                (number, "2026-12-01T08:00:02.000+00:00", state, detail),
            )
    if numbered:
        connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("numbered", [True, False])
async def test_everything_of_the_first_version_is_still_there(tmp_path: Path, numbered: bool) -> None:
    write_first_version(tmp_path / "journal.sqlite", numbered=numbered)
    journal = journal_in(tmp_path)
    done, rejected, started = await journal.calls()
    assert (done.state, done.result, done.title) == (CallState.DONE, "Noted.", "Write a note")
    assert done.undo is not None
    assert done.undo.data == {"page": 1}
    assert done.proposal == proposal()
    assert done.request is None
    assert rejected.detail["reason"] == "we have some"
    assert [call.number for call in await journal.unfinished()] == [started.number]
    (past,) = await journal.history()
    assert past.messages[1].calls[0].by == "person"
    assert past.messages[1].calls[0].result == "Noted."
    assert await journal.uses("notes", datetime(2026, 12, 1, tzinfo=UTC)) == 1
    assert await journal.verify() == []
    journal.close()
    again = journal_in(tmp_path)
    assert len(await again.calls()) == 3
    again.close()


async def test_a_journal_that_cannot_be_carried_over_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    write_first_version(path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE call_event SET detail = 'no JSON' WHERE id = 5")
    connection.close()
    with pytest.raises(JournalProblem, match="can't be opened"):
        journal_in(tmp_path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM call_event").fetchone() == (9,)
    connection.close()


async def test_a_journal_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "journal.sqlite") as connection:
        connection.execute("PRAGMA user_version = 3")
    connection.close()
    with pytest.raises(JournalProblem, match="newer version"):
        Journal(tmp_path / "journal.sqlite")


def test_the_journal_is_the_persons_alone(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    journal.close()
