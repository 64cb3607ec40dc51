"""The command ``botpsy`` and its subcommands."""

import sys
from typing import Annotated

import typer

from botpsy_tui import __version__
from botpsy_tui.cli import account, model, outbox, pending, plugin, policy
from botpsy_tui.cli.ask import ask
from botpsy_tui.cli.audit import audit
from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.export_training import export_training
from botpsy_tui.cli.output import never_fail_to_write, say
from botpsy_tui.cli.undo import undo
from botpsy_tui.crash import crash_report

app = typer.Typer(
    name="botpsy",
    help="A personal assistant that lives in the terminal, thinks on your own CPU, and asks before it acts.",
    epilog="Exit codes: 0 done · 1 failed · 2 wrong usage · 3 a call needs approval · 4 no usable model · "
    "5 account or server · 130 interrupted.",
    no_args_is_help=False,
    pretty_exceptions_enable=False,  # ours leaves out what variables held
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("ask")(ask)
app.command("export-training")(export_training)
app.command("undo")(undo)
app.command("audit")(audit)
app.add_typer(model.app, name="model")
app.add_typer(account.app, name="account")
app.add_typer(plugin.app, name="plugin")
app.add_typer(policy.app, name="policy")
app.add_typer(pending.app, name="pending")
app.add_typer(outbox.app, name="outbox")


def _version(wanted: bool) -> None:
    if wanted:
        say(f"botpsy {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def chat(
    context: typer.Context,
    model_spec: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="The model to talk to, such as starter."),
    ] = None,
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and end.")
    ] = False,
) -> None:
    """Open the chat, or run one of the commands below."""
    if context.invoked_subcommand is not None:
        if model_spec is not None:
            stop("--model goes behind the command: `botpsy ask --model …`.", Exit.USAGE)
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        stop('The chat needs a terminal; `botpsy ask "…"` works without one.', Exit.USAGE)
    from botpsy_tui.cli.chat import open_chat

    raise typer.Exit(open_chat(model_spec))


def main() -> None:
    """Run the command line."""
    never_fail_to_write()
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever broke, its report holds no secret and no escape sequence
        say(crash_report(error), err=True)
        sys.exit(Exit.FAILED)
