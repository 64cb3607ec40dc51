"""Model files in a folder: how they are named, whether they are whole, what a stopped pull left."""

import hashlib
import re
import shutil
import threading
from pathlib import Path

from botpsy_tui.models.types import OnProgress, Progress, check_cancelled

_CHUNK = 4 * 1024 * 1024


def remove_leftovers(target: Path) -> int:
    """Delete what unfinished pulls of `target` left beside it; return how many bytes that were."""
    freed = 0
    for left in target.parent.glob(f"{target.name}.*"):
        files = [left] if left.is_file() else [path for path in left.rglob("*") if path.is_file()]
        freed += sum(path.stat().st_size for path in files)
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)
    return freed


def safe_name(name: str) -> str:
    """Return `name` with all that is odd in a file's name turned into hyphens."""
    return re.sub(r"[^A-Za-z0-9._@-]+", "-", name)


def is_whole(
    path: Path, size: int, sha256: str, on_progress: OnProgress, cancelled: threading.Event | None
) -> bool:
    """Tell whether the file is there already, as it is after ``models.json`` was lost."""
    if not path.is_file() or path.stat().st_size != size:
        return False
    return sha256_of(path, on_progress, cancelled) == sha256


def sha256_of(path: Path, on_progress: OnProgress, cancelled: threading.Event | None) -> str:
    """Return the sha256 of the file at `path`, in hexadecimal; `PullCancelled` where that is set."""
    digest = hashlib.sha256()
    size, done = path.stat().st_size, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            check_cancelled(cancelled)
            digest.update(chunk)
            done += len(chunk)
            on_progress(Progress("verifying", done, size, path.name))
    return digest.hexdigest()
