"""What was trusted: each plugin exactly as it was when the person said yes, in one file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from botpsy_tui.config import data_folder, write_private
from botpsy_tui.trust.declared import Declaration, ToolDeclaration

_MOST_NAMED = 5


class PinsProblem(Exception):
    """The file of trusted plugins can't be used; until it can, nothing of others is trusted."""


class Pin(BaseModel):
    """One trusted plugin."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    distribution: str
    version: str
    entry: str
    """What is loaded, such as ``package.module:Class``."""
    files: dict[str, str]
    """SHA-256 (hex) of each file."""
    declaration: Declaration

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over all files' names and hashes."""
        listing = "\n".join(f"{name}\0{digest}" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(listing.encode(errors="surrogateescape")).hexdigest()


class _File(RootModel[dict[str, Pin]]):
    pass


class Pins:
    """The trusted plugins by name; read once, written whole."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or data_folder() / "trusted-plugins.json"

    def read(self) -> Mapping[str, Pin]:
        """Return all pins. Raises `PinsProblem`."""
        try:
            return _File.model_validate_json(self._path.read_bytes()).root
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            raise PinsProblem(
                f"The list of trusted plugins {self._path} can't be read, so none of them is loaded; "
                "put it right, or delete it and trust them again."
            ) from error

    def trust(self, name: str, pin: Pin) -> None:
        """Keep a pin, in place of an older one of that name. Raises `PinsProblem`."""
        self._write({**self.read(), name: pin})

    def distrust(self, name: str) -> bool:
        """Forget a pin; return False where there was none. Raises `PinsProblem`."""
        pins = dict(self.read())
        if pins.pop(name, None) is None:
            return False
        self._write(pins)
        return True

    def _write(self, pins: Mapping[str, Pin]) -> None:
        try:
            write_private(self._path, _File(dict(pins)).model_dump_json(indent=1))
        except OSError as error:
            raise PinsProblem(
                f"The list of trusted plugins {self._path} can't be written: {error}."
            ) from error


def differences(before: Pin, now: Pin) -> list[str]:
    """Return what changed since a plugin was trusted, a phrase each; nothing where it is the same."""
    found = [
        f"{what}: {old} → {new}"
        for what, old, new in (
            ("distribution", before.distribution, now.distribution),
            ("version", before.version, now.version),
            ("loaded from", before.entry, now.entry),
        )
        if old != new
    ]
    old_files, new_files = before.files, now.files
    found += _named("changed file", [n for n in old_files if n in new_files and old_files[n] != new_files[n]])
    found += _named("new file", [n for n in new_files if n not in old_files])
    found += _named("missing file", [n for n in old_files if n not in new_files])
    return found + _declared_differences(before.declaration, now.declaration)


def _named(what: str, names: list[str]) -> list[str]:
    more = len(names) - _MOST_NAMED
    return [f"{what}: {name}" for name in names[:_MOST_NAMED]] + ([f"and {more} more"] if more > 0 else [])


def _declared_differences(before: Declaration, now: Declaration) -> list[str]:
    found: list[str] = []
    if before.permissions != now.permissions:
        found.append(f"permissions: {_list(before.permissions)} → {_list(now.permissions)}")
    old, new = ({tool.name: tool for tool in declared.tools} for declared in (before, now))
    found += [f"new tool: {name} ({new[name].highest_risk.value})" for name in new if name not in old]
    found += [f"missing tool: {name}" for name in old if name not in new]
    for name in old:
        if name in new and old[name] != new[name]:
            found.append(f"tool {name}: {_tool_difference(old[name], new[name])}")
    return found


def _tool_difference(before: ToolDeclaration, now: ToolDeclaration) -> str:
    changed = [
        f"{field.replace('_', ' ')} “{getattr(before, field)}” → “{getattr(now, field)}”"
        for field in ("version", "description", "highest_risk")
        if getattr(before, field) != getattr(now, field)
    ]
    if before.schema_hash != now.schema_hash:
        changed.append("other arguments")
    return ", ".join(changed)


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"
