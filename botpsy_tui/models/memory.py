"""How much memory a model will need, reckoned from its file's head, against what this machine has.

Agrees with what llama.cpp then allocates to within a tenth; a test holds it to that.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from botpsy_tui.engine.types import CHECKPOINT_BYTES, KvType
from botpsy_tui.models.gguf_header import GgufHeader
from botpsy_tui.models.types import size_text

DEFAULT_CONTEXT = 8192
# Measured with the starter: Python, the tokenizer's tables and the screen.
_PROGRAM = 150_000_000
_BATCH = 256  # tokens that the engine decodes at once
_FLOAT = 4
_BYTES: dict[KvType, float] = {"f16": 2, "q8_0": 34 / 32}  # q8_0: 32 values and an f16 scale
_MOST_LAYERS = 4096
_WINDOWS = {"gemma2": 2, "gemma3": 6, "cohere2": 4}  # every n-th layer sees all, where the file does not say


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes of memory that a model takes at a context size, and bytes there are."""

    weights: int
    cache: int
    """Keys and values of the whole context."""
    state: int
    """What recurrent layers keep; it doesn't grow."""
    compute: int
    """What decoding works in."""
    checkpoints: int
    """The most that may be kept to go back to."""
    mapped: bool
    """The weights are read from their file as they are needed, and given back where memory is short."""
    available: int
    """0 where the system doesn't tell."""
    installed: int
    """All the memory this machine (or its container) has; 0 where the system doesn't tell."""

    @property
    def allocated(self) -> int:
        """What llama.cpp allocates or maps."""
        return self.weights + self.cache + self.state + self.compute

    @property
    def total(self) -> int:
        """All of it together, with checkpoints and the program itself."""
        return self.allocated + self.checkpoints + _PROGRAM

    @property
    def own(self) -> int:
        """What must be free: a mapped file's pages can be dropped and read again, the rest can't."""
        return self.total - self.weights if self.mapped else self.total

    @property
    def fits(self) -> bool:
        """Whether it can be loaded: what must be free is, and the machine can hold it all together.

        A mapped file that other programs crowd out is read again as it is needed. One that is
        larger than the machine would be read again for every token.
        """
        free = not self.available or self.own <= self.available
        return free and (not self.installed or self.total <= self.installed)

    @property
    def sentence(self) -> str:
        """``needs about 1.7 GB of memory, and 6.2 GB are free``."""
        text = f"needs about {self.total / 1e9:.1f} GB of memory"
        if not self.available:
            return text
        if not self.fits:
            return f"{text}, but only {size_text(self.available)} are free: take a smaller one"
        return f"{text}, and {size_text(self.available)} are free"

    @property
    def parts(self) -> str:
        """What it is made of, for the person."""
        weights = "model, read from its file" if self.mapped else "model, copied"
        named = {
            weights: self.weights,
            "conversation": self.cache,
            "recurrent state": self.state,
            "decoding": self.compute,
            "checkpoints at most": self.checkpoints,
            "the program": _PROGRAM,
        }
        return ", ".join(f"{label} {size_text(size)}" for label, size in named.items() if size)


def memory_need(
    header: GgufHeader,
    file_size: int,
    context: int = DEFAULT_CONTEXT,
    *,
    kv_type: KvType = "f16",
    mapped: bool = True,
    checkpoints: int = CHECKPOINT_BYTES,
) -> MemoryNeed:
    """Return what a model of `file_size` bytes needs at `context` tokens and these bytes of checkpoints."""
    context = min(context, header.number("context_length") or context)
    layers = _Layers.of(header)
    cuttable = layers.recurrent == 0 and layers.window == 0
    return MemoryNeed(
        weights=file_size,
        cache=int(_cached_values(header, layers, context) * _BYTES[kv_type]),
        state=layers.recurrent * _recurrent_state(header),
        compute=_compute(header, layers, context),
        checkpoints=0 if cuttable else checkpoints,
        mapped=mapped,
        available=available_memory(),
        installed=_installed_memory(),
    )


@dataclass(frozen=True)
class _Layers:
    """What kinds of layers there are, and each attention layer's key-value heads."""

    heads: tuple[int, ...]
    """0 for a recurrent layer."""
    windowed: tuple[bool, ...]
    window: int

    @property
    def recurrent(self) -> int:
        return self.heads.count(0)

    @classmethod
    def of(cls, header: GgufHeader) -> "_Layers":
        count = min(max(header.number("block_count"), 0), _MOST_LAYERS)
        everywhere = header.number("attention.head_count_kv") or header.number("attention.head_count")
        per_layer = header.metadata.get(f"{header.architecture}.attention.head_count_kv")
        interval = header.number("full_attention_interval")
        if isinstance(per_layer, list):
            heads = tuple(int(n) for n in per_layer[:count])
        elif interval > 1:
            heads = tuple(everywhere if (i + 1) % interval == 0 else 0 for i in range(count))
        else:
            heads = (everywhere,) * count
        return cls(heads, _windowed(header, count), header.number("attention.sliding_window"))


def _windowed(header: GgufHeader, count: int) -> tuple[bool, ...]:
    """Say of each layer whether it sees only the last tokens."""
    if not header.number("attention.sliding_window"):
        return (False,) * count
    pattern = header.metadata.get(f"{header.architecture}.attention.sliding_window_pattern")
    if isinstance(pattern, list):
        return tuple(bool(one) for one in pattern[:count])
    every = pattern if isinstance(pattern, int) else _WINDOWS.get(header.architecture, 0)
    return tuple(every > 0 and (i + 1) % every != 0 for i in range(count))


def _cached_values(header: GgufHeader, layers: _Layers, context: int) -> int:
    """Return how many numbers the key-value memory holds; windowed layers keep a window and a batch."""
    head_size = header.number("embedding_length") // max(header.number("attention.head_count"), 1)
    key = header.number("attention.key_length") or head_size
    value = header.number("attention.value_length") or head_size
    cells = _padded(context)
    window = min(cells, _padded(layers.window + _BATCH))
    return sum(
        heads * (key + value) * (window if windowed else cells)
        for heads, windowed in zip(layers.heads, layers.windowed, strict=False)
    )


def _recurrent_state(header: GgufHeader) -> int:
    """Return the bytes that one recurrent layer keeps (llama.cpp: ``n_embd_r`` and ``n_embd_s``)."""
    if short := header.number("shortconv.l_cache"):  # LFM2
        return (short - 1) * header.number("embedding_length") * _FLOAT
    convolution = max(header.number("ssm.conv_kernel") - 1, 0) * _mixed(header)
    return (convolution + header.number("ssm.state_size") * header.number("ssm.inner_size")) * _FLOAT


def _mixed(header: GgufHeader) -> int:
    """Return the width of what a recurrent layer's convolution mixes."""
    grouped = header.number("ssm.group_count") * header.number("ssm.state_size")
    return header.number("ssm.inner_size") + 2 * grouped


def _compute(header: GgufHeader, layers: _Layers, context: int) -> int:
    """Return the size of the compute buffer for one batch: its widest layer, and the attention mask.

    Fitted to what llama.cpp allocates with flash attention, one row of logits and batches of 256.
    """
    width = header.number("embedding_length")
    widest = header.metadata.get(f"{header.architecture}.feed_forward_length", 0)
    if isinstance(widest, list):  # one for each layer
        widest = max(widest, default=0)
    forward = 3 * (int(widest) + width)
    recurrent = (2 * _mixed(header) + 3 * header.number("ssm.inner_size") + 3 * width) * bool(
        layers.recurrent
    )
    mask = _padded(context) * _BATCH * 2 if any(layers.heads) else 0
    return max(forward, recurrent) * _BATCH * _FLOAT + mask


def _padded(cells: int) -> int:
    return -(-cells // 256) * 256


def available_memory() -> int:
    """Return the bytes a new process can have without swapping; 0 where the system doesn't tell."""
    limits: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError, IndexError):
        limits += _physical()
    group = Path("/sys/fs/cgroup")
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        limits.append(limit - int((group / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass  # no control group, or one without a limit
    return max(min(limits, default=0), 0)


def _installed_memory() -> int:
    limits = _physical()
    with contextlib.suppress(OSError, ValueError):  # no control group, or one without a limit
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits, default=0)


def _physical() -> list[int]:
    try:
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (OSError, ValueError):
        return []
