"""A whole GGUF file of a few hundred bytes, written by hand after the specification."""

import hashlib
import struct


def tiny_gguf(name: str = "Tiny", weights: int = 64, *, version: int = 3) -> bytes:
    """Return a GGUF with some metadata and one F32 tensor."""
    pairs = [
        ("general.architecture", _text("qwen2")),
        ("general.name", _text(name)),
        ("qwen2.block_count", _number(24)),
        ("qwen2.context_length", _number(32768)),
        ("qwen2.embedding_length", _number(896)),
        ("qwen2.attention.head_count", _number(14)),
        ("qwen2.attention.head_count_kv", _number(2)),
        ("tokenizer.ggml.tokens", _texts(["a", "b", "c"])),
    ]
    head = b"GGUF" + struct.pack("<IQQ", version, 1, len(pairs))
    head += b"".join(_string(key) + value for key, value in pairs)
    head += _string("token_embd.weight") + struct.pack("<IQIQ", 1, weights, 0, 0)
    head += b"\0" * (-len(head) % 32)
    return head + hashlib.sha256(name.encode()).digest() * (weights * 4 // 32)


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _text(text: str) -> bytes:
    return struct.pack("<I", 8) + _string(text)


def _number(number: int) -> bytes:
    return struct.pack("<II", 4, number)


def _texts(texts: list[str]) -> bytes:
    return struct.pack("<IIQ", 9, 8, len(texts)) + b"".join(_string(text) for text in texts)
