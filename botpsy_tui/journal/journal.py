"""The journal: each event is on the disk before its effect is attempted."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from botpsy_tui.journal.history import PastConversation, read_history
from botpsy_tui.journal.rulings import Ruling, read_rulings
from botpsy_tui.plugin import Outcome, Proposal

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversation (
    id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, model TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation (id),
    at TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, calls TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE IF NOT EXISTS call (
    id INTEGER PRIMARY KEY, conversation INTEGER NOT NULL REFERENCES conversation (id),
    call_id TEXT NOT NULL, tool TEXT NOT NULL, state TEXT NOT NULL, risk TEXT NOT NULL,
    digest TEXT NOT NULL, proposal TEXT NOT NULL, decision TEXT NOT NULL DEFAULT '{}',
    result TEXT NOT NULL DEFAULT '', undo TEXT
);
CREATE TABLE IF NOT EXISTS call_event (
    id INTEGER PRIMARY KEY, call INTEGER NOT NULL REFERENCES call (id),
    at TEXT NOT NULL, state TEXT NOT NULL, detail TEXT NOT NULL DEFAULT ''
);
"""

Result = TypeVar("Result")


class JournalProblem(Exception):
    """The journal can't be written; nothing may be done that it would have to hold."""


class CallState(StrEnum):
    """Where a call stands. `STARTED` found at start-up means: nobody knows whether it happened."""

    PROPOSED = "proposed"
    REJECTED = "rejected"
    REPLACED = "replaced"
    APPROVED = "approved"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class CallRecord:
    """A call as the journal holds it."""

    row: int
    tool: str
    state: CallState
    risk: str
    title: str
    result: str


class Journal:
    """One SQLite file in WAL mode, written by one thread of its own."""

    def __init__(self, path: Path) -> None:
        """Open or make the journal at `path`. Raises `JournalProblem`."""
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._connection = self._thread.submit(self._open).result()

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > _SCHEMA_VERSION:
                raise JournalProblem(
                    f"The journal {self._path} was written by a newer version of BotPsy TUI; update this one."
                )
            connection.executescript(_SCHEMA)
            connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            self._path.chmod(0o600)
        except (OSError, sqlite3.Error) as error:
            raise JournalProblem(f"The journal {self._path} can't be opened: {error}.") from error
        return connection

    async def begin_conversation(self, model: str) -> int:
        """Begin a conversation; return its number."""
        return await self._insert(
            "INSERT INTO conversation (started_at, model) VALUES (?, ?)", (_now(), model)
        )

    async def add_message(
        self, conversation: int, role: str, content: str, calls: list[dict[str, Any]] | None = None
    ) -> None:
        """Keep a message of a conversation."""
        await self._insert(
            "INSERT INTO message (conversation, at, role, content, calls) VALUES (?, ?, ?, ?, ?)",
            (conversation, _now(), role, content, _json(calls or [])),
        )

    async def propose(self, conversation: int, call_id: str, proposal: Proposal) -> int:
        """Keep a proposal; return its row."""

        def work(connection: sqlite3.Connection) -> int:
            row = connection.execute(
                "INSERT INTO call (conversation, call_id, tool, state, risk, digest, proposal)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation,
                    call_id,
                    proposal.tool,
                    CallState.PROPOSED,
                    proposal.risk,
                    proposal.digest,
                    _json(asdict(proposal)),
                ),
            ).lastrowid
            assert row is not None
            _event(connection, row, CallState.PROPOSED)
            return row

        return await self._run(work)

    async def record(self, row: int, state: CallState, detail: Mapping[str, Any] | None = None) -> None:
        """Move a call to `state`. On return it is on the disk."""

        def work(connection: sqlite3.Connection) -> None:
            text = _json(dict(detail or {}))
            connection.execute("UPDATE call SET state = ? WHERE id = ?", (state, row))
            if state in (CallState.APPROVED, CallState.REJECTED):
                connection.execute("UPDATE call SET decision = ? WHERE id = ?", (text, row))
            _event(connection, row, state, text)

        await self._run(work)

    async def finish(self, row: int, outcome: Outcome) -> None:
        """Keep what a call did, and how it can be undone."""

        def work(connection: sqlite3.Connection) -> None:
            undo = _json(asdict(outcome.undo)) if outcome.undo else None
            connection.execute(
                "UPDATE call SET state = ?, result = ?, undo = ? WHERE id = ?",
                (CallState.DONE, outcome.text, undo, row),
            )
            _event(connection, row, CallState.DONE)

        await self._run(work)

    async def unfinished(self) -> list[CallRecord]:
        """Return the calls that a crash left started, and mark them unknown. They are never retried."""

        def work(connection: sqlite3.Connection) -> list[CallRecord]:
            rows = connection.execute(
                "SELECT id, tool, risk, proposal, result FROM call WHERE state = ?", (CallState.STARTED,)
            ).fetchall()
            for row, *_ in rows:
                connection.execute("UPDATE call SET state = ? WHERE id = ?", (CallState.UNKNOWN, row))
                _event(connection, row, CallState.UNKNOWN)
            return [
                CallRecord(
                    row, tool, CallState.UNKNOWN, risk, json.loads(proposal)["preview"]["title"], result
                )
                for row, tool, risk, proposal, result in rows
            ]

        return await self._run(work)

    async def calls(self) -> list[CallRecord]:
        """Return all calls, oldest first."""

        def work(connection: sqlite3.Connection) -> list[CallRecord]:
            rows = connection.execute(
                "SELECT id, tool, state, risk, proposal, result FROM call ORDER BY id"
            ).fetchall()
            return [
                CallRecord(
                    row, tool, CallState(state), risk, json.loads(proposal)["preview"]["title"], result
                )
                for row, tool, state, risk, proposal, result in rows
            ]

        return await self._run(work)

    async def history(self, numbers: Sequence[int] = ()) -> list[PastConversation]:
        """Return these conversations with their calls' decisions; all where none is named, oldest first."""
        return await self._run(lambda connection: read_history(connection, numbers))

    async def uses(self, rule_id: str, since: datetime) -> int:
        """Return how often a rule of the policy has approved a call since then."""

        def work(connection: sqlite3.Connection) -> int:
            count = connection.execute(
                "SELECT count(*) FROM call_event WHERE state = ? AND at >= ?"
                " AND json_extract(detail, '$.rule') = ?",
                (CallState.APPROVED, _at(since), rule_id),
            ).fetchone()[0]
            return int(count)

        return await self._run(work)

    async def rulings(self, rule_id: str, most: int) -> Sequence[Ruling]:
        """Return the last calls that a rule of the policy decided, the last one first."""
        return await self._run(lambda connection: read_rulings(connection, rule_id, most))

    def close(self) -> None:
        """Close the file."""
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()

    async def _insert(self, statement: str, values: tuple[Any, ...]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            row = connection.execute(statement, values).lastrowid
            assert row is not None
            return row

        return await self._run(work)

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work` as one durable transaction on the journal's thread."""

        def transaction() -> Result:
            try:
                with closing(self._connection.cursor()) as cursor:
                    cursor.execute("BEGIN IMMEDIATE")
                    try:
                        result = work(self._connection)
                    except BaseException:
                        cursor.execute("ROLLBACK")
                        raise
                    cursor.execute("COMMIT")
                    return result
            except sqlite3.Error as error:
                raise JournalProblem(
                    f"The journal {self._path} can't be written ({error}), so nothing was done."
                ) from error

        # A write that has begun is not left half-way when the one who asked for it is cancelled.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, transaction))


def _event(connection: sqlite3.Connection, row: int, state: CallState, detail: str = "") -> None:
    connection.execute(
        "INSERT INTO call_event (call, at, state, detail) VALUES (?, ?, ?, ?)", (row, _now(), state, detail)
    )


def _now() -> str:
    return _at(datetime.now(UTC))


def _at(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
