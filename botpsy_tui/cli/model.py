"""``botpsy model``: which models are here, get one, look at one, switch, throw one away."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from botpsy_tui.cli.endpoint import endpoint, tell_of_endpoint, warn_of_endpoint
from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json
from botpsy_tui.plugin.text import for_display_line

if TYPE_CHECKING:
    from botpsy_tui.models import InstalledModel, ModelStore

app = typer.Typer(help="The models the assistant can think with.", no_args_is_help=True)

app.command("endpoint")(endpoint)

_SPEC = "A name of `botpsy model list` (with :q8 for a finer one), hf:OWNER/REPO[:FILE], or a .gguf file."
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """Show the models that are here, and those that can be pulled by name.

    Example: botpsy model list --json
    """
    from botpsy_tui.models import CATALOGUE, ModelProblem, size_text

    try:
        store = model_store()
        installed, current = store.installed(), store.current()
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)
    here = {model.spec for model in installed}
    others = [entry for entry in CATALOGUE if entry.name not in here]
    if as_json:
        say_json(
            {
                "current": current.name if current else None,
                "installed": [_as_dict(model) for model in installed],
                "catalogue": [
                    {
                        "name": entry.name,
                        "title": entry.title,
                        "about": entry.about,
                        "quantisations": list(entry.quantisations),
                        "approximate_size": entry.approximate_size,
                        "installed": entry.name in here,
                    }
                    for entry in CATALOGUE
                ],
            }
        )
        return
    if installed:
        say("Here:")
        for model in installed:
            mark = "*" if current and model.name == current.name else " "
            say(f"{mark} {model.name:<16} {size_text(model.size):>8}  {model.quantisation:<8} {model.path}")
            if model.adapters:
                say(f"  with {_adapters_of(model)}")
    else:
        say("No model is here yet.")
    if others:
        say("\nTo be had with `botpsy model pull NAME`:")
        for entry in others:
            size = f"about {size_text(entry.approximate_size)}"
            say(f"  {entry.name:<16} {size:>14}  {entry.title}: {entry.about}")
    if current:
        say("\n* is used where no other is named.")


@app.command("pull")
def pull(
    spec: Annotated[str, typer.Argument(metavar="MODEL", help=_SPEC)],
    use_it: Annotated[bool, typer.Option("--use", help="Make it the current one as well.")] = False,
) -> None:
    """Download a model and verify it. A download that was broken off is gone on from.

    Examples: botpsy model pull botpsy-0.8b · botpsy model pull botpsy-0.8b:q8 ·
    botpsy model pull starter · botpsy model pull hf:unsloth/Qwen3.5-0.8B-GGUF:Q4_K_M
    """
    from botpsy_tui.models import ModelProblem, size_text

    store = model_store()
    model = _pull(store, spec)
    try:
        if use_it:
            store.use(model.name)
        current = store.current()
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)
    is_current = current is not None and current.name == model.name
    rest = "it is the current model" if is_current else f"use it with: botpsy model use {model.name}"
    say(f"{model.name} ({model.quantisation or 'GGUF'}, {size_text(model.size)}) is here; {rest}.")


@app.command("use")
def use(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="An installed model, or a .gguf file.")],
    lora: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE[:SCALE]", help="Lay a LoRA adapter over it; can be given more than once."),
    ] = None,
    no_lora: Annotated[bool, typer.Option("--no-lora", help="Do without the adapters it has.")] = False,
) -> None:
    """Make a model the current one. A file is used where it lies, and not copied; so is an adapter.

    Examples: botpsy model use starter · botpsy model use ~/models/mine.gguf ·
    botpsy model use botpsy-0.8b --lora ~/mine.gguf:0.8
    """
    from botpsy_tui.models import ModelProblem, parse_adapter

    if lora and no_lora:
        stop("Name adapters with --lora, or do without them with --no-lora.", Exit.USAGE)
    try:
        adapters = [parse_adapter(text) for text in lora] if lora else [] if no_lora else None
        model = model_store().use(name, adapters)
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)
    over = f", with {_adapters_of(model)}" if model.adapters else ""
    say(f"{model.name} is the current model{over}.")
    warn_of_endpoint()


@app.command("info")
def info(
    name: Annotated[
        str | None, typer.Argument(metavar="MODEL", help=f"{_SPEC} Else the current one.")
    ] = None,
    context: Annotated[
        int | None,
        typer.Option(min=256, max=1 << 24, help="Tokens of context to reckon for; else as in the settings."),
    ] = None,
    kv_type: Annotated[
        Literal["f16", "q8_0"] | None,
        typer.Option(help="How the conversation is kept, to reckon for; else as in the settings."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a model is, where it lies, and how much memory it will need.

    Example: botpsy model info starter --context 16384 --kv-type q8_0
    """
    from botpsy_tui.config import SettingsProblem, load_settings
    from botpsy_tui.models import ModelProblem, memory_need, read_header, size_text

    if name is None and tell_of_endpoint(as_json=as_json):
        return
    try:
        store = model_store()
        model = store.find(name) if name else store.current()
        if model is None:
            sentence = f"{name} is not here: botpsy model pull {name}." if name else _no_model()
            stop(sentence, Exit.NO_MODEL)
        header = read_header(model.path)
        engine = load_settings().engine
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)
    except SettingsProblem as problem:
        stop(str(problem))
    context, kv_type = context or engine.context, kv_type or engine.kv_type
    need = memory_need(
        header,
        model.size,
        context,
        kv_type=kv_type,
        mapped=engine.mmap,
        checkpoints=engine.checkpoint_bytes,
    )
    if as_json:
        say_json(
            _as_dict(model)
            | {
                "title": header.text("general.name"),
                "architecture": header.architecture,
                "parameters": header.weights,
                "trained_context": header.number("context_length"),
                "licence": header.text("general.license"),
                "memory": {
                    "context": context,
                    "kv_type": kv_type,
                    "needed": need.total,
                    "available": need.available,
                    "fits": need.fits,
                    "model": need.weights,
                    "conversation": need.cache,
                    "state": need.state,
                    "decoding": need.compute,
                    "checkpoints": need.checkpoints,
                },
            }
        )
        return
    rows = {
        "name": model.name,
        "title": header.text("general.name"),
        "asked for as": model.spec,
        "file": str(model.path),
        "size": size_text(model.size),
        "sha256": model.sha256 or "not taken (the file is not recorded)",
        "quantisation": model.quantisation,
        "architecture": header.architecture,
        "parameters": f"{header.weights / 1e9:.2f} billion",
        "trained context": f"{header.number('context_length')} tokens",
        "licence": header.text("general.license"),
        "adapters": _adapters_of(model),
        "memory": f"{need.sentence} ({context} tokens of context, {kv_type})",
        "made of": need.parts,
    }
    for label, value in rows.items():
        if value:
            say(f"{label:<16} {' '.join(value.split())}")


@app.command("remove")
def remove(
    name: Annotated[str, typer.Argument(metavar="MODEL", help="An installed model.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
) -> None:
    """Delete a model's file, or an unfinished download. A file outside BotPsy's folder is only forgotten.

    Example: botpsy model remove qwen3.5-2b --yes
    """
    from botpsy_tui.models import ModelProblem, size_text

    try:
        store = model_store()
        model = store.get(name)
        if model is not None and not yes:
            if not sys.stdin.isatty():
                stop(f"Removing {model.name} needs a yes: add --yes.", Exit.USAGE)
            inside = model.path.is_relative_to(store.folder)
            what = f"Delete {model.path} ({size_text(model.size)})" if inside else f"Forget {model.path}"
            if not typer.confirm(f"{for_display_line(what)}?"):
                say("Nothing was removed.")
                return
        if model is None and (freed := store.discard_unfinished(name)):
            say(f"The unfinished download of {name} ({size_text(freed)}) is removed.")
            return
        removed = store.remove(name)
        current = store.current()
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)
    say(f"{removed.name} is removed.{f' {current.name} is the current model.' if current else ''}")


def ensure_model(spec: str | None, *, interactive: bool) -> "InstalledModel":
    """Return the model that `spec` names (pulled where it isn't here), or the current one.

    With no model at all, one question is asked where `interactive`; else the command ends with
    `Exit.NO_MODEL` and a sentence that names what to type.
    """
    from botpsy_tui.models import ModelProblem

    store = model_store()
    try:
        if spec is not None:
            return store.find(spec) or _pull(store, spec)
        if (current := store.current()) is not None:
            return current
        if here := [model.name for model in store.installed()]:
            stop(f"No model is chosen: botpsy model use {here[0]} (here: {', '.join(here)}).", Exit.NO_MODEL)
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)
    if not interactive:
        stop(_no_model(), Exit.NO_MODEL)
    return _pull(store, _first_model())


def model_store() -> "ModelStore":
    """Return the store in the data folder."""
    from botpsy_tui.config.folders import data_folder
    from botpsy_tui.models import ModelStore

    return ModelStore(data_folder() / "models")


def _first_model() -> str:
    """Ask which model to begin with; without a hub there is nothing to ask."""
    from botpsy_tui.models import entry_named, first_choice, size_text
    from botpsy_tui.models.terminal_progress import interruptible

    say("No model is here yet. Looking what can be had …", err=True)
    choice = first_choice()
    say(choice.sentence, err=True)
    starter = entry_named("starter")
    if not choice.hub_reachable or choice.spec == "starter" or starter is None:
        return "starter"
    say(
        f"  1  {choice.spec} ({size_text(choice.size)}), the default\n"
        f"  2  starter: {starter.title} ({size_text(starter.approximate_size)})\n"
        "  3  none",
        err=True,
    )
    try:
        with interruptible():
            answer = typer.prompt("Which one?", default="1", err=True).strip().lower()
    except typer.Abort:
        stop("Nothing was chosen.", Exit.INTERRUPTED)
    if answer in ("1", choice.spec):
        return choice.spec
    if answer not in ("2", "starter"):
        stop(_no_model(), Exit.NO_MODEL)
    return "starter"


def _pull(store: "ModelStore", spec: str) -> "InstalledModel":
    from botpsy_tui.models import ModelProblem, PullCancelled
    from botpsy_tui.models.terminal_progress import pull_with_bar

    try:
        return pull_with_bar(store, spec)
    except PullCancelled as problem:
        stop(str(problem), Exit.INTERRUPTED)
    except ModelProblem as problem:
        stop(str(problem), Exit.NO_MODEL)


def _no_model() -> str:
    return (
        "No model is here yet: botpsy model pull botpsy-0.8b, or without the hub: botpsy model pull starter."
    )


def _adapters_of(model: "InstalledModel") -> str:
    return ", ".join(adapter.label for adapter in model.adapters)


def _as_dict(model: "InstalledModel") -> dict[str, object]:
    adapters = [adapter.model_dump(mode="json") for adapter in model.adapters]
    return {**vars(model), "path": str(model.path), "adapters": adapters}
