"""What a person may write for a model: a catalogue name, a hub repository, a file."""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from botpsy_tui.models.catalogue import CATALOGUE, CatalogueEntry, entry_named
from botpsy_tui.models.quantisation import is_quantisation
from botpsy_tui.models.types import ModelProblem

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class CatalogueSource:
    """``NAME`` or ``NAME:QUANTISATION``."""

    entry: CatalogueEntry
    quantisation: str

    @property
    def spec(self) -> str:
        """The one way to write it: the default quantisation is left out."""
        if self.quantisation == self.entry.default_quantisation:
            return self.entry.name
        return f"{self.entry.name}:{self.quantisation}"


@dataclass(frozen=True)
class HubSource:
    """``hf:OWNER/REPO``, with a GGUF file's path or a quantisation after a second colon."""

    repository: str
    file: str = ""
    quantisation: str = ""

    @property
    def spec(self) -> str:
        """The one way to write it."""
        chosen = self.file or self.quantisation
        return f"hf:{self.repository}:{chosen}" if chosen else f"hf:{self.repository}"


@dataclass(frozen=True)
class FileSource:
    """A GGUF file on this machine, used where it lies."""

    path: Path

    @property
    def spec(self) -> str:
        """The absolute path."""
        return str(self.path)


Source = CatalogueSource | HubSource | FileSource


def parse_spec(spec: str) -> Source:
    """Return what `spec` means. Raises `ModelProblem` with one sentence where it means nothing.

    Whether the file, the repository or the network is there is not looked at.
    """
    text = spec.strip()
    if not text:
        raise ModelProblem(f"No model was named: try one of {_names()}, hf:OWNER/REPO or a .gguf file.")
    if text.startswith("hf:"):
        return _hub_source(text)
    if _looks_like_path(text):
        return FileSource(Path(text).expanduser().absolute())
    name, colon, quantisation = text.partition(":")
    entry = entry_named(name)
    if entry is None:
        raise ModelProblem(_unknown(text, name))
    if not colon:
        return CatalogueSource(entry, entry.default_quantisation)
    if quantisation.lower() not in entry.quantisations:
        raise ModelProblem(
            f"{entry.name} is offered as {', '.join(entry.quantisations)}, not as "
            f"{quantisation or 'nothing'}: try {entry.name}:{entry.default_quantisation}."
        )
    return CatalogueSource(entry, quantisation.lower())


def _hub_source(text: str) -> HubSource:
    repository, _, chosen = text.removeprefix("hf:").partition(":")
    if not _REPOSITORY.fullmatch(repository) or ".." in repository:
        raise ModelProblem(f"{text} names no repository: write hf:OWNER/REPO, or hf:OWNER/REPO:FILE.gguf.")
    if chosen.lower().endswith(".gguf"):
        path = PurePosixPath(chosen)
        if path.is_absolute() or ".." in path.parts:
            raise ModelProblem(f"{chosen} is not a file inside {repository}: write its path from the top.")
        return HubSource(repository, file=chosen)
    if chosen and not is_quantisation(chosen):
        raise ModelProblem(
            f"{chosen} is neither a .gguf file nor a quantisation like q4 or Q8_0: "
            f"write hf:{repository}:q4 or hf:{repository}:FILE.gguf."
        )
    return HubSource(repository, quantisation=chosen.lower())


def _looks_like_path(text: str) -> bool:
    return text.startswith(("/", "./", "../", "~")) or text.lower().endswith(".gguf") or Path(text).is_file()


def _unknown(text: str, name: str) -> str:
    near = difflib.get_close_matches(name.lower(), [entry.name for entry in CATALOGUE], 1)
    if near:
        return f"There is no model named {text}: did you mean {near[0]}?"
    if _REPOSITORY.fullmatch(name):
        return f"There is no model named {text}: for a hub repository write hf:{text}."
    return f"There is no model named {text}: try one of {_names()}, hf:OWNER/REPO or a .gguf file."


def _names() -> str:
    return ", ".join(entry.name for entry in CATALOGUE)
