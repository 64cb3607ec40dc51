"""The head of a GGUF file is read without trusting it."""

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.models import GgufHeader, ModelProblem, memory_need, read_header
from tests.models.tiny import tiny_gguf


@pytest.mark.parametrize("version", [2, 3])
def test_a_whole_file_is_read(tmp_path: Path, version: int) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny_gguf(version=version))
    header = read_header(path)
    assert (header.architecture, header.text("general.name")) == ("qwen2", "Tiny")
    assert (header.tensor_count, header.weights, header.number("context_length")) == (1, 64, 32768)
    assert "tokenizer.ggml.tokens" not in header.metadata


def test_the_cache_is_reckoned_from_layers_heads_and_context(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny_gguf())
    need = memory_need(read_header(path), 1000, context=4096)
    # 24 layers, 2 key-value heads of 64, keys and values, two bytes each: what llama.cpp
    # prints for Qwen2.5-0.5B is 48 MiB at 4096 tokens.
    assert need.cache == 48 * 1024 * 1024
    assert need.total > need.allocated == need.weights + need.cache + need.compute
    assert need.own == need.total - need.weights, "a mapped file needs no memory that is free"


def test_only_the_attention_layers_of_a_hybrid_model_have_a_cache() -> None:
    qwen = {"block_count": 24, "attention.head_count_kv": 2, "full_attention_interval": 4}
    lfm = {"block_count": 4, "attention.head_count_kv": [0, 8, 0, 8]}
    for architecture, layers, heads in (("qwen35", qwen, 6 * 2), ("lfm2", lfm, 16)):
        numbers = {**layers, "attention.key_length": 64, "attention.value_length": 64}
        metadata = {f"{architecture}.{key}": value for key, value in numbers.items()}
        header = GgufHeader(3, {"general.architecture": architecture, **metadata}, 0, 0)
        assert memory_need(header, 0, context=1024).cache == heads * (64 + 64) * 1024 * 2


@pytest.mark.parametrize("length", [4, 10, 24, 60, 200, len(tiny_gguf()) - 1])
def test_a_cut_off_file_is_said_so(tmp_path: Path, length: int) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(tiny_gguf()[:length])
    with pytest.raises(ModelProblem, match="cut off"):
        read_header(path)


@pytest.mark.parametrize(
    "head",
    [
        struct.pack("<IQQ", 3, 0, 2**63),
        struct.pack("<IQQ", 3, 2**63, 0),
        struct.pack("<IQQQ", 3, 0, 1, 2**63),
        struct.pack("<IQQQcIIQ", 3, 0, 1, 1, b"k", 9, 8, 2**62),
        struct.pack("<IQQQcIIQ", 3, 0, 1, 1, b"k", 9, 4, 2**62),
        struct.pack("<IQQQcI", 3, 0, 1, 1, b"k", 77),
        struct.pack("<IQQQcI", 3, 1, 0, 1, b"k", 2**31),
        struct.pack("<IQQQcI", 3, 0, 1, 1, b"k", 9) + struct.pack("<IQ", 9, 1) * 50,
        struct.pack("<IQQ", 1, 0, 0),
        struct.pack(">IQQ", 3, 0, 0),
    ],
)
def test_hostile_sizes_are_answered_with_a_sentence(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF" + head)
    with pytest.raises(ModelProblem, match=r"damaged|cut off"):
        read_header(path)


@settings(max_examples=300, deadline=2000)
@given(st.data())
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    spoiled = bytearray(tiny_gguf())
    for _ in range(data.draw(st.integers(1, 4))):
        spoiled[data.draw(st.integers(4, 400))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "spoiled.gguf"
    path.write_bytes(bytes(spoiled))
    try:
        header = read_header(path)
    except ModelProblem:
        return
    memory_need(header, 1000)
