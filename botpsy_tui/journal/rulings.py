"""What a rule of the policy has decided: read from the calls' own record."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Ruling:
    """One call that a rule allowed or denied."""

    at: datetime
    """In UTC."""
    title: str
    """The call, in the words of its card. It may hold text from outside."""
    allowed: bool


def read_rulings(connection: sqlite3.Connection, rule_id: str, most: int) -> Sequence[Ruling]:
    """Return the last calls that the rule with this id decided, at most so many, the last one first."""
    rows = connection.execute(
        "SELECT audit.at, call.proposal, audit.state = 'approved' FROM audit"
        " JOIN call ON call.id = audit.call"
        " WHERE audit.state IN ('approved', 'rejected')"
        " AND json_extract(audit.detail, '$.rule') = ? ORDER BY audit.id DESC LIMIT ?",
        (rule_id, most),
    )
    return [
        Ruling(datetime.fromisoformat(at), json.loads(proposal)["preview"]["title"], bool(allowed))
        for at, proposal, allowed in rows
    ]
