"""Writes the lines to a file: whole or not at all, for its owner alone, and over nothing by accident."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from botpsy_tui.training.problem import TrainingProblem


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]], *, force: bool = False) -> None:
    """Write each as a line of JSON (UTF-8), mode 0600. Raises `TrainingProblem`, changing nothing."""
    if path.exists() and not force:
        raise TrainingProblem(f"{path} is there already: name another file, or add --force to replace it.")
    if not path.parent.is_dir():
        raise TrainingProblem(f"There is no folder {path.parent}: make it first, or name another file.")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp: mode 0600
        temporary = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
                file.flush()
                os.fsync(file.fileno())
            if force:
                temporary.replace(path)
            else:
                os.link(temporary, path)  # unlike a rename, this replaces nothing that came meanwhile
        finally:
            temporary.unlink(missing_ok=True)
    except FileExistsError:
        raise TrainingProblem(f"{path} is there already: add --force to replace it.") from None
    except OSError as error:
        raise TrainingProblem(f"{path} can't be written: {error.strerror or error}.") from error
