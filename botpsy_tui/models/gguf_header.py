"""The head of a GGUF file: its metadata, and whether the file is whole.

Follows the GGUF specification, versions 2 and 3 (ggml/docs/gguf.md). Every length in the file
is distrusted: nothing is allocated for it that the file itself doesn't hold.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from botpsy_tui.models.types import ModelProblem, size_text

Value = int | float | bool | str | list[int | float | bool]

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_KEPT_ARRAY = 1024  # items; longer arrays (vocabularies) are skipped
_MOST_ENTRIES = 1_000_000
_DEEPEST = 4

# ggml type -> (weights in a block, bytes of a block), as in ggml-common.h.
_BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    39: (32, 17),  # MXFP4
}


@dataclass(frozen=True)
class GgufHeader:
    """What a model file says about itself."""

    version: int
    metadata: Mapping[str, Value]
    """Arrays of text, and arrays longer than 1024 items, are left out."""
    tensor_count: int
    weights: int
    """The number of parameters."""

    @property
    def architecture(self) -> str:
        """The model's family as llama.cpp names it: ``qwen2``, ``qwen35``, ``lfm2``."""
        return self.text("general.architecture")

    def text(self, key: str) -> str:
        """Return the text under `key`, or an empty string."""
        value = self.metadata.get(key, "")
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int:
        """Return the number under ``ARCHITECTURE.key``, or 0."""
        value = self.metadata.get(f"{self.architecture}.{key}", 0)
        return value if isinstance(value, int) else 0


def read_header(path: Path) -> GgufHeader:
    """Read the metadata of the GGUF file at `path`, and check that all its tensors are there.

    Raises `ModelProblem` with one sentence where the file is missing, no GGUF, of an unknown
    version, damaged or cut off.
    """
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelProblem(f"{path} is not a GGUF model: name a file that ends in .gguf.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _Reader(data).header()
    except OSError as error:
        raise ModelProblem(f"{path} can't be read ({error.strerror}): check the path.") from error
    except _CutOffError as error:
        raise ModelProblem(f"{path} is cut off ({error}): remove it and pull the model again.") from error
    except _DamagedError as error:
        raise ModelProblem(f"{path} is damaged ({error}): remove it and pull the model again.") from error


class _CutOffError(Exception):
    """The file ends before what it announces."""


class _DamagedError(Exception):
    """The file says what can't be."""


class _Reader:
    """A position in the mapped file, which never passes its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._size = len(data)
        self._at = 4

    def header(self) -> GgufHeader:
        (version,) = self._take("I")
        if version not in (2, 3):
            raise _DamagedError(f"GGUF version {version} is not known")
        tensors, pairs = self._take("QQ")
        if tensors > _MOST_ENTRIES or pairs > _MOST_ENTRIES:
            raise _DamagedError("it announces more entries than a model has")
        metadata: dict[str, Value] = {}
        for _ in range(pairs):
            key = self._string()
            (kind,) = self._take("I")
            value = self._value(kind, 0)
            if value is not None:
                metadata[key] = value
        weights, end = 0, 0
        for _ in range(tensors):
            count, tensor_end = self._tensor()
            weights += count
            end = max(end, tensor_end)
        alignment = metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
            raise _DamagedError("its alignment can't be")
        start = -(-self._at // alignment) * alignment
        if tensors and start + end > self._size:
            raise _CutOffError(f"{size_text(self._size)} of {size_text(start + end)} are there")
        return GgufHeader(version, metadata, tensors, weights)

    def _tensor(self) -> tuple[int, int]:
        """Return a tensor's number of weights, and where its data ends after the data's start."""
        self._string()
        (dimensions,) = self._take("I")
        if dimensions > 8:
            raise _DamagedError("a tensor has too many dimensions")
        count = math.prod(self._take(f"{dimensions}Q"))
        kind, offset = self._take("IQ")
        block, size = _BLOCKS.get(kind, (1, 0))  # of an unknown type only the start can be checked
        return count, offset + count // block * size

    def _value(self, kind: int, depth: int) -> Value | None:
        if kind in _SCALARS:
            return self._take(_SCALARS[kind])[0]
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY or depth > _DEEPEST:
            raise _DamagedError(f"a value is of unknown type {kind}")
        item, count = self._take("IQ")
        if item in _SCALARS:
            if count <= _KEPT_ARRAY:
                return list(self._take(f"{count}{_SCALARS[item]}"))
            self._skip(count * struct.calcsize(f"<{_SCALARS[item]}"))
            return None
        if count > self._size:  # each item takes a byte at least
            raise _CutOffError("a list doesn't fit")
        for _ in range(count):
            if item == _STRING:
                self._skip(self._take("Q")[0])
            else:
                self._value(item, depth + 1)
        return None

    def _string(self) -> str:
        (length,) = self._take("Q")
        start = self._at
        self._skip(length)
        return self._data[start : self._at].decode("utf-8", "replace")

    def _take(self, layout: str) -> tuple[int, ...]:
        layout = f"<{layout}"
        start = self._at
        self._skip(struct.calcsize(layout))
        return struct.unpack_from(layout, self._data, start)

    def _skip(self, length: int) -> None:
        if length > self._size - self._at:
            raise _CutOffError("its head is incomplete")
        self._at += length
