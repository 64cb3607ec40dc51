"""Which plugins of other people may be loaded: what the person has looked at and said yes to."""

from botpsy_tui.trust.declared import Declaration, ToolDeclaration, declaration_of
from botpsy_tui.trust.installed import InstalledPlugin, PluginUnfit, installed_plugins
from botpsy_tui.trust.loading import LoadedPlugin, load_class, load_plugins, taken_out
from botpsy_tui.trust.pins import Pin, Pins, PinsProblem, differences

__all__ = [
    "Declaration",
    "InstalledPlugin",
    "LoadedPlugin",
    "Pin",
    "Pins",
    "PinsProblem",
    "PluginUnfit",
    "ToolDeclaration",
    "declaration_of",
    "differences",
    "installed_plugins",
    "load_class",
    "load_plugins",
    "taken_out",
]
