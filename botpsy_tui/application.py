"""Puts the rooms together: settings, plugins and their tools, the journal, the model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from importlib import import_module
from typing import Any
from zoneinfo import ZoneInfo

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.undoing import Undoing
from botpsy_tui.agent.waiting import WaitingCalls
from botpsy_tui.approval import Approver
from botpsy_tui.config import (
    AccountSettings,
    EngineSettings,
    Settings,
    cache_folder,
    config_folder,
    data_folder,
    endpoint_account,
    load_settings,
    policy_path,
    read_secret,
)
from botpsy_tui.engine.types import EngineError, Sampling, Session
from botpsy_tui.journal import Journal
from botpsy_tui.models import InstalledModel, ModelProblem, ModelStore, entry_named, memory_need, read_header
from botpsy_tui.plugin import Account, AccountKind, Clock, Host, Plugin, SecretUnavailable, Tool
from botpsy_tui.trust import LoadedPlugin, load_plugins, taken_out


def model_store() -> ModelStore:
    """Return the store of the models on this machine."""
    return ModelStore(data_folder() / "models")


def account_kinds() -> dict[str, AccountKind]:
    """Return the kinds of account that the plugins can use; one that is taken stays with the first."""
    plugins, _ = load_plugins()
    kinds: dict[str, AccountKind] = {}
    for loaded in plugins.values():
        for kind in loaded.plugin.account_kinds if loaded.may_use_accounts else ():
            kinds.setdefault(kind.kind, kind)
    return kinds


def clock_of(settings: Settings) -> Clock:
    """Return the clock of the person's zone."""
    if settings.timezone:
        zone = ZoneInfo(settings.timezone)
    else:
        from tzlocal import get_localzone

        zone = get_localzone()
    return lambda: datetime.now(zone)


@dataclass
class Application:
    """The whole of BotPsy but for its faces. Made by `open`; close it after use."""

    settings: Settings
    clock: Clock
    journal: Journal
    plugins: Sequence[Plugin]
    tools: Sequence[Tool[Any]]
    notices: Sequence[str]
    model: InstalledModel | None = None
    """The model to load, where it is not the store's current one."""

    @classmethod
    def open(cls, *, clock: Clock | None = None) -> "Application":
        """Read the settings, open the journal, make the plugins.

        Raises `SettingsProblem` or `JournalProblem`.
        """
        settings = load_settings()
        clock = clock or clock_of(settings)
        journal = Journal(data_folder() / "journal.sqlite")
        plugins, tools, notices = _plugins_and_tools(settings, clock)
        return cls(settings, clock, journal, plugins, tools, notices)

    def chosen_model(self) -> InstalledModel | None:
        """Return the model file that is named for this run, or the current one."""
        return self.model or model_store().current()

    @property
    def elsewhere(self) -> str:
        """The endpoint whose model `load_session` uses, or nothing where it loads one here."""
        return "" if self.model else self.settings.engine.endpoint

    async def load_session(self) -> Session:
        """Load the chosen model, or reach the endpoint. Raises `EngineError` or `ModelProblem`."""
        if self.elsewhere:
            return await open_endpoint(self.settings.engine)
        model = self.chosen_model()
        if model is None:
            raise EngineError("There is no model yet; `botpsy model pull` fetches one.")
        await asyncio.to_thread(_check_loadable, model, self.settings.engine)
        engine = self.settings.engine
        local = await asyncio.to_thread(import_module, "botpsy_tui.engine.local")  # loads llama.cpp
        return await local.LocalSession.load(
            model.path,
            local.ContextSettings(
                engine.context,
                engine.threads,
                kv_type=engine.kv_type,
                mmap=engine.mmap,
                checkpoint_bytes=engine.checkpoint_bytes,
                adapters=tuple(local.LoraAdapter(one.path, one.scale) for one in model.adapters),
            ),
            quantisation=model.quantisation,
            family=entry.sampling if (entry := entry_named(model.name)) else None,
        )

    def new_assistant(self, session: Session, approver: Approver) -> Assistant:
        """Begin a conversation."""
        engine = self.settings.engine
        return Assistant(
            session=session,
            tools=self.tools,
            approver=approver,
            journal=self.journal,
            clock=self.clock,
            sampling=_sampling_of(engine),
            thinking=engine.thinking,
            reasoning_tokens=engine.reasoning_tokens,
            policy_path=policy_path(),
            hold=self._hold,
        )

    @property
    def _hold(self) -> timedelta:
        return timedelta(seconds=self.settings.approvals.outbox_seconds)

    @cached_property
    def waiting(self) -> WaitingCalls:
        """The calls that wait: in the outbox, or for a decision."""
        return self.waiting_calls()

    @property
    def undoing(self) -> Undoing:
        """Takes back what was done."""
        return Undoing(tools=self.tools, journal=self.journal, clock=self.clock)

    def waiting_calls(self, hold: timedelta | None = None) -> WaitingCalls:
        """Return what decides on calls that wait; `hold`: how long one is held, else as the settings say."""
        return WaitingCalls(
            tools=self.tools,
            journal=self.journal,
            clock=self.clock,
            policy_path=policy_path(),
            hold=self._hold if hold is None else hold,
        )

    async def interrupted_calls(self) -> list[str]:
        """Return a sentence for each call that a crash left half-way; each is told once."""
        return [
            f"The last run ended while this was being done: “{call.title}” ({call.tool}). It is not known "
            "whether it happened: look before you repeat it."
            for call in await self.journal.unfinished()
        ]

    async def close(self) -> None:
        """Close plugins and journal, once what has begun to leave the outbox is gone."""
        await self.waiting.close()
        for plugin in self.plugins:
            await plugin.close()
        self.journal.close()


def _check_loadable(model: InstalledModel, engine: EngineSettings) -> None:
    """Raise `ModelProblem` where an adapter doesn't fit, or the model wouldn't fit into memory."""
    model.check_adapters()
    if not model.path.exists():
        return  # the engine says so
    need = memory_need(
        read_header(model.path),
        model.size,
        engine.context,
        kv_type=engine.kv_type,
        mapped=engine.mmap,
        checkpoints=engine.checkpoint_bytes,
    )
    if not need.fits:
        raise ModelProblem(
            f"{model.name} {need.sentence}, close something, or set a smaller `context` or "
            '`kv_type = "q8_0"` '
            f"under [engine]. It is made of: {need.parts}."
        )


def _sampling_of(engine: EngineSettings) -> Sampling:
    """Return what the settings say of sampling; what is unset is left to the model."""
    return Sampling(
        temperature=engine.temperature,
        top_k=engine.top_k,
        top_p=engine.top_p,
        min_p=engine.min_p,
        repeat_penalty=engine.repeat_penalty,
        presence_penalty=engine.presence_penalty,
        frequency_penalty=engine.frequency_penalty,
        seed=engine.seed,
    )


def _plugins_and_tools(settings: Settings, clock: Clock) -> tuple[list[Plugin], list[Tool[Any]], list[str]]:
    """Make the plugins and collect their tools; what can't be used is left out, with a sentence."""
    loaded, notices = load_plugins()
    plugins: list[Plugin] = []
    tools: dict[str, tuple[str, Tool[Any]]] = {}
    for name, one in loaded.items():
        try:
            plugin = make_plugin(one, settings, clock)
            offered = list(plugin.tools())
        except Exception as error:  # noqa: BLE001 - a plugin's fault must not take the house down
            notices.append(f"The plugin {name} can't be used: {error}")
            continue
        if problem := taken_out(name, one, offered):
            notices.append(problem)
            continue
        plugins.append(plugin)
        for tool in offered:
            if tool.name in tools:
                notices.append(
                    f"The plugins {tools[tool.name][0]} and {name} both have a tool named {tool.name}; "
                    f"that of {name} is left out."
                )
            else:
                tools[tool.name] = name, tool
    return plugins, [tool for _, tool in tools.values()], notices


async def open_endpoint(engine: EngineSettings) -> Session:
    """Reach the endpoint of the settings and find its model there. Raises `EngineError`."""
    endpoint = await asyncio.to_thread(import_module, "botpsy_tui.engine.endpoint")
    account = endpoint_account(engine)

    def key() -> str:
        try:
            return read_secret(account) if account else ""
        except SecretUnavailable as error:
            raise EngineError(str(error)) from error

    settings = endpoint.EndpointSettings(
        url=engine.endpoint,
        model=engine.endpoint_model,
        key=key,
        context_size=engine.context,
        silence_seconds=engine.endpoint_timeout,
    )
    return await endpoint.EndpointSession.open(settings)


def make_plugin(loaded: LoadedPlugin, settings: Settings, clock: Clock) -> Plugin:
    """Make a plugin with what it is given: a folder, its settings, and accounts where it may have some."""
    plugin = loaded.plugin
    kinds = {kind.kind for kind in plugin.account_kinds} if loaded.may_use_accounts else set[str]()
    accounts = {account.name: account for account in settings.accounts if account.kind in kinds}
    return plugin(
        Host(
            data_folder=data_folder() / plugin.name,
            settings=settings.plugins.get(plugin.name, {}),
            own_folders=(config_folder(), data_folder(), cache_folder()),
            accounts=[account.as_account() for account in accounts.values()],
            secret=_secrets_of(accounts),
            clock=clock,
        )
    )


def _secrets_of(accounts: dict[str, AccountSettings]) -> Callable[[Account], str]:
    """Return what gives a plugin the secrets of its own accounts, and of no others."""

    def secret(account: Account) -> str:
        if account.name not in accounts:
            raise SecretUnavailable(f"There is no account {account.name} for this plugin.")
        return read_secret(accounts[account.name])

    return secret
