"""May this call run? The person's decision, bound to one frozen proposal."""

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

__all__ = [
    "ApprovalGate",
    "ApprovalMismatch",
    "Approve",
    "Approver",
    "Decision",
    "Edit",
    "Question",
    "Reject",
    "Stop",
]
