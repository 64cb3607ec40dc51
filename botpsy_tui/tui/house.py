"""The real house behind the chat."""

import asyncio
import threading
from collections.abc import Callable, Sequence

from botpsy_tui.agent.undoing import Undoing
from botpsy_tui.agent.waiting import WaitingCalls
from botpsy_tui.application import Application, model_store
from botpsy_tui.approval import Approver
from botpsy_tui.approval.permissions import Permissions, read_permissions
from botpsy_tui.approval.policy import Rule, revoke_rule
from botpsy_tui.config import NoticeSettings, policy_path
from botpsy_tui.engine.types import Session
from botpsy_tui.journal import AuditEntry
from botpsy_tui.models import CATALOGUE, Progress, first_choice, size_text
from botpsy_tui.tui.ports import Assistant, ModelOption


class ApplicationHouse:
    """Gives the chat what it needs of an `Application`."""

    def __init__(self, application: Application) -> None:
        self._application = application

    @property
    def notice_settings(self) -> NoticeSettings:
        """How the person is called while a call waits."""
        return self._application.settings.notice

    @property
    def notices(self) -> Sequence[str]:
        """Problems found at the start."""
        return self._application.notices

    async def interrupted_calls(self) -> Sequence[str]:
        """Return what the last run left half-way."""
        return await self._application.interrupted_calls()

    def installed_model(self) -> str | None:
        """Return the chosen model's name, or where it runs."""
        if self._application.elsewhere:
            return self._application.elsewhere
        model = self._application.chosen_model()
        return model.name if model else None

    def model_options(self) -> Sequence[ModelOption]:
        """Return what a first start can take, its own choice first; without a hub, that alone."""
        choice = first_choice()
        others = ("botpsy-0.8b", "starter") if choice.hub_reachable else ()
        names = [choice.spec, *(name for name in others if name != choice.spec)]
        entries = {entry.name: entry for entry in CATALOGUE}
        return [
            ModelOption(
                name,
                f"{entries[name].title}, {size_text(entries[name].approximate_size)}",
                choice.sentence if name == choice.spec else entries[name].about,
                recommended=name == choice.spec,
            )
            for name in names
        ]

    async def pull_model(self, spec: str, on_progress: Callable[[str, int, int], None]) -> None:
        """Fetch a model in a thread; cancelling the task ends the download, its parts are kept."""
        cancelled = threading.Event()

        def progress(progress: Progress) -> None:
            on_progress(progress.stage, progress.done, progress.total)

        store = model_store()
        job = asyncio.ensure_future(asyncio.to_thread(store.pull, spec, progress, cancelled))
        try:
            self._application.model = await asyncio.shield(job)
        except asyncio.CancelledError:
            cancelled.set()
            await asyncio.wait({job})
            raise

    async def load_session(self) -> Session:
        """Load the chosen model."""
        return await self._application.load_session()

    def new_assistant(self, session: Session, approver: Approver) -> Assistant:
        """Begin a conversation."""
        return self._application.new_assistant(session, approver)

    @property
    def waiting(self) -> WaitingCalls:
        """The application's calls that wait."""
        return self._application.waiting

    @property
    def undoing(self) -> Undoing:
        """What takes calls back."""
        return self._application.undoing

    async def audit(self, most: int) -> Sequence[AuditEntry]:
        """Return the last entries of the journal's audit."""
        return (await self._application.journal.audit())[-most:]

    async def permissions(self) -> Permissions:
        """Read the policy file, and what the journal tells of its rules."""
        return await read_permissions(policy_path(), self._application.journal, self._application.clock())

    async def revoke_rule(self, rule_id: str) -> Rule:
        """Take a rule out of the policy file."""
        return await asyncio.to_thread(revoke_rule, policy_path(), rule_id)

    async def close(self) -> None:
        """Close the application."""
        await self._application.close()
