"""The lock on the door to `commit`: one approval opens it once, for one digest."""

from botpsy_tui.approval.decisions import Approve
from botpsy_tui.plugin import Proposal


class ApprovalMismatch(Exception):
    """What was approved is not what would be done, or the approval was used before."""


class ApprovalGate:
    """Spends approvals. An approval is good for the proposal it names, once."""

    def __init__(self) -> None:
        self._spent: set[tuple[str, str]] = set()

    def spend(self, call_id: str, approval: Approve, proposal: Proposal) -> None:
        """Use `approval` for `proposal`, or raise `ApprovalMismatch`."""
        if approval.digest != proposal.digest:
            raise ApprovalMismatch("The call changed after it was approved, so it was not run.")
        key = (call_id, approval.digest)
        if key in self._spent:
            raise ApprovalMismatch("This approval was used before, so the call was not run again.")
        self._spent.add(key)
