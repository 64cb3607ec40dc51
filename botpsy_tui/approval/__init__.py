"""May this call run? The rules, the taint, and the person's decision, bound to one frozen proposal."""

from botpsy_tui.approval.decisions import (
    Approve,
    Approver,
    Decision,
    Edit,
    Question,
    Reject,
    Stop,
)
from botpsy_tui.approval.gate import ApprovalGate, ApprovalMismatch
from botpsy_tui.approval.judge import Judge, Judgement

__all__ = [
    "ApprovalGate",
    "ApprovalMismatch",
    "Approve",
    "Approver",
    "Decision",
    "Edit",
    "Judge",
    "Judgement",
    "Question",
    "Reject",
    "Stop",
]
