"""``botpsy account``: name a server, test the log-in, keep the password where passwords belong."""

import asyncio
import re
import shlex
import sys
from typing import Annotated
from urllib.parse import urlsplit

import typer

from botpsy_tui.cli.exits import Exit, stop
from botpsy_tui.cli.output import say
from botpsy_tui.plugin import AccountProblem, SecretUnavailable, for_display_line

app = typer.Typer(
    help="The servers whose calendars and mail the assistant works on, beside the local ones.",
    no_args_is_help=True,
)


@app.command("add")
def add(
    kind: Annotated[
        str, typer.Argument(help="The kind of account: caldav, mail, maildir, searxng, brave or mojeek.")
    ],
    address: Annotated[
        str | None,
        typer.Argument(
            help="For caldav and searxng the server's address, such as https://dav.example.org/; for mail "
            "your mail address; for maildir a folder. Brave and mojeek need none.",
            show_default=False,
        ),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Your user name there.")] = None,
    name: Annotated[
        str | None, typer.Option(help="A short name of your own; else made from the address.")
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="What the account needs besides, such as imap=imaps://HOST."
        ),
    ] = None,
    password_command: Annotated[
        str | None, typer.Option(help="A command that prints the password, such as 'pass show work'.")
    ] = None,
    password_env: Annotated[
        str | None, typer.Option(help="An environment variable that holds the password.")
    ] = None,
) -> None:
    """Add an account: log in, look what is there, and keep it.

    The password is asked for (or read from standard input) and goes to the keyring; the settings
    file never holds it.

    Examples:
    botpsy account add caldav https://dav.example.org/ --user nia
    botpsy account add mail nia@example.org
    botpsy account add brave
    """
    from botpsy_tui.application import account_kinds
    from botpsy_tui.config import (
        AccountSettings,
        SettingsProblem,
        add_account,
        load_settings,
        read_secret,
        store_secret,
    )

    kinds = account_kinds()
    if kind not in kinds:
        stop(
            f"There is no kind of account {kind!r}; there are: {', '.join(sorted(kinds)) or 'none'}.",
            Exit.USAGE,
        )
    usual = kinds[kind].usual_address
    address = address or usual
    if not address:
        stop(
            f"An account of the kind {kind} needs an address: botpsy account add {kind} ADDRESS.", Exit.USAGE
        )
    try:
        if any(account.name == name for account in load_settings().accounts):
            stop(f"There is an account {name} already; choose another --name or remove it first.", Exit.USAGE)
        account = AccountSettings(
            name=name or (kind if address == usual else _name_from(address)),
            kind=kind,
            settings={**kinds[kind].settings_of(address, user), **_settings_in(more or [])},
            password_command=shlex.split(password_command) if password_command else None,
            password_env=password_env,
        )
        named = bool(password_command or password_env)
        typed = kinds[kind].needs_secret and not named
        secret = _typed_secret(account.name) if typed else read_secret(account) if named else None
        settings, found = asyncio.run(kinds[kind].connect(account.settings, secret))
        account = account.model_copy(update={"settings": settings})
        if typed and secret:
            store_secret(account, secret)
        add_account(account)
    except ValueError as error:
        stop(f"That can't be an account: {_first_line(error)}", Exit.USAGE)
    except (AccountProblem, SecretUnavailable) as error:
        stop(str(error), Exit.ACCOUNT)
    except SettingsProblem as error:
        stop(str(error))
    say(f"{account.name}: {found}")


@app.command("list")
def list_accounts() -> None:
    """Show the accounts, without secrets."""
    from botpsy_tui.config import SettingsProblem, load_settings

    try:
        accounts = load_settings().accounts
    except SettingsProblem as error:
        stop(str(error))
    if not accounts:
        say(
            "No accounts: the assistant works on the local calendar and mail. "
            "`botpsy account add --help` tells how.",
            err=True,
        )
    for account in accounts:
        known = account.settings
        user = known.get("username") or known.get("email", "")
        where = next((known[name] for name in ("url", "imap", "folder") if name in known), "")
        say("\t".join(map(for_display_line, (account.name, account.kind, user, where))))


@app.command("remove")
def remove(name: Annotated[str, typer.Argument(help="The account's name, as `list` shows it.")]) -> None:
    """Forget an account and its password. What is on the server stays."""
    from botpsy_tui.config import SettingsProblem, remove_account, remove_secret

    try:
        account = remove_account(name)
    except SettingsProblem as error:
        stop(str(error))
    remove_secret(account)
    say(f"{name} is forgotten here; nothing changed on the server.")


def _settings_in(pairs: list[str]) -> dict[str, str]:
    """Return what --set names. Raises `ValueError`."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ValueError(f"{pair!r} is not NAME=VALUE")
        if "password" in name or "secret" in name:
            raise ValueError("a password is never kept in the settings; it is asked for")
        found[name] = value
    return found


def _name_from(address: str) -> str:
    host = urlsplit(address if "//" in address else f"//{address}").hostname
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", host or address.rstrip("/").rpartition("/")[2]).strip("-._")
    return name or "account"


def _typed_secret(name: str) -> str:
    if sys.stdin.isatty():
        secret = typer.prompt(
            f"Password for {for_display_line(name)}", hide_input=True, default="", show_default=False
        )
    else:
        secret = sys.stdin.readline().rstrip("\n")
    if not secret:
        stop("A password is needed: type it, pipe it in, or name a --password-command.", Exit.USAGE)
    return str(secret)


def _first_line(error: ValueError) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[1:3]) if len(lines) > 1 else lines[0]
