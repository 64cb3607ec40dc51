"""What happened: conversations, decisions and effects, in one SQLite file."""

from botpsy_tui.journal.audit import AuditEntry
from botpsy_tui.journal.history import PastCall, PastConversation, PastMessage
from botpsy_tui.journal.journal import Journal
from botpsy_tui.journal.records import CallRecord, CallRequest
from botpsy_tui.journal.rulings import Ruling
from botpsy_tui.journal.secrets import hide_secrets, without_secrets
from botpsy_tui.journal.states import CallMoved, CallState, JournalProblem

__all__ = [
    "AuditEntry",
    "CallMoved",
    "CallRecord",
    "CallRequest",
    "CallState",
    "Journal",
    "JournalProblem",
    "PastCall",
    "PastConversation",
    "PastMessage",
    "Ruling",
    "hide_secrets",
    "without_secrets",
]
