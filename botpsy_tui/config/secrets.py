"""Passwords: from a command, the environment or the keyring; never from, or into, the settings."""

import os
import subprocess
from typing import Any

from botpsy_tui.config.accounts import ENDPOINT, AccountSettings
from botpsy_tui.plugin import SecretUnavailable

_SERVICE = "botpsy"
_COMMAND_SECONDS = 60


def read_secret(account: AccountSettings) -> str:
    """Return an account's password. May block. Raises `SecretUnavailable` with what to do."""
    if account.password_command:
        return _from_command(account)
    if account.password_env:
        value = os.environ.get(account.password_env)
        if not value:
            raise SecretUnavailable(
                f"The password of {account.name} should be in ${account.password_env}, which is not set."
            )
        return value
    keyring = _keyring()
    try:
        value = keyring.get_password(_SERVICE, _entry(account))
    except Exception as error:
        raise SecretUnavailable(_no_keyring(account.name, error)) from error
    if value is None:
        again = (
            "set it again with `botpsy model endpoint ADDRESS --key`"
            if account.kind == ENDPOINT
            else f"remove the account and add it again (`botpsy account remove {account.name}`)"
        )
        raise SecretUnavailable(f"The keyring holds no password for {account.name}; {again}.")
    return str(value)


def store_secret(account: AccountSettings, secret: str) -> None:
    """Put an account's password into the keyring. Raises `SecretUnavailable` where there is none."""
    try:
        _keyring().set_password(_SERVICE, _entry(account), secret)
    except Exception as error:
        raise SecretUnavailable(_no_keyring(account.name, error)) from error


def remove_secret(account: AccountSettings) -> None:
    """Take an account's password out of the keyring, where it is in one."""
    if account.password_command or account.password_env:
        return
    try:
        _keyring().delete_password(_SERVICE, _entry(account))
    except Exception:  # noqa: BLE001 - nothing there, or no keyring: nothing to remove
        return


def _keyring() -> Any:
    import keyring  # slow to import, and most commands need no secret

    return keyring


def _entry(account: AccountSettings) -> str:
    return f"{account.kind}:{account.name}"


def _no_keyring(name: str, error: Exception) -> str:
    return (
        f"No keyring can be used here ({type(error).__name__}). Name a command that prints the secret of "
        f"{name} (such as `pass show work`) or an environment variable that holds it instead; --help of the "
        "command tells how."
    )


def _from_command(account: AccountSettings) -> str:
    command = account.password_command or []
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SecretUnavailable(
            f"The password command of {account.name} ({command[0]}) could not be run: {error}."
        ) from error
    secret = done.stdout.split("\n", 1)[0]
    if done.returncode != 0 or not secret:
        raise SecretUnavailable(
            f"The password command of {account.name} ({command[0]}) ended with status {done.returncode} "
            "and no password."
        )
    return secret
