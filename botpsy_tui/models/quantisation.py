"""How strongly a model is quantised: read from a file's name, and chosen among many files."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Protocol, TypeVar

_IN_NAME = re.compile(r"(?:^|[-_.])((?:I?Q\d(?:_[A-Z0-9]+)*)|BF16|F16|F32|MXFP4)(?=$|[-_.])", re.IGNORECASE)
_IN_SPEC = re.compile(r"(?:I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32|MXFP4)", re.IGNORECASE)

# Within a family the first of these that a repository has is taken: best for a CPU first.
_PREFERRED = {"Q4": ("Q4", "Q4_K_M", "Q4_0", "Q4_K_S"), "Q8": ("Q8", "Q8_0")}


class Named(Protocol):
    """Anything with a file name in a repository."""

    @property
    def file(self) -> str:
        """The path inside the repository."""
        ...


File = TypeVar("File", bound=Named)


def is_quantisation(text: str) -> bool:
    """Tell whether `text` names a quantisation: ``q4``, ``Q8_0``, ``bf16``."""
    return _IN_SPEC.fullmatch(text) is not None


def quantisation_of(file: str) -> str:
    """Return the quantisation a file's name tells, in capitals (``Q4_K_M``), or an empty string."""
    found = _IN_NAME.findall(PurePosixPath(file).name.removesuffix(".gguf").removesuffix(".GGUF"))
    return found[-1].upper() if found else ""


def matching(files: Sequence[File], wanted: str) -> list[File]:
    """Return the `files` that are `wanted` (``q4``, ``Q4_K_M``, ``bf16``): one where the choice is clear.

    An exact match wins; a family name (``q4``) takes the family's preferred member, else
    all of the family. Letter case doesn't matter.
    """
    wanted = wanted.upper()
    for name in _PREFERRED.get(wanted, (wanted,)):
        if exact := [file for file in files if quantisation_of(file.file) == name]:
            # A plain "Q4_K_M" is meant before a variant like "UD-Q4_K_M".
            plain = [file for file in exact if "-UD-" not in file.file.upper()]
            return plain or exact
    return [file for file in files if quantisation_of(file.file).startswith(f"{wanted}_")]
