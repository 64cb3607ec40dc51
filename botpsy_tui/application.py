"""Puts the rooms together: settings, plugins and their tools, the journal, the model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any
from zoneinfo import ZoneInfo

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.approval import Approver
from botpsy_tui.config import (
    AccountSettings,
    EngineSettings,
    Settings,
    data_folder,
    load_settings,
    read_secret,
)
from botpsy_tui.engine.types import EngineError, Sampling, Session
from botpsy_tui.journal import Journal
from botpsy_tui.models import InstalledModel, ModelStore, entry_named
from botpsy_tui.plugin import Account, AccountKind, Clock, Host, Plugin, SecretUnavailable, Tool

PLUGIN_GROUP = "botpsy.plugins"


def model_store() -> ModelStore:
    """Return the store of the models on this machine."""
    return ModelStore(data_folder() / "models")


def plugin_classes() -> tuple[dict[str, type[Plugin]], list[str]]:
    """Return the installed plugins by name, and a sentence for each that can't be used."""
    found: dict[str, type[Plugin]] = {}
    notices: list[str] = []
    for entry in sorted(entry_points(group=PLUGIN_GROUP), key=lambda entry: entry.name):
        try:
            loaded = entry.load()
        except Exception as error:  # noqa: BLE001 - a third party's fault must not take the house down
            notices.append(f"The plugin {entry.name} can't be loaded: {error}.")
            continue
        if not (isinstance(loaded, type) and issubclass(loaded, Plugin)):
            notices.append(f"The plugin {entry.name} is not a botpsy_tui.plugin.Plugin; it is left out.")
        elif loaded.name in found:
            notices.append(f"A second plugin calls itself {loaded.name}; it is left out.")
        else:
            found[loaded.name] = loaded
    return found, notices


def account_kinds() -> dict[str, AccountKind]:
    """Return the kinds of account that the installed plugins can use."""
    classes, _ = plugin_classes()
    return {kind.kind: kind for plugin in classes.values() for kind in plugin.account_kinds}


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
        classes, notices = plugin_classes()
        plugins = [_make(plugin, settings, clock) for plugin in classes.values()]
        tools, clashes = _distinct_tools(plugins)
        return cls(settings, clock, journal, plugins, tools, [*notices, *clashes])

    def chosen_model(self) -> InstalledModel | None:
        """Return the model that `load_session` would load."""
        return self.model or model_store().current()

    async def load_session(self) -> Session:
        """Load the chosen model. Takes seconds. Raises `EngineError` or `ModelProblem`."""
        model = self.chosen_model()
        if model is None:
            raise EngineError("There is no model yet; `botpsy model pull` fetches one.")
        engine = self.settings.engine
        local = await asyncio.to_thread(import_module, "botpsy_tui.engine.local")  # loads llama.cpp
        return await local.LocalSession.load(
            model.path,
            local.ContextSettings(engine.context, engine.threads),
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
        )

    async def interrupted_calls(self) -> list[str]:
        """Return a sentence for each call that a crash left half-way; each is told once."""
        return [
            f"The last run ended while this was being done: “{call.title}” ({call.tool}). It is not known "
            "whether it happened: look before you repeat it."
            for call in await self.journal.unfinished()
        ]

    async def close(self) -> None:
        """Close plugins and journal."""
        for plugin in self.plugins:
            await plugin.close()
        self.journal.close()


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


def _make(plugin: type[Plugin], settings: Settings, clock: Clock) -> Plugin:
    kinds = {kind.kind for kind in plugin.account_kinds}
    accounts = {account.name: account for account in settings.accounts if account.kind in kinds}
    return plugin(
        Host(
            data_folder=data_folder() / plugin.name,
            settings=settings.plugins.get(plugin.name, {}),
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


def _distinct_tools(plugins: Sequence[Plugin]) -> tuple[list[Tool[Any]], list[str]]:
    """Return the tools; one whose name is taken is refused, so that none can shadow another."""
    tools: dict[str, Tool[Any]] = {}
    notices: list[str] = []
    for plugin in plugins:
        for tool in plugin.tools():
            if tool.name in tools:
                notices.append(
                    f"The plugin {plugin.name} has a second tool named {tool.name}; it is left out."
                )
            else:
                tools[tool.name] = tool
    return list(tools.values()), notices
