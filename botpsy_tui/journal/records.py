"""A call as the journal holds it, read back from its row."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from botpsy_tui.journal.states import CallState
from botpsy_tui.plugin import Line, Preview, Proposal, Risk, Undo


@dataclass(frozen=True)
class CallRequest:
    """What a call was proposed from, and can be proposed from again."""

    arguments: Mapping[str, Any]
    """As they were given to the tool, before it validated them."""
    words: str
    """What the person had said."""
    call_key: str
    moment: datetime
    """The clock by which its words were understood."""


@dataclass(frozen=True)
class CallRecord:
    """A call, and where it stands."""

    number: int
    """Its number in the journal, by which the person names it."""
    conversation: int
    call_id: str
    proposal: Proposal
    request: CallRequest | None
    """None for a call of a version that did not keep it."""
    state: CallState
    at: datetime
    """Since when it stands there."""
    process: str
    """The process that brought it there."""
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What came with the state; see `AuditEntry.detail`."""
    undoes: int | None = None
    """The number of the call that this one takes back."""

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.proposal.tool

    @property
    def risk(self) -> Risk:
        """The call's risk."""
        return self.proposal.risk

    @property
    def title(self) -> str:
        """What it does, as its preview says."""
        return self.proposal.preview.title

    @property
    def result(self) -> str:
        """What the tool said to the model, where the call is done."""
        return str(self.detail.get("result", ""))

    @property
    def undo(self) -> Undo | None:
        """How a call that is done can be taken back."""
        undo = self.detail.get("undo")
        return Undo(undo["summary"], undo["data"]) if undo else None

    @property
    def until(self) -> datetime | None:
        """When a call in the outbox leaves."""
        until = self.detail.get("until")
        return datetime.fromisoformat(until) if until else None


COLUMNS = "id, conversation, call_id, proposal, request, undoes, state, at, process, detail"


def read_calls(
    connection: sqlite3.Connection, where: str = "", values: tuple[Any, ...] = ()
) -> list[CallRecord]:
    """Return calls, oldest first; `where` is SQL over the view ``call_now``."""
    condition = f" WHERE {where}" if where else ""
    rows = connection.execute(f"SELECT {COLUMNS} FROM call_now{condition} ORDER BY id", values).fetchall()
    return [
        CallRecord(
            number=number,
            conversation=conversation,
            call_id=call_id,
            proposal=_proposal(json.loads(proposal)),
            request=_request(json.loads(request)),
            state=CallState(state),
            at=datetime.fromisoformat(at),
            process=process,
            detail=json.loads(detail),
            undoes=undoes,
        )
        for number, conversation, call_id, proposal, request, undoes, state, at, process, detail in rows
    ]


def request_as_values(request: CallRequest | None) -> dict[str, Any]:
    """Return what is kept of a request, as JSON values."""
    if request is None:
        return {}
    return {
        "arguments": dict(request.arguments),
        "words": request.words,
        "call_key": request.call_key,
        "moment": request.moment.isoformat(),
        "zone": str(request.moment.tzinfo),
    }


def _request(values: Mapping[str, Any]) -> CallRequest | None:
    if not values:
        return None
    moment = datetime.fromisoformat(values["moment"]).astimezone(ZoneInfo(values["zone"]))
    return CallRequest(values["arguments"], values["words"], values["call_key"], moment)


def _proposal(values: Mapping[str, Any]) -> Proposal:
    preview = values["preview"]
    return Proposal(
        tool=values["tool"],
        version=values["version"],
        risk=Risk(values["risk"]),
        preview=Preview(
            preview["title"],
            tuple(Line(line["label"], line["value"], line.get("before")) for line in preview["lines"]),
            tuple(preview["warnings"]),
        ),
        payload=values["payload"],
        arguments=values["arguments"],
        facts=values.get("facts", {}),
        held=values.get("held", False),
    )
