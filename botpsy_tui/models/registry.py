"""``models.json``: which models are installed, which is current, what was pinned."""

import contextlib
import fcntl
import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from botpsy_tui.models.adapters import Adapter
from botpsy_tui.models.disk import write_atomically
from botpsy_tui.models.types import ModelProblem

_VERSION = 1


class Record(BaseModel):
    """One installed model."""

    model_config = ConfigDict(frozen=True)

    name: str
    spec: str
    path: str
    """Relative to the store's folder, or absolute for a file that lies elsewhere."""
    size: int
    sha256: str
    quantisation: str
    source: str
    """Where it came from: ``REPO@REVISION/FILE``, the package names, or ``file``."""
    adapters: tuple[Adapter, ...] = ()
    """The LoRA adapters that are laid over it."""


class Pin(BaseModel):
    """The exact file that a name was found to mean."""

    model_config = ConfigDict(frozen=True)

    repository: str
    revision: str
    file: str
    size: int
    sha256: str


class Content(BaseModel):
    """All of ``models.json``."""

    version: int = _VERSION
    current: str | None = None
    models: list[Record] = []
    pins: dict[str, Pin] = {}

    def named(self, name: str) -> Record | None:
        """Return the record of that name, whatever the letter case, or None."""
        return next((record for record in self.models if record.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Registry:
    """The file itself; every change is read, made and written under a lock."""

    folder: Path
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.folder / "models.json")

    def read(self) -> Content:
        """Return what is recorded. Raises `ModelProblem` where it can't be read, and keeps it aside."""
        try:
            text = self.path.read_text(encoding="utf-8")
            raw: Any = json.loads(text)
            content = Content.model_validate(raw)
            if content.version > _VERSION:
                raise ModelProblem(
                    f"{self.path} was written by a newer BotPsy: update this one (pip install -U botpsy-tui)."
                )
            return content
        except FileNotFoundError:
            return Content()
        except (ValidationError, ValueError):  # ValueError: not JSON, not UTF-8
            kept = self._set_aside()
            raise ModelProblem(
                f"The list of models was unreadable and is kept as {kept}; the model files are still there: "
                "botpsy model pull NAME takes one up again without a download."
            ) from None
        except OSError as error:
            raise ModelProblem(f"{self.path} can't be read ({error.strerror}): check its rights.") from error

    @contextlib.contextmanager
    def changing(self) -> Generator[Content]:
        """Give the content to change; it is written when the block ends without an exception."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with lock(self.folder / ".models.lock"):
            content = self.read()
            yield content
            write_atomically(self.path, content.model_dump_json(indent=2) + "\n")

    def _set_aside(self) -> Path:
        kept = next(path for path in self._asides() if not path.exists())
        self.path.rename(kept)
        return kept

    def _asides(self) -> Iterator[Path]:
        yield self.path.with_name("models.json.broken")
        number = 2
        while True:
            yield self.path.with_name(f"models.json.broken-{number}")
            number += 1


@contextlib.contextmanager
def lock(path: Path, otherwise: str | None = None) -> Generator[None]:
    """Hold the lock file at `path` against other processes and threads.

    Waits for its turn, or raises `ModelProblem` with the sentence `otherwise` at once.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if otherwise else 0))
        except BlockingIOError:
            raise ModelProblem(otherwise or "") from None
        yield
