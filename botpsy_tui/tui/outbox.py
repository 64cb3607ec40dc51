"""The record on the screen: the outbox's cards that count down, what waits for the person, the audit."""

from collections.abc import Callable, Iterable, Sequence

from botpsy_tui.agent.waiting import Left, WaitingCalls
from botpsy_tui.journal import AuditEntry, CallRecord, CallState, JournalProblem, hide_secrets
from botpsy_tui.tui.widgets.card import CallCard
from botpsy_tui.tui.widgets.log import ConversationLog
from botpsy_tui.tui.widgets.messages import Notice

_STATES = {
    CallState.DONE: "✓ done",
    CallState.FAILED: "✗ failed",
    CallState.UNKNOWN: "? it is not known whether this happened",
    CallState.PENDING: "not sent, it waits for you: /pending",
    CallState.CANCELLED: "taken back",
}


MOST_ENTRIES = 30
"""Entries of the audit that the chat shows; `botpsy audit` shows them all."""


def audit_text(entries: Sequence[AuditEntry]) -> str:
    """Return the entries as lines; they may hold text from outside."""
    rows = [
        f"{entry.at.astimezone():%d %b %H:%M:%S}  {entry.call}  {entry.title}: "
        f"{hide_secrets(entry.in_words()).partition(chr(10))[0][:120]}"
        for entry in entries
    ]
    return "\n".join([*rows, "`botpsy audit` shows all of it; /undo N takes call N back."])


class OutboxDesk:
    """Has calls leave when their time has come, and shows it on their cards."""

    def __init__(
        self, *, waiting: WaitingCalls, log: ConversationLog, cards: Callable[[], Iterable[CallCard]]
    ) -> None:
        self._waiting = waiting
        self._log = log
        self._cards = cards

    async def greet(self) -> None:
        """Say at the start that calls of earlier runs wait, where there are some."""
        count = len(await self._waiting.left_behind())
        if count:
            calls = "A call from before waits" if count == 1 else f"{count} calls from before wait"
            await self._log.add(Notice(f"{calls} for your decision: /pending asks about it."))

    async def follow(self) -> None:
        """Have calls leave; until cancelled."""
        try:
            async for left in self._waiting.leave():
                await self._show(left)
        except JournalProblem as problem:
            await self._log.add(Notice(f"{problem} Nothing leaves the outbox any more.", error=True))

    async def take_back(self, card: CallCard) -> None:
        """Have a call not be done."""
        assert card.number is not None
        try:
            await self._waiting.take_back(card.number)
        except JournalProblem as problem:
            await self._log.add(Notice(str(problem), error=True))
        else:
            card.left("taken back, nothing was sent", "")

    async def waits(self) -> Sequence[CallRecord]:
        """Return the calls that wait for the person."""
        return await self._waiting.left_behind()

    async def list(self) -> None:
        """Show what is in the outbox."""
        rows = [
            f"{call.title}, leaves at {call.until.astimezone():%H:%M:%S}"
            for call in await self._waiting.mine()
            if call.until is not None
        ]
        rows += [f"{call.title}, waits for you: /pending" for call in await self._waiting.left_behind()]
        await self._log.add(Notice("\n".join(rows) or "The outbox is empty, and nothing waits for you."))

    async def _show(self, left: Left) -> None:
        state = _STATES.get(left.state, left.state.value)
        card = next((card for card in self._cards() if card.held and card.number == left.number), None)
        if card is not None:
            card.left(state, left.text)
        else:
            await self._log.add(Notice(f"{left.title}: {state}. {left.text}"))
