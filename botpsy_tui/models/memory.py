"""How much memory a model will need, against what this machine has."""

import os
from dataclasses import dataclass
from pathlib import Path

from botpsy_tui.models.gguf_header import GgufHeader
from botpsy_tui.models.types import size_text

# Measured with the starter: 130 MB for compute buffers, tokenizer and Python. The rest is
# an allowance for the screen and the masks of constrained calls.
_OVERHEAD = 300_000_000
# What the engine may keep as checkpoints of a model whose state can't be cut.
_CHECKPOINTS = 256 * 1024 * 1024
_CACHE_BYTES = 2  # a key or value is kept as f16
DEFAULT_CONTEXT = 8192


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes of memory a model takes at a context size, and bytes there are."""

    weights: int
    cache: int
    overhead: int
    available: int
    """0 where the system doesn't tell."""

    @property
    def total(self) -> int:
        """All of it together."""
        return self.weights + self.cache + self.overhead

    @property
    def sentence(self) -> str:
        """``needs about 1.7 GB of memory, and 6.2 GB are free``."""
        text = f"needs about {self.total / 1e9:.1f} GB of memory"
        if not self.available:
            return text
        if self.total > self.available:
            return f"{text}, but only {size_text(self.available)} are free: take a smaller one"
        return f"{text}, and {size_text(self.available)} are free"


def memory_need(header: GgufHeader, file_size: int, context: int = DEFAULT_CONTEXT) -> MemoryNeed:
    """Return what a model of `file_size` bytes needs at `context` tokens."""
    overhead = _OVERHEAD + (_CHECKPOINTS if _is_hybrid(header) else 0)
    return MemoryNeed(file_size, _cache_bytes(header, context), overhead, available_memory())


def _is_hybrid(header: GgufHeader) -> bool:
    """Tell whether some layers are recurrent: every n-th has attention, or some have no attention heads."""
    per_layer = header.metadata.get(f"{header.architecture}.attention.head_count_kv", 1)
    without = isinstance(per_layer, list) and 0 in per_layer
    return without or header.number("full_attention_interval") > 1


def _cache_bytes(header: GgufHeader, context: int) -> int:
    """Keys and values of each attention layer; recurrent layers keep a state that doesn't grow."""
    layers = header.number("block_count")
    heads = max(header.number("attention.head_count"), 1)
    head_size = header.number("embedding_length") // heads
    key = header.number("attention.key_length") or head_size
    value = header.number("attention.value_length") or head_size
    per_layer = header.metadata.get(f"{header.architecture}.attention.head_count_kv", heads)
    if isinstance(per_layer, list):
        key_value_heads = int(sum(per_layer))
    else:
        interval = max(header.number("full_attention_interval"), 1)
        key_value_heads = layers // interval * (per_layer if isinstance(per_layer, int) else heads)
    return key_value_heads * (key + value) * context * _CACHE_BYTES


def available_memory() -> int:
    """Return the bytes a new process can have without swapping; 0 where the system doesn't tell."""
    limits: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError, IndexError):
        try:
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (OSError, ValueError):
            return 0
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        limits.append(limit - int((group / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass  # no control group, or one without a limit
    return max(min(limits, default=0), 0)
