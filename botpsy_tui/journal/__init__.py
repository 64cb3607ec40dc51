"""What happened: conversations, decisions and effects, in one SQLite file."""

from botpsy_tui.journal.history import PastCall, PastConversation, PastMessage
from botpsy_tui.journal.journal import CallRecord, CallState, Journal, JournalProblem
from botpsy_tui.journal.rulings import Ruling

__all__ = [
    "CallRecord",
    "CallState",
    "Journal",
    "JournalProblem",
    "PastCall",
    "PastConversation",
    "PastMessage",
    "Ruling",
]
