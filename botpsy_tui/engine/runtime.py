"""One GGUF model and its context, through llama_cpp's low-level bindings. Not thread-safe."""

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from botpsy_tui.engine.adapters import LoraAdapter, apply, check_files
from botpsy_tui.engine.types import CHECKPOINT_BYTES, EngineError, KvType

_llama: Any = llama_cpp  # the bindings carry no types
_DECODE_ABORTED = 2
_DECODE_NO_ROOM = 1

BATCH = 256
"""Tokens decoded at once: large enough for full prompt speed, small enough to stop within."""


State: TypeAlias = NDArray[np.uint8]
"""A copy of the context memory's state, or of a part of it, as llama.cpp writes it."""


@_llama.llama_log_callback
def _be_silent(_level: int, _text: bytes, _data: object) -> None:
    """llama.cpp's log would be written over the screen."""


class DecodeAborted(Exception):
    """Decoding was stopped by the abort check; the context memory holds a part of the batch."""


_GGML_TYPES: dict[KvType, int] = {"f16": _llama.GGML_TYPE_F16, "q8_0": _llama.GGML_TYPE_Q8_0}


@dataclass(frozen=True)
class ContextSettings:
    """How the context is made."""

    size: int = 8192
    """Tokens the context holds; no more than the model was trained for."""
    threads: int = 0
    """0: as many as this process may use."""
    kv_type: KvType = "f16"
    """How keys and values are kept; ``q8_0`` takes about half the memory, and a little speed."""
    mmap: bool = True
    """Read the model from its file as it is needed, shared with other processes; else copy it to memory."""
    adapters: tuple[LoraAdapter, ...] = ()
    checkpoint_bytes: int = CHECKPOINT_BYTES
    """What the states to go back to may take together; 0: going back reads everything again."""

    def identity(self) -> str:
        """Return what changes wherever these settings would change the model's state.

        Reads the adapters' files. Raises `EngineError` where one is missing.
        """
        return ";".join([f"kv={self.kv_type}", *(f"lora={adapter.identity()}" for adapter in self.adapters)])


class Runtime:
    """A loaded model with one context: tokens in, logits out."""

    def __init__(self, path: Path, settings: ContextSettings) -> None:
        """Load the model at `path`. Takes seconds. Raises `EngineError` where it can't be loaded."""
        self.settings = settings
        _check_file(path)
        check_files(settings.adapters)
        _llama.llama_log_set(_be_silent, None)
        _llama.llama_backend_init()
        parameters = _llama.llama_model_default_params()
        parameters.load_mode = _llama.LLAMA_LOAD_MODE_MMAP if settings.mmap else _llama.LLAMA_LOAD_MODE_NONE
        parameters.use_extra_bufts = not _names_amx()
        self._model: Any = _llama.llama_model_load_from_file(os.fsencode(path), parameters)
        if not self._model:
            raise EngineError(
                f"{path.name} could not be loaded: it is damaged, cut short or of a kind that this version "
                "does not know. Fetch it again with `botpsy model pull`, or choose another."
            )
        self._should_abort: Callable[[], bool] = lambda: False
        self._abort_callback = _llama.ggml_abort_callback(self._aborts)
        self._context: Any = self._make_context(settings)
        try:
            apply(self._model, self._context, settings.adapters)
        except EngineError:
            self.close()
            raise
        self._memory: Any = _llama.llama_get_memory(self._context)
        self._vocabulary: Any = _llama.llama_model_get_vocab(self._model)
        self._pieces: dict[int, bytes] = {}
        self.vocabulary_size: int = _llama.llama_vocab_n_tokens(self._vocabulary)
        self.context_size: int = _llama.llama_n_ctx(self._context)
        self.hybrid = bool(
            _llama.llama_model_is_hybrid(self._model) or _llama.llama_model_is_recurrent(self._model)
        )
        self._window: int = _llama.llama_model_n_swa(self._model)
        self.memory_can_be_cut = not self.hybrid and self._window == 0
        """False where state is recurrent or a sliding window: going back may need a checkpoint."""

    def _make_context(self, settings: ContextSettings) -> Any:
        parameters = _llama.llama_context_default_params()
        trained = _llama.llama_model_n_ctx_train(self._model)
        parameters.n_ctx = min(settings.size, trained) if trained > 0 else settings.size
        parameters.n_batch = parameters.n_ubatch = BATCH
        parameters.n_outputs_max = 1  # logits of the last token only: a quarter of a GB less at 248k tokens
        parameters.type_k = parameters.type_v = _GGML_TYPES[settings.kv_type]
        if settings.kv_type != "f16":  # only flash attention reads values that are not f16
            parameters.flash_attn_type = _llama.LLAMA_FLASH_ATTN_TYPE_ENABLED
        # A window's worth of memory for layers that see no further; checkpoints bring back what it forgets.
        parameters.swa_full = False
        threads = settings.threads or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 4
        parameters.n_threads = parameters.n_threads_batch = threads
        parameters.abort_callback = self._abort_callback
        context = _llama.llama_init_from_model(self._model, parameters)
        if not context:
            _llama.llama_model_free(self._model)
            raise EngineError(
                f"There is not enough memory for a context of {parameters.n_ctx} tokens kept as "
                f"{settings.kv_type}, or this model can't keep them so; set a smaller `context`, or another "
                "`kv_type`, under [engine] in the settings."
            )
        return context

    # -- what the model says of itself

    def metadata(self, key: str) -> str | None:
        """Return a metadata value of the GGUF file as text, or None."""
        buffer = ctypes.create_string_buffer(1024)
        length = _llama.llama_model_meta_val_str(self._model, key.encode(), buffer, len(buffer))
        return buffer.value.decode(errors="replace") if length >= 0 else None

    def description(self) -> str:
        """Return llama.cpp's own words, such as ``qwen2 1.5B Q4_K - Medium``."""
        buffer = ctypes.create_string_buffer(256)
        _llama.llama_model_desc(self._model, buffer, len(buffer))
        return buffer.value.decode(errors="replace")

    def parameter_count(self) -> int:
        """Return how many weights the model has."""
        return int(_llama.llama_model_n_params(self._model))

    def chat_template(self) -> str | None:
        """Return the chat template that the file carries."""
        template = _llama.llama_model_chat_template(self._model, None)
        return template.decode() if template else None

    def beginning(self) -> str:
        """Return the token that every prompt of this model begins with; nothing where none does."""
        token = _llama.llama_vocab_bos(self._vocabulary)
        if not _llama.llama_vocab_get_add_bos(self._vocabulary) or token == _llama.LLAMA_TOKEN_NULL:
            return ""
        return self.piece(token).decode(errors="replace")

    def vocabulary_pointer(self) -> Any:
        """Return the vocabulary, for llguidance's tokenizer."""
        return self._vocabulary

    # -- text and tokens

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of a rendered prompt; special tokens in it are recognised."""
        raw = text.encode()
        capacity = len(raw) + 8
        while True:
            buffer = (_llama.llama_token * capacity)()
            n = _llama.llama_tokenize(self._vocabulary, raw, len(raw), buffer, capacity, False, True)
            if n >= 0:
                return list(buffer[:n])
            capacity = -n

    def piece(self, token: int) -> bytes:
        """Return the bytes of a token, special ones included."""
        known = self._pieces.get(token)
        if known is None:
            buffer = ctypes.create_string_buffer(256)
            n = _llama.llama_token_to_piece(self._vocabulary, token, buffer, len(buffer), 0, True)
            known = self._pieces[token] = buffer.raw[: max(n, 0)]
        return known

    def ends_generation(self, token: int) -> bool:
        """Say whether the model ends its turn with this token."""
        return bool(_llama.llama_vocab_is_eog(self._vocabulary, token))

    def special_tokens(self) -> frozenset[str]:
        """Return the texts of all control and user-defined tokens."""
        marks = _llama.LLAMA_TOKEN_ATTR_CONTROL | _llama.LLAMA_TOKEN_ATTR_USER_DEFINED
        return frozenset(
            _llama.llama_vocab_get_text(self._vocabulary, token).decode(errors="replace")
            for token in range(self.vocabulary_size)
            if _llama.llama_vocab_get_attr(self._vocabulary, token) & marks
        )

    # -- decoding

    def abort_when(self, check: Callable[[], bool]) -> None:
        """Have a running decode look at `check`, and stop where it is true."""
        self._should_abort = check

    def _aborts(self, _data: object) -> bool:
        return self._should_abort()

    def decode(self, tokens: Sequence[int]) -> None:
        """Append at most `BATCH` tokens to the context memory and compute the last one's logits.

        Raises `DecodeAborted`, or `EngineError`.
        """
        array = (_llama.llama_token * len(tokens))(*tokens)
        result = _llama.llama_decode(self._context, _llama.llama_batch_get_one(array, len(tokens)))
        if result == _DECODE_ABORTED:
            raise DecodeAborted
        if result == _DECODE_NO_ROOM:
            raise EngineError("The context is full; start a new conversation.")
        if result:
            raise EngineError(f"The model could not go on (llama_decode gave {result}).")

    def logits(self) -> NDArray[np.float32]:
        """Return the last token's logits, shape (vocabulary,): a view that sampling reads."""
        pointer = _llama.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(pointer, shape=(self.vocabulary_size,))

    def sample(self, sampler: Any) -> int:
        """Choose the next token with a llama.cpp sampler chain."""
        return int(_llama.llama_sampler_sample(sampler, self._context, -1))

    # -- memory and state

    def clear(self) -> None:
        """Forget everything."""
        _llama.llama_memory_clear(self._memory, True)

    def cut(self, position: int) -> bool:
        """Forget all from `position` on; False, with nothing changed, where this memory can't."""
        if self._window and not self.hybrid and position:
            # Layers with a window have overwritten what lay before it. To read on from `position`
            # they need the window that ends there.
            oldest = _llama.llama_memory_seq_pos_min(self._memory, 0)
            if oldest > max(0, position - self._window):
                return False
        return bool(_llama.llama_memory_seq_rm(self._memory, 0, position, -1))

    def save_state(self, *, whole: bool = False) -> State:
        """Return a copy of the state: the part that can't be cut (recurrent, windows), or all of it."""
        flags = 0 if whole else _llama.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        size = _llama.llama_state_seq_get_size_ext(self._context, 0, flags)
        state = np.empty(size, np.uint8)
        written = _llama.llama_state_seq_get_data_ext(self._context, _pointer(state), size, 0, flags)
        if written != size:
            raise EngineError(f"The model's state could not be copied ({written} of {size} bytes).")
        return state

    def restore_state(self, state: State, *, whole: bool = False) -> bool:
        """Put a state from `save_state` back.

        False where it does not fit; the memory is then in no known state, and has to be cleared.
        """
        flags = 0 if whole else _llama.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY
        size = len(state)
        return _llama.llama_state_seq_set_data_ext(self._context, _pointer(state), size, 0, flags) == size

    def close(self) -> None:
        """Free context and model."""
        if self._context:
            _llama.llama_free(self._context)
            _llama.llama_model_free(self._model)
            self._context = self._model = None


def _pointer(state: State) -> Any:
    return state.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def _names_amx() -> bool:
    """Say whether llama.cpp would choose its AMX kernels here.

    Many virtual machines name AMX and fault on its first instruction, which would end the
    process; it can't be tried without that risk, so the other kernels are taken.
    """
    try:
        return "amx_int8" in Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return False


def _check_file(path: Path) -> None:
    if not path.exists():
        raise EngineError(f"There is no model file at {path}; see `botpsy model list`.")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise EngineError(f"{path.name} is not a GGUF model file; see `botpsy model list`.")
