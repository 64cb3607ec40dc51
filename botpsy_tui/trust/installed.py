"""What is installed under the entry-point group of plugins, found without importing any of it."""

import hashlib
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path

GROUP = "botpsy.plugins"
_OWN_DISTRIBUTION = "botpsy-tui"
_MADE_BY_PYTHON = ("__pycache__", ".pyc")


class PluginUnfit(Exception):
    """A plugin can't be used as it is installed; the message says why."""


@dataclass(frozen=True)
class InstalledPlugin:
    """A plugin that some distribution offers."""

    name: str
    entry: EntryPoint
    distribution: str
    version: str
    first_party: bool
    """True for a plugin that comes with BotPsy itself, in the same distribution."""

    def files(self) -> dict[str, str]:
        """Return the SHA-256 (hex) of each file of the distribution, computed now, by its name there.

        That is what its RECORD names (PyPA, "Recording installed projects") and all that lies in
        the package's folder besides, but for bytecode. Raises `PluginUnfit` where the plugin's
        module is no part of the distribution, or a file can't be read.
        """
        owner = self.entry.dist
        assert owner is not None
        named = {str(file): Path(str(file.locate())) for file in owner.files or ()}
        package = _package_files(self.entry.module.partition(".")[0])
        recorded = {path.resolve() for path in named.values()}
        if not _is_editable(owner) and not recorded & {path.resolve() for path in package.values()}:
            raise PluginUnfit(
                f"The plugin {self.name} names the module {self.entry.module}, which is no part of "
                f"{self.distribution}."
            )
        try:
            return {
                name: hashlib.sha256(path.read_bytes()).hexdigest()
                for name, path in sorted({**package, **named}.items())
                if path.is_file() and not any(part in name for part in _MADE_BY_PYTHON)
            }
        except OSError as error:
            raise PluginUnfit(f"The files of the plugin {self.name} can't be read: {error}.") from error


def installed_plugins() -> list[InstalledPlugin]:
    """Return all plugins that are installed, BotPsy's own first, then by name."""
    found = list(_found())
    return sorted(found, key=lambda plugin: (not plugin.first_party, plugin.name, plugin.distribution))


def _found() -> Iterator[InstalledPlugin]:
    own = _own_place()
    for entry in entry_points(group=GROUP):
        if entry.dist is None:
            continue
        name = _normalised(entry.dist.metadata["Name"])
        first_party = name == _OWN_DISTRIBUTION and _place(entry.dist) == own
        yield InstalledPlugin(entry.name, entry, name, entry.dist.version, first_party)


def _own_place() -> Path | None:
    try:
        return _place(distribution(_OWN_DISTRIBUTION))
    except PackageNotFoundError:
        return None


def _place(dist: Distribution) -> Path:
    return Path(str(dist.locate_file(""))).resolve()


def _is_editable(dist: Distribution) -> bool:
    """Say whether a distribution is installed as a pointer to its sources (PEP 660, PEP 610)."""
    return '"editable": true' in (dist.read_text("direct_url.json") or "")


def _package_files(module: str) -> dict[str, Path]:
    """Return the files of a top-level module or package, by their path from its parent. Imports nothing."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return {}
    if not spec.submodule_search_locations:
        return {Path(spec.origin).name: Path(spec.origin)} if spec.origin else {}
    return {
        path.relative_to(Path(folder).parent).as_posix(): path
        for folder in spec.submodule_search_locations
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def _normalised(name: str) -> str:
    """Return a project's name in its normal form (PyPA, "Names and normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()
