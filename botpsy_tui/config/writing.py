"""Changes the settings file, keeping the person's comments and order, whole or not at all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from botpsy_tui.config.accounts import AccountSettings
from botpsy_tui.config.files import write_private
from botpsy_tui.config.settings import SettingsProblem, load_settings, settings_path


def add_account(account: AccountSettings, path: Path | None = None) -> None:
    """Add an account to the settings. Raises `SettingsProblem`, changing nothing."""
    path = path or settings_path()
    if any(other.name == account.name for other in load_settings(path).accounts):
        raise SettingsProblem(
            f"There is an account {account.name} already; choose another name or remove it."
        )
    document = _read(path)
    tables: Any = document.setdefault("accounts", tomlkit.aot())
    table: Any = tomlkit.table()
    table.update(account.model_dump(exclude_none=True))
    tables.append(table)
    _write(path, document)


def remove_account(name: str, path: Path | None = None) -> AccountSettings:
    """Take an account out of the settings; return it. Raises `SettingsProblem` where there is none."""
    path = path or settings_path()
    accounts = load_settings(path).accounts
    for i, account in enumerate(accounts):
        if account.name == name:
            document = _read(path)
            tables: Any = document["accounts"]
            del tables[i]
            if not tables:
                del document["accounts"]
            _write(path, document)
            return account
    known = ", ".join(account.name for account in accounts) or "none"
    raise SettingsProblem(f"There is no account {name}; there are: {known}.")


def change_engine(values: Mapping[str, object], path: Path | None = None) -> None:
    """Set keys of ``[engine]``; None takes a key out. Raises `SettingsProblem`, changing nothing."""
    path = path or settings_path()
    load_settings(path)  # a file that is wrong already is not written over
    document = _read(path)
    table: Any = document.setdefault("engine", tomlkit.table())
    for key, value in values.items():
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    _write(path, document)


def _read(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    except (OSError, TOMLKitError) as error:
        raise SettingsProblem(f"The settings {path} can't be changed: {error}.") from error


def _write(path: Path, document: tomlkit.TOMLDocument) -> None:
    try:
        write_private(path, tomlkit.dumps(document))
    except OSError as error:
        raise SettingsProblem(f"The settings {path} can't be written: {error}.") from error
