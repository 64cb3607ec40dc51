"""``botpsy plugin``: which plugins there are, and which of other people's may be loaded."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_row

if TYPE_CHECKING:
    from botpsy_tui.trust import InstalledPlugin, Pin

app = typer.Typer(help="Plugins: look at them, trust them, stop trusting them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="PLUGIN", help="A plugin's name, as `list` shows it.")]


@app.command("list")
def list_plugins() -> None:
    """Show the installed plugins and whether they are loaded."""
    from botpsy_tui.trust import installed_plugins

    for plugin in installed_plugins():
        say(f"{plugin.name}\t{plugin.distribution} {plugin.version}\t{_state(plugin)}")


@app.command("show")
def show(name: Name) -> None:
    """Show what was trusted of a plugin, and what has changed since. Loads nothing.

    Example: botpsy plugin show weather
    """
    plugin = _named(name)
    say(f"{plugin.name}: {plugin.distribution} {plugin.version}, {_state(plugin)}")
    if (pin := _pin_of(name)) is not None:
        say(f"fingerprint {pin.fingerprint}")
        _show_declaration(pin)


@app.command("trust")
def trust(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Look at a plugin, and let it be loaded from now on, exactly as it is.

    A plugin is code that can do all that you can do. It is loaded to see its tools, after a first yes;
    a second yes keeps it. When anything about it changes, it is left out until you trust it again.

    Example: botpsy plugin trust weather
    """
    from botpsy_tui.trust import Pins, PinsProblem, PluginUnfit, differences

    plugin = _named(name)
    if plugin.first_party:
        say(f"{name} is part of BotPsy: there is nothing to trust.")
        return
    if not yes and not sys.stdin.isatty():
        stop(f"Trusting {name} needs a yes: add --yes.", Exit.USAGE)
    before = _pin_of(name)
    try:
        files = plugin.files()
        say_row("plugin", f"{name}, from {plugin.distribution} {plugin.version}, {len(files)} files", width=8)
        if not yes and not typer.confirm("Load it, to see what it declares?"):
            stop("It stays as it was.", Exit.FAILED)
        pin = _pinned(plugin, files)
        _show_declaration(pin)
        if before is not None:
            for change in differences(before, pin) or ["nothing has changed"]:
                say_row("since", change, width=8)
        if not yes and not typer.confirm("Trust it?"):
            stop("It stays as it was.", Exit.FAILED)
        Pins().trust(name, pin)
    except (PluginUnfit, PinsProblem) as problem:
        stop(str(problem))
    say(f"{name} is trusted; `botpsy plugin distrust {name}` takes that back.")


@app.command("distrust")
def distrust(name: Name) -> None:
    """Stop loading a plugin. It stays installed."""
    from botpsy_tui.trust import Pins, PinsProblem

    try:
        known = Pins().distrust(name)
    except PinsProblem as problem:
        stop(str(problem))
    if not known:
        stop(f"{name} was not trusted; `botpsy plugin list` shows which are.", Exit.USAGE)
    say(f"{name} is not loaded any more.")


def _named(name: str) -> "InstalledPlugin":
    from botpsy_tui.trust import installed_plugins

    found = [plugin for plugin in installed_plugins() if plugin.name == name]
    if not found:
        known = ", ".join(plugin.name for plugin in installed_plugins())
        stop(f"There is no plugin {name}; there are: {known}.", Exit.USAGE)
    if len(found) > 1:
        owners = ", ".join(plugin.distribution for plugin in found)
        stop(f"{name} is offered by several packages ({owners}); uninstall all but one.", Exit.USAGE)
    return found[0]


def _pin_of(name: str) -> "Pin | None":
    from botpsy_tui.trust import Pins, PinsProblem

    try:
        return Pins().read().get(name)
    except PinsProblem as problem:
        stop(str(problem))


def _pinned(plugin: "InstalledPlugin", files: dict[str, str]) -> "Pin":
    """Load a plugin and return it as it would be pinned. Raises `PluginUnfit`."""
    from botpsy_tui.application import clock_of, make_plugin
    from botpsy_tui.config import SettingsProblem, load_settings
    from botpsy_tui.trust import LoadedPlugin, Pin, PluginUnfit, declaration_of, load_class

    loaded = load_class(plugin)
    nothing_yet = Pin(
        distribution=plugin.distribution,
        version=plugin.version,
        entry=plugin.entry.value,
        files=files,
        declaration=declaration_of(loaded, ()).model_copy(update={"permissions": ()}),
    )
    try:
        settings = load_settings()
        tools = make_plugin(LoadedPlugin(loaded, nothing_yet), settings, clock_of(settings)).tools()
    except SettingsProblem as problem:
        stop(str(problem))
    except Exception as error:  # a third party's fault is one sentence
        raise PluginUnfit(f"The plugin {plugin.name} can't be used: {error}.") from error
    return nothing_yet.model_copy(update={"declaration": declaration_of(loaded, tools)})


def _show_declaration(pin: "Pin") -> None:
    say_row("may use", ", ".join(pin.declaration.permissions) or "nothing that it says", width=8)
    for tool in pin.declaration.tools:
        say_row("tool", f"{tool.name} ({tool.version}), at worst {tool.highest_risk.value}", width=8)
        say_row("", tool.description, width=8)


def _state(plugin: "InstalledPlugin") -> str:
    from botpsy_tui.trust import PluginUnfit, differences

    if plugin.first_party:
        return "part of BotPsy"
    pin = _pin_of(plugin.name)
    if pin is None:
        return "not trusted"
    try:
        update = {
            "distribution": plugin.distribution,
            "version": plugin.version,
            "entry": plugin.entry.value,
            "files": plugin.files(),
        }
    except PluginUnfit as problem:
        return str(problem)
    changed = differences(pin, pin.model_copy(update=update))
    return f"changed since you trusted it: {'; '.join(changed)}" if changed else "trusted"
