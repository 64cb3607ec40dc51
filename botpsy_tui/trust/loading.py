"""Loads the plugins that may be loaded; the others stay unimported, with a sentence each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from botpsy_tui.plugin import Plugin, Tool
from botpsy_tui.trust.declared import declaration_of
from botpsy_tui.trust.installed import InstalledPlugin, PluginUnfit, installed_plugins
from botpsy_tui.trust.pins import Pin, Pins, PinsProblem, differences

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin's class, and the pin that it was loaded by; none for BotPsy's own."""

    plugin: type[Plugin]
    pin: Pin | None

    @property
    def may_use_accounts(self) -> bool:
        """True where it may be given accounts and their passwords."""
        return self.pin is None or "accounts" in self.pin.declaration.permissions


def load_plugins(pins: Pins | None = None) -> tuple[dict[str, LoadedPlugin], list[str]]:
    """Return the plugins that may be used by name, and a sentence for each other one."""
    found: dict[str, LoadedPlugin] = {}
    notices: list[str] = []
    trusted: Mapping[str, Pin] = {}
    try:
        trusted = (pins or Pins()).read()
    except PinsProblem as problem:
        notices.append(str(problem))
    for installed in installed_plugins():
        try:
            if installed.name in found:
                raise PluginUnfit(f"A second plugin calls itself {installed.name} ({_of(installed)}).")
            pin = None if installed.first_party else _checked(installed, trusted.get(installed.name))
            found[installed.name] = LoadedPlugin(load_class(installed), pin)
        except PluginUnfit as problem:
            notices.append(f"{problem} It is left out.")
    return found, notices


def load_class(installed: InstalledPlugin) -> type[Plugin]:
    """Import a plugin: from here on its code runs. Raises `PluginUnfit`."""
    try:
        loaded: Any = installed.entry.load()
    except Exception as error:
        raise PluginUnfit(f"The plugin {installed.name} can't be loaded: {error}.") from error
    if not (isinstance(loaded, type) and issubclass(loaded, Plugin)):
        raise PluginUnfit(f"The plugin {installed.name} is not a botpsy_tui.plugin.Plugin.")
    if loaded.name != installed.name or not _NAME.fullmatch(installed.name):
        raise PluginUnfit(
            f"The plugin {installed.name} calls itself {loaded.name!r}: the names must be the same."
        )
    return loaded


def taken_out(name: str, loaded: LoadedPlugin, tools: Sequence[Tool[Any]]) -> str:
    """Return why a plugin, once made, is left out after all: it declares what was not trusted."""
    if loaded.pin is None:
        return ""
    now = loaded.pin.model_copy(update={"declaration": declaration_of(loaded.plugin, tools)})
    changed = differences(loaded.pin, now)
    return _changed(name, changed) + " It is left out." if changed else ""


def _checked(installed: InstalledPlugin, pin: Pin | None) -> Pin:
    """Return the pin where the plugin is exactly as it was trusted. Imports nothing."""
    if pin is None:
        raise PluginUnfit(
            f"The plugin {installed.name} ({_of(installed)}) is not trusted yet: "
            f"`botpsy plugin trust {installed.name}` shows it and asks."
        )
    now = pin.model_copy(
        update={
            "distribution": installed.distribution,
            "version": installed.version,
            "entry": installed.entry.value,
            "files": installed.files(),
        }
    )
    if changed := differences(pin, now):
        raise PluginUnfit(_changed(installed.name, changed))
    return pin


def _changed(name: str, changed: Sequence[str]) -> str:
    return (
        f"The plugin {name} has changed since you trusted it ({'; '.join(changed)}): "
        f"`botpsy plugin trust {name}` shows it and asks again."
    )


def _of(installed: InstalledPlugin) -> str:
    return f"{installed.distribution} {installed.version}"
