"""LoRA adapters: small trained changes that are laid over a model's weights when it is loaded."""

import ctypes
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp

from botpsy_tui.engine.types import EngineError

_llama: Any = llama_cpp  # the bindings carry no types


@dataclass(frozen=True)
class LoraAdapter:
    """An adapter file (GGUF) and how strongly it is applied: 1 as it was trained, 0 not at all."""

    path: Path
    scale: float = 1.0

    @property
    def label(self) -> str:
        """Its name, and its scale where that is not 1."""
        return self.path.stem if self.scale == 1 else f"{self.path.stem} ×{self.scale:g}"

    def identity(self) -> str:
        """Return what changes wherever the model's state would: the content's SHA-256, and the scale."""
        try:
            with self.path.open("rb") as file:
                return f"{hashlib.file_digest(file, 'sha256').hexdigest()}:{self.scale!r}"
        except OSError as error:
            raise EngineError(_gone(self.path, error)) from error


def check_files(adapters: Sequence[LoraAdapter]) -> None:
    """Raise `EngineError` where a file is missing or no GGUF; costs nothing."""
    for adapter in adapters:
        try:
            with adapter.path.open("rb") as file:
                if file.read(4) != b"GGUF":
                    raise EngineError(f"{adapter.path.name} is not a GGUF adapter; {_WITHOUT}.")
        except OSError as error:
            raise EngineError(_gone(adapter.path, error)) from error


def apply(model: Any, context: Any, adapters: Sequence[LoraAdapter]) -> None:
    """Lay the adapters over a loaded model; they live and end with it. Raises `EngineError`."""
    if not adapters:
        return
    loaded = [_llama.llama_adapter_lora_init(model, os.fsencode(adapter.path)) for adapter in adapters]
    for adapter, pointer in zip(adapters, loaded, strict=True):
        if not pointer:
            raise EngineError(f"The adapter {adapter.path.name} does not fit this model; {_WITHOUT}.")
    pointers = (_llama.llama_adapter_lora_p_ctypes * len(loaded))(*loaded)
    scales = (ctypes.c_float * len(loaded))(*(adapter.scale for adapter in adapters))
    if _llama.llama_set_adapters_lora(context, pointers, len(loaded), scales) != 0:
        raise EngineError(f"The adapters could not be applied to this model; {_WITHOUT}.")


_WITHOUT = "`botpsy model use NAME --no-lora` does without"


def _gone(path: Path, error: OSError) -> str:
    return f"The adapter {path} can't be read ({error.strerror or error}); {_WITHOUT}."
