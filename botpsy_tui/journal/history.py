"""Reads past conversations back: what was said, what was called, and how each call was decided."""

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_CALL_ID = re.compile(r"call-(\d+)")


@dataclass(frozen=True)
class PastCall:
    """A call as the model wrote it, and what became of it."""

    tool: str
    arguments: Mapping[str, Any]
    state: str = ""
    """A `CallState`; empty where it never became a proposal: it was not valid, or the turn had ended."""
    by: str = ""
    """Who approved it: ``person``, or a rule's words."""
    edited: Mapping[str, Any] | None = None
    """The arguments that the person put in place of the model's."""
    result: str = ""
    """What the tool said to the model, without what the house added."""
    proposal: Mapping[str, Any] | None = None
    """The proposal that was decided on last."""


@dataclass(frozen=True)
class PastMessage:
    """One message; `calls` are those that it holds, each answered by one of the next tool messages."""

    role: str
    content: str
    calls: tuple[PastCall, ...] = ()
    sources: tuple[str, ...] = ()
    """Whose words, from outside, it holds."""


@dataclass(frozen=True)
class PastConversation:
    """A conversation as the journal holds it."""

    number: int
    started_at: datetime
    messages: tuple[PastMessage, ...]
    shown_ids: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """The ids that tools have shown in it, as `References` takes them."""

    @property
    def sources(self) -> tuple[str, ...]:
        """Whose words, from outside, the conversation holds."""
        return tuple(dict.fromkeys(source for message in self.messages for source in message.sources))


@dataclass(frozen=True)
class _Row:
    at: str
    call_id: str
    tool: str
    state: str
    decision: Mapping[str, Any]
    result: str
    proposal: Mapping[str, Any]


def read_history(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[PastConversation]:
    """Return these conversations, or all where none is named, oldest first."""
    conversations = connection.execute("SELECT id, started_at FROM conversation ORDER BY id").fetchall()
    return [
        PastConversation(
            number,
            datetime.fromisoformat(started),
            _messages(connection, number),
            _shown_ids(connection, number),
        )
        for number, started in conversations
        if not numbers or number in numbers
    ]


def _messages(connection: sqlite3.Connection, conversation: int) -> tuple[PastMessage, ...]:
    rows = connection.execute(
        "SELECT at, role, content, calls, sources FROM message WHERE conversation = ? ORDER BY id",
        (conversation,),
    ).fetchall()
    decided = _decided(connection, conversation)
    turns = [at for at, role, *_ in rows if role == "user"]
    messages: list[PastMessage] = []
    turn, written = -1, 0
    for _, role, content, calls, sources in rows:
        if role == "user":
            turn, written = turn + 1, 0
        past: list[PastCall] = []
        for call in json.loads(calls):
            # The calls of a turn are numbered in the order in which the model wrote them.
            written += 1
            until = turns[turn + 1] if turn + 1 < len(turns) else None
            since = turns[turn] if turn >= 0 else ""
            of_turn = [row for row in decided if since <= row.at and (until is None or row.at < until)]
            past.append(_past_call(call, [row for row in of_turn if _number(row.call_id) == written]))
        messages.append(PastMessage(role, content, tuple(past), tuple(json.loads(sources))))
    return tuple(messages)


def _shown_ids(connection: sqlite3.Connection, conversation: int) -> dict[str, tuple[str, str]]:
    shown: dict[str, tuple[str, str]] = {}
    for (text,) in connection.execute(
        "SELECT shown_ids FROM message WHERE conversation = ? ORDER BY id", (conversation,)
    ):
        shown.update({name: (kind, key) for name, (kind, key) in json.loads(text).items()})
    return shown


def _decided(connection: sqlite3.Connection, conversation: int) -> list[_Row]:
    rows = connection.execute(
        "SELECT (SELECT min(at) FROM audit WHERE call = call_now.id), call_id, tool, state,"
        " (SELECT detail FROM audit WHERE call = call_now.id AND state IN ('approved', 'rejected')"
        "  ORDER BY id DESC LIMIT 1),"
        " (SELECT detail FROM audit WHERE call = call_now.id AND state = 'done'),"
        " proposal FROM call_now WHERE conversation = ? AND undoes IS NULL ORDER BY id",
        (conversation,),
    ).fetchall()
    return [
        _Row(
            at,
            call_id,
            tool,
            state,
            json.loads(decision or "{}"),
            json.loads(end or "{}").get("result", ""),
            json.loads(proposal),
        )
        for at, call_id, tool, state, decision, end, proposal in rows
    ]


def _past_call(written: Mapping[str, Any], rows: Sequence[_Row]) -> PastCall:
    """Join a call as written with its proposals: more than one where the person edited it."""
    if not rows or rows[-1].tool != written["name"]:
        return PastCall(written["name"], written["arguments"])
    last = rows[-1]
    return PastCall(
        tool=written["name"],
        arguments=written["arguments"],
        state=last.state,
        by=str(last.decision.get("by", "")),
        edited=last.proposal["arguments"] if len(rows) > 1 else None,
        result=last.result,
        proposal=last.proposal,
    )


def _number(call_id: str) -> int:
    found = _CALL_ID.fullmatch(call_id)
    return int(found[1]) if found else 0
