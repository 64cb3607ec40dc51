"""Where a call can stand, and where it can go from there."""

from collections.abc import Mapping
from enum import StrEnum


class JournalProblem(Exception):
    """The journal can't be written; nothing may be done that it would have to hold."""


class CallMoved(JournalProblem):
    """The call is not where it was thought to be: it has been decided or done elsewhere meanwhile."""


class CallState(StrEnum):
    """Where a call stands. Its events in the audit are these, one after the other."""

    PROPOSED = "proposed"
    PENDING = "pending"
    """Nobody could be asked: it waits for a decision."""
    REJECTED = "rejected"
    REPLACED = "replaced"
    """Another proposal took its place: after an edit, or because something had changed."""
    APPROVED = "approved"
    HELD = "held"
    """Approved, and waiting in the outbox."""
    CANCELLED = "cancelled"
    """Taken back, or left behind by a run that ended, before it was begun: nothing was done."""
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It was begun, and nobody knows whether it happened. It is never repeated by itself."""
    UNDONE = "undone"


_NEXT: Mapping[CallState, frozenset[CallState]] = {
    CallState.PROPOSED: frozenset(
        [
            CallState.PENDING,
            CallState.REJECTED,
            CallState.REPLACED,
            CallState.APPROVED,
            CallState.CANCELLED,
        ]
    ),
    CallState.PENDING: frozenset(
        [CallState.REJECTED, CallState.REPLACED, CallState.APPROVED, CallState.CANCELLED]
    ),
    CallState.APPROVED: frozenset([CallState.HELD, CallState.STARTED, CallState.CANCELLED]),
    CallState.HELD: frozenset(
        [
            CallState.STARTED,
            CallState.PENDING,
            CallState.REJECTED,
            CallState.REPLACED,
            CallState.APPROVED,
            CallState.CANCELLED,
        ]
    ),
    CallState.STARTED: frozenset([CallState.DONE, CallState.FAILED, CallState.UNKNOWN]),
    CallState.UNKNOWN: frozenset([CallState.DONE, CallState.FAILED]),
    CallState.DONE: frozenset([CallState.UNDONE]),
}

_SAID = {
    CallState.PENDING: "waits for a decision",
    CallState.REJECTED: "was rejected",
    CallState.REPLACED: "was replaced by another",
    CallState.APPROVED: "is approved already",
    CallState.HELD: "is in the outbox",
    CallState.CANCELLED: "was cancelled",
    CallState.STARTED: "is being done",
    CallState.DONE: "is done",
    CallState.FAILED: "has failed",
    CallState.UNKNOWN: "may have happened",
    CallState.UNDONE: "was undone",
}


def may_follow(before: CallState | None, after: CallState) -> bool:
    """Say whether a call can go from one state to the other; the first is always `PROPOSED`."""
    return after is CallState.PROPOSED if before is None else after in _NEXT.get(before, ())


def moved(number: int, state: CallState) -> CallMoved:
    """Return the problem that a call already stands elsewhere."""
    return CallMoved(f"Call {number} {_SAID.get(state, f'is {state.value}')}; nothing was done now.")
