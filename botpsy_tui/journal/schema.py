"""The tables of the journal, and how those of an earlier version are carried over."""

import json
import sqlite3
from typing import Any

from botpsy_tui.journal.audit import insert

VERSION = 2

_TABLES = (
    """CREATE TABLE conversation (
        id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, model TEXT NOT NULL
    )""",
    """CREATE TABLE message (
        id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation (id),
        at TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, calls TEXT NOT NULL DEFAULT '[]',
        sources TEXT NOT NULL DEFAULT '[]', shown_ids TEXT NOT NULL DEFAULT '{}'
    )""",
    """CREATE TABLE call (
        id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation (id),
        call_id TEXT NOT NULL, tool TEXT NOT NULL, risk TEXT NOT NULL, digest TEXT NOT NULL,
        proposal TEXT NOT NULL, request TEXT NOT NULL, undoes INTEGER REFERENCES call (id)
    )""",
    """CREATE TABLE audit (
        id INTEGER PRIMARY KEY, at TEXT NOT NULL, call INTEGER NOT NULL REFERENCES call (id),
        state TEXT NOT NULL, process TEXT NOT NULL, detail TEXT NOT NULL, hash TEXT NOT NULL
    )""",
    "CREATE INDEX audit_of_call ON audit (call)",
    "CREATE INDEX call_of_conversation ON call (conversation)",
    "CREATE INDEX message_of_conversation ON message (conversation)",
    # Where each call stands is what the audit said of it last; nothing else holds it.
    """CREATE VIEW call_now AS
        SELECT call.*, last.state, last.at, last.process, last.detail FROM call
        JOIN audit AS last ON last.id = (SELECT max(id) FROM audit WHERE audit.call = call.id)""",
    *(
        f"CREATE TRIGGER {table}_is_never_{word} BEFORE {event} ON {table}"
        f" BEGIN SELECT raise(ABORT, 'what is on record is never {word}'); END"
        for table in ("audit", "call")
        for event, word in (("UPDATE", "changed"), ("DELETE", "deleted"))
    ),
    """CREATE TRIGGER audit_only_grows BEFORE INSERT ON audit
        WHEN NEW.id != (SELECT coalesce(max(id), 0) + 1 FROM audit)
        BEGIN SELECT raise(ABORT, 'the audit only grows at its end'); END""",
)


class NewerJournal(Exception):
    """The file was written by a later version of this program."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the tables, or carry over those of version 1: all of it, or nothing. Raises `NewerJournal`."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise NewerJournal
        if version == 1 or _has_first_tables(connection):
            _carry_over(connection)
        elif version == 0:
            _make(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _has_first_tables(connection: sqlite3.Connection) -> bool:
    """Say whether version 1 was there; killed at its first start, it left its tables unnumbered."""
    return connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'call_event'").fetchone() is not None


def _make(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


def _carry_over(connection: sqlite3.Connection) -> None:
    for table in ("conversation", "message", "call", "call_event"):
        connection.execute(f"ALTER TABLE {table} RENAME TO {table}_1")
    _make(connection)
    connection.execute("INSERT INTO conversation SELECT id, started_at, model FROM conversation_1")
    connection.execute(
        "INSERT INTO message (id, conversation, at, role, content, calls)"
        " SELECT id, conversation, at, role, content, calls FROM message_1"
    )
    connection.execute(
        "INSERT INTO call SELECT id, conversation, call_id, tool, risk, digest, proposal, '{}', NULL"
        " FROM call_1"
    )
    ends = {
        row: {"result": result, "undo": json.loads(undo) if undo else None}
        for row, result, undo in connection.execute(
            "SELECT id, result, undo FROM call_1 WHERE state = 'done'"
        )
    }
    events = connection.execute("SELECT at, call, state, detail FROM call_event_1 ORDER BY id").fetchall()
    for at, call, state, text in events:
        detail: dict[str, Any] = json.loads(text) if text else {}
        insert(connection, at, call, state, "", {**detail, **(ends[call] if state == "done" else {})})
    for table in ("call_event", "call", "message", "conversation"):
        connection.execute(f"DROP TABLE {table}_1")
