"""``botpsy model endpoint``: let a model think that runs elsewhere."""

import asyncio
import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say, say_json
from botpsy_tui.plugin.text import for_display_line

if TYPE_CHECKING:
    from botpsy_tui.config import EngineSettings


def endpoint(
    address: Annotated[
        str | None,
        typer.Argument(metavar="ADDRESS", help="An OpenAI-compatible address; it mostly ends in /v1."),
    ] = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="The model there; needed where there is more than one.")
    ] = "",
    key: Annotated[
        bool, typer.Option("--key", help="Ask for an API key, and keep it in the keyring.")
    ] = False,
    key_command: Annotated[
        str | None, typer.Option(help="A command that prints the API key, such as 'pass show llm'.")
    ] = None,
    key_env: Annotated[str | None, typer.Option(help="An environment variable that holds the key.")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow http to another machine: others can read and change it.")
    ] = False,
    none: Annotated[bool, typer.Option("--none", help="Think on this machine again.")] = False,
) -> None:
    """Use a model on another server: all that is said goes there. The server is asked first.

    Examples: botpsy model endpoint http://127.0.0.1:8080/v1 ·
    botpsy model endpoint https://llm.example.org/v1 --model qwen3 --key-command "pass show llm" ·
    botpsy model endpoint --none
    """
    from pydantic import ValidationError

    from botpsy_tui.config import (
        EngineSettings,
        SettingsProblem,
        change_engine,
        endpoint_account,
        load_settings,
        remove_secret,
        store_secret,
    )
    from botpsy_tui.engine.types import EngineError
    from botpsy_tui.plugin import SecretUnavailable

    try:
        engine = load_settings().engine
        if none:
            if account := endpoint_account(engine):
                remove_secret(account)
            change_engine(dict.fromkeys(_KEYS))
            say("The model on this machine is used.")
            return
        if address is None:
            say(engine.endpoint or "No endpoint is set: the model on this machine is used.")
            return
        if sum((key, key_command is not None, key_env is not None)) > 1:
            stop("Name one place for the key: --key, --key-command or --key-env.", Exit.USAGE)
        values: dict[str, object] = {
            "endpoint": address,
            "endpoint_model": model or None,
            "endpoint_key": "keyring" if key else None,
            "endpoint_key_command": shlex.split(key_command) if key_command else None,
            "endpoint_key_env": key_env,
            "endpoint_insecure": True if insecure else None,
        }
        given = {name: value for name, value in values.items() if value is not None}
        wanted = EngineSettings.model_validate({"context": engine.context, **given})
        if key and (account := endpoint_account(wanted)):
            store_secret(account, _typed_key(wanted.endpoint))
        name = asyncio.run(_model_at(wanted))
        change_engine({**values, "endpoint": wanted.endpoint})
    except ValidationError as error:
        stop(f"{error.errors(include_url=False)[0]['msg'].removeprefix('Value error, ')}.", Exit.USAGE)
    except ValueError as error:  # of shlex
        stop(f"The command can't be read: {error}.", Exit.USAGE)
    except (EngineError, SecretUnavailable) as error:
        stop(str(error), Exit.NO_MODEL)
    except SettingsProblem as error:
        stop(str(error))
    say(f"{name} at {wanted.endpoint} is used from now on; `botpsy model endpoint --none` ends that.")


_KEYS = (
    "endpoint",
    "endpoint_model",
    "endpoint_key",
    "endpoint_key_command",
    "endpoint_key_env",
    "endpoint_insecure",
)


def tell_of_endpoint(*, as_json: bool) -> bool:
    """Show the endpoint whose model is used; return False where none is set."""
    from botpsy_tui.config import endpoint_account

    engine = _engine()
    if not engine.endpoint:
        return False
    has_key = endpoint_account(engine) is not None
    if as_json:
        say_json({"endpoint": engine.endpoint, "model": engine.endpoint_model, "key": has_key}, indent=2)
        return True
    say(f"{'endpoint':<16} {engine.endpoint}")
    say(f"{'model':<16} {engine.endpoint_model or 'the only one there'}")
    say(f"{'API key':<16} {'sent' if has_key else 'none'}")
    say("The models on this machine are not used; `botpsy model endpoint --none` ends that.")
    return True


def warn_of_endpoint() -> None:
    """Say that an endpoint goes before the models on this machine, where one is set."""
    if _engine().endpoint:
        say("An endpoint is set and goes first: `botpsy model endpoint --none` ends that.", err=True)


def _engine() -> "EngineSettings":
    from botpsy_tui.config import SettingsProblem, load_settings

    try:
        return load_settings().engine
    except SettingsProblem as problem:
        stop(str(problem))


async def _model_at(engine: "EngineSettings") -> str:
    """Reach the endpoint; return the name of the model that will be used."""
    from botpsy_tui.application import open_endpoint

    session = await open_endpoint(engine)
    try:
        return session.info.name
    finally:
        await session.close()


def _typed_key(address: str) -> str:
    if sys.stdin.isatty():
        question = f"API key for {for_display_line(address)}"
        typed = str(typer.prompt(question, hide_input=True, default="", show_default=False))
    else:
        typed = sys.stdin.readline()
    if not typed.strip():
        stop("A key is needed: type it, pipe it in, or name a --key-command.", Exit.USAGE)
    return typed.strip()
