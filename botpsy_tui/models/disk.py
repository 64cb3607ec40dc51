"""Room on the disk, and files that are either whole or not there."""

import os
import shutil
from pathlib import Path

from botpsy_tui.models.types import ModelProblem, size_text

# What stays free for everything else on the machine.
SPARE = 64_000_000


def require_room(needed: int, folder: Path, what: str) -> None:
    """Raise `ModelProblem` where `folder`'s disk has less than `needed` bytes (and some to spare) free."""
    free = shutil.disk_usage(folder).free
    if free < needed + SPARE:
        raise ModelProblem(
            f"{what} needs {size_text(needed + SPARE)} of free disk space while it is fetched, and "
            f"{folder} has {size_text(free)}: free some, or set BOTPSY_HOME to a folder on a larger disk."
        )


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at `path` with `text`: readers see the old one or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)
