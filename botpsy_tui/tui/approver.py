"""The person in front of the chat, as the one who decides."""

import asyncio
from typing import Protocol

from botpsy_tui.approval import Decision, Question


class Desk(Protocol):
    """Where a question is put: it finds the call's card and shows that it waits."""

    async def ask(self, question: Question, answer: "asyncio.Future[Decision]") -> None:
        """Show the question; the future is set when the person decides."""
        ...

    def withdraw(self, question: Question) -> None:
        """Show that the question is not asked any more."""
        ...


class ChatApprover:
    """Puts a question to the person and waits; a wait that is cancelled decides nothing."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def decide(self, question: Question) -> Decision:
        """Wait for the person."""
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        try:
            await self._desk.ask(question, answer)
            return await answer
        except asyncio.CancelledError:
            self._desk.withdraw(question)
            raise
