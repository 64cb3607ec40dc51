"""Writes tiny LoRA adapters for the synthetic models, with random weights."""

from pathlib import Path

import gguf
import numpy as np

from tests.models.synthetic import FEED_FORWARD, LAYERS, WIDTH

RANK = 4


def write_adapter(path: Path, architecture: str = "qwen2", *, seed: int = 0, width: int = WIDTH) -> Path:
    """Write an adapter over every layer's up projection; return its path."""
    file = gguf.GGUFWriter(path, architecture)
    file.add_type("adapter")
    file.add_string("adapter.type", "lora")
    file.add_float32("adapter.lora.alpha", RANK / 8)
    random = np.random.default_rng(seed)
    for layer in range(LAYERS):
        name = f"blk.{layer}.ffn_up.weight"
        file.add_tensor(f"{name}.lora_a", random.standard_normal((RANK, width), dtype=np.float32))
        file.add_tensor(f"{name}.lora_b", random.standard_normal((FEED_FORWARD, RANK), dtype=np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path
