"""A house for the chat: the real assistant and journal, a model that says what the test tells it to."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.undoing import Undoing
from botpsy_tui.agent.waiting import WaitingCalls
from botpsy_tui.approval import Approver
from botpsy_tui.approval.permissions import Permissions, read_permissions
from botpsy_tui.approval.policy import Rule, revoke_rule
from botpsy_tui.config import NoticeSettings
from botpsy_tui.engine.types import Session
from botpsy_tui.journal import AuditEntry, Journal
from botpsy_tui.plugin import Tool
from botpsy_tui.tui.ports import ModelOption
from tests.agent.fakes import FakeSession, NoteTool, clock


class FakeHouse:
    """Loads a `FakeSession`; can have no model yet, or one that can't be loaded."""

    def __init__(
        self,
        folder: Path,
        session: FakeSession,
        *tools: Tool[Any],
        installed: str | None = "fake",
        load_problem: Exception | None = None,
        notices: Sequence[str] = (),
        hold: timedelta = timedelta(hours=1),
    ) -> None:
        self.notices = notices
        self.tools = tools or (NoteTool(),)
        self._session = session
        self._installed = installed
        self._load_problem = load_problem
        self._journal = Journal(folder / "journal.sqlite")
        self.policy = folder / "config" / "policy.toml"
        self.policy.parent.mkdir(mode=0o700, exist_ok=True)
        self.notice_settings = NoticeSettings()
        self._hold = hold
        self.waiting = WaitingCalls(
            tools=self.tools, journal=self._journal, clock=clock, policy_path=self.policy, hold=hold
        )
        self.may_load = asyncio.Event()
        self.may_load.set()
        self.pull_problem: Exception | None = None
        self.pulled: list[str] = []
        self.interrupted: list[str] = []

    async def interrupted_calls(self) -> Sequence[str]:
        return self.interrupted

    def installed_model(self) -> str | None:
        return self._installed

    def model_options(self) -> Sequence[ModelOption]:
        return [
            ModelOption("botpsy-0.8b", "BotPsy 0.8B, 530 MB", "The smallest; quick on an old laptop."),
            ModelOption("starter", "Starter, 1.1 GB", "Calls tools well for its size.", recommended=True),
        ]

    async def pull_model(self, spec: str, on_progress: Callable[[str, int, int], None]) -> None:
        on_progress("downloading", 500_000_000, 1_117_320_768)
        await asyncio.sleep(0.05)
        if self.pull_problem:
            problem, self.pull_problem = self.pull_problem, None
            raise problem
        self.pulled.append(spec)
        self._installed = spec

    async def load_session(self) -> Session:
        await self.may_load.wait()
        if self._load_problem:
            raise self._load_problem
        return self._session

    def new_assistant(self, session: Session, approver: Approver) -> Assistant:
        return Assistant(
            session=session,
            tools=self.tools,
            approver=approver,
            journal=self._journal,
            clock=clock,
            policy_path=self.policy,
            hold=self._hold,
        )

    @property
    def undoing(self) -> Undoing:
        return Undoing(tools=self.tools, journal=self._journal, clock=clock)

    async def audit(self, most: int) -> Sequence[AuditEntry]:
        return (await self._journal.audit())[-most:]

    async def permissions(self) -> Permissions:
        return await read_permissions(self.policy, self._journal, clock())

    async def revoke_rule(self, rule_id: str) -> Rule:
        return await asyncio.to_thread(revoke_rule, self.policy, rule_id)

    async def close(self) -> None:
        await self.waiting.close()
        self._journal.close()
