"""Where things are kept: the XDG folders, or everything under ``BOTPSY_HOME`` where that is set."""

import os
from pathlib import Path

from platformdirs import PlatformDirs

_DIRS = PlatformDirs("botpsy", appauthor=False)


def config_folder() -> Path:
    """The folder of ``settings.toml``, which the person edits."""
    return _folder("config", _DIRS.user_config_path)


def data_folder() -> Path:
    """The folder of the journal, the models, the local calendar: what must not be lost."""
    return _folder("data", _DIRS.user_data_path)


def cache_folder() -> Path:
    """The folder of what can be made again."""
    return _folder("cache", _DIRS.user_cache_path)


def _folder(name: str, default: Path) -> Path:
    home = os.environ.get("BOTPSY_HOME")
    return Path(home).expanduser() / name if home else default


def policy_path() -> Path:
    """Return where the person's rules are, or would be."""
    return config_folder() / "policy.toml"
