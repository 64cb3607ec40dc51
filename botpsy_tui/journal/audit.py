"""The audit: what became of each call, in rows that only ever grow, each bound to the one before it."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botpsy_tui.journal.processes import this_process
from botpsy_tui.journal.secrets import without_secrets
from botpsy_tui.journal.states import CallState, JournalProblem, may_follow, moved

CALL_COLUMNS = "id, conversation, call_id, tool, risk, digest, proposal, request, undoes"
"""The columns of a call, in the order in which its hash is taken."""


@dataclass(frozen=True)
class AuditEntry:
    """One event of a call."""

    number: int
    at: datetime
    call: int
    tool: str
    risk: str
    title: str
    state: CallState
    detail: Mapping[str, Any]
    """What the state brings with it: who decided, by which rule, the reason, the result …"""
    proposal: Mapping[str, Any]
    """The call as it was proposed: arguments, preview, payload, facts."""
    undoes: int | None
    hash: str
    """SHA-256 (hex) over this entry and the hash of the one before it."""

    def in_words(self) -> str:
        """Say what happened, in a few words; it may hold text from outside."""
        told = {key: str(value) for key, value in self.detail.items() if value and key != "record"}
        who = told.get("by", "")
        match self.state:
            case CallState.PROPOSED:
                undoes = f", takes back call {self.undoes}" if self.undoes is not None else ""
                return f"proposed ({self.risk}{undoes})"
            case CallState.REPLACED:
                return f"replaced by call {who}" if who else "replaced by another"
            case CallState.APPROVED:
                taint = f"; words of others were about: {told['taint']}" if "taint" in told else ""
                return f"approved by {'you' if who == 'person' else who}{taint}"
            case CallState.HELD:
                return f"in the outbox until {told.get('until', '')}"
            case CallState.UNDONE:
                return f"undone by call {who}"
            case _:
                more = told.get("reason") or told.get("problem") or told.get("result") or ""
                return f"{self.state.value}: {more}" if more else self.state.value

    def as_values(self) -> dict[str, Any]:
        """Return it as JSON values, with what looks like a secret left out."""
        values: dict[str, Any] = {
            "number": self.number,
            "at": self.at.isoformat(),
            "call": self.call,
            "tool": self.tool,
            "risk": self.risk,
            "state": self.state.value,
            "detail": without_secrets(self.detail),
            "hash": self.hash,
        }
        if self.state is CallState.PROPOSED:
            values["proposal"] = without_secrets(self.proposal)
            values["undoes"] = self.undoes
        return values


def append(
    connection: sqlite3.Connection, call: int, state: CallState, detail: Mapping[str, Any] | None = None
) -> None:
    """Add an event of a call, in the running transaction.

    Raises `CallMoved` where the call can't go to that state from where it stands now.
    """
    last = connection.execute(
        "SELECT state FROM audit WHERE call = ? ORDER BY id DESC LIMIT 1", (call,)
    ).fetchone()
    before = CallState(last[0]) if last else None
    if not may_follow(before, state):
        if before is None:
            raise JournalProblem(f"There is no call {call} in the journal.")
        raise moved(call, before)
    insert(connection, now(), call, state, this_process(), dict(detail or {}))


def insert(
    connection: sqlite3.Connection, at: str, call: int, state: str, process: str, detail: dict[str, Any]
) -> None:
    """Add a row to the end of the chain, whatever came before it."""
    if state == CallState.PROPOSED:
        detail = {**detail, "record": _record_hash(connection, call)}
    number, previous = connection.execute(
        "SELECT coalesce(max(id), 0) + 1, coalesce((SELECT hash FROM audit ORDER BY id DESC LIMIT 1), '')"
        " FROM audit"
    ).fetchone()
    row = (number, at, call, str(state), process, as_json(detail))
    connection.execute(
        "INSERT INTO audit (id, at, call, state, process, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*row, _hash(row, previous)),
    )


def entries(connection: sqlite3.Connection, *, call: int | None, since: datetime | None) -> list[AuditEntry]:
    """Return the events, oldest first: of one call, or from a moment on, or all."""
    rows = connection.execute(
        "SELECT audit.id, audit.at, audit.call, call.tool, call.risk, audit.state, audit.detail,"
        " call.proposal, call.undoes, audit.hash FROM audit JOIN call ON call.id = audit.call"
        " WHERE (?1 IS NULL OR audit.call = ?1) AND (?2 IS NULL OR audit.at >= ?2) ORDER BY audit.id",
        (call, None if since is None else moment(since)),
    ).fetchall()
    return [
        AuditEntry(
            number,
            datetime.fromisoformat(at),
            call,
            tool,
            risk,
            (read := json.loads(proposal))["preview"]["title"],
            CallState(state),
            json.loads(detail),
            read,
            undoes,
            hash_,
        )
        for number, at, call, tool, risk, state, detail, proposal, undoes, hash_ in rows
    ]


def problems(connection: sqlite3.Connection) -> list[str]:
    """Return a sentence for each thing that was changed after it was written; none where all is whole."""
    try:
        damaged = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
        found = [f"The file is damaged: {line}." for line in damaged if line != "ok"]
        return found or [*_chain_problems(connection), *_call_problems(connection)]
    except (sqlite3.DatabaseError, ValueError, TypeError, OverflowError) as error:
        return [f"The journal can't be read through: {error}."]


def _chain_problems(connection: sqlite3.Connection) -> Iterator[str]:
    previous, expected = "", 1
    states: dict[int, CallState] = {}
    rows = connection.execute("SELECT id, at, call, state, process, detail, hash FROM audit ORDER BY id")
    for *row, hash_ in rows:
        number, at, call, state = row[:4]
        if number != expected:
            yield f"Entries are missing before entry {number}: entry {expected} should come there."
        if hash_ != _hash(tuple(row), previous):
            yield f"Entry {number} ({at}) is not as it was written, or not the one that followed."
        before = states.get(call)
        if state not in set(CallState) or not may_follow(before, CallState(state)):
            yield f"Entry {number}: call {call} can't go from {before or 'nothing'} to {state}."
        else:
            states[call] = CallState(state)
        previous, expected = hash_, number + 1


def _call_problems(connection: sqlite3.Connection) -> Iterator[str]:
    recorded = {
        call: json.loads(detail).get("record")
        for call, detail in connection.execute(
            "SELECT call, detail FROM audit WHERE state = ? ORDER BY id", (CallState.PROPOSED,)
        )
    }
    kept = {row[0]: _row_hash(row) for row in connection.execute(f"SELECT {CALL_COLUMNS} FROM call")}
    for call in sorted({*recorded, *kept}, key=str):
        if call not in kept:
            yield f"Call {call} is gone."
        elif call not in recorded:
            yield f"Call {call} was put in from outside: the audit does not know it."
        elif kept[call] != recorded[call]:
            yield f"Call {call} is not as it was proposed."


def _record_hash(connection: sqlite3.Connection, call: int) -> str:
    return _row_hash(connection.execute(f"SELECT {CALL_COLUMNS} FROM call WHERE id = ?", (call,)).fetchone())


def _row_hash(row: tuple[Any, ...]) -> str:
    return _hash(row, "")


def _hash(row: tuple[Any, ...], previous: str) -> str:
    text = json.dumps([*row, previous], separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """Return the present moment as the journal writes it."""
    return moment(datetime.now(UTC))


def moment(when: datetime) -> str:
    """Return a moment as the journal writes it: UTC, ISO 8601, with milliseconds."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds")


def as_json(value: object) -> str:
    """Return a value as JSON that SQLite can hold: halves of surrogate pairs stay escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, default=str)
    return text
