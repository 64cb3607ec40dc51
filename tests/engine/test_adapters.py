"""LoRA adapters and the kinds of key-value memory, on tiny real models: what they change, and what not."""

from pathlib import Path

import numpy as np
import pytest

from botpsy_tui.engine.adapters import LoraAdapter
from botpsy_tui.engine.local import LocalSession
from botpsy_tui.engine.runtime import ContextSettings, Runtime
from botpsy_tui.engine.types import EngineError
from tests.models.lora import write_adapter


def logits(model: Path, *adapters: LoraAdapter, **settings: object) -> np.ndarray:
    runtime = Runtime(model, ContextSettings(size=512, threads=1, adapters=adapters, **settings))  # type: ignore[arg-type]
    try:
        runtime.decode(runtime.tokenize("Good morning, Zoë."))
        return runtime.logits().copy()
    finally:
        runtime.close()


@pytest.mark.parametrize(("kind", "architecture"), [("dense_model", "qwen2"), ("hybrid_model", "qwen35")])
def test_an_adapter_changes_what_the_model_says_by_its_scale(
    kind: str, architecture: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(kind)
    adapter = write_adapter(tmp_path / "mine.gguf", architecture)
    plain = logits(model)
    assert np.array_equal(logits(model, LoraAdapter(adapter, 0.0)), plain), "scale 0 changes nothing"
    whole, half = logits(model, LoraAdapter(adapter)), logits(model, LoraAdapter(adapter, 0.5))
    assert np.abs(whole - plain).max() > 0.05
    assert not np.allclose(half, whole)
    assert not np.allclose(half, plain)


def test_two_adapters_add(dense_model: Path, tmp_path: Path) -> None:
    one, two = write_adapter(tmp_path / "one.gguf", seed=1), write_adapter(tmp_path / "two.gguf", seed=2)
    both = logits(dense_model, LoraAdapter(one), LoraAdapter(two))
    assert not np.allclose(both, logits(dense_model, LoraAdapter(one)))
    assert not np.allclose(both, logits(dense_model, LoraAdapter(two)))
    assert np.allclose(both, logits(dense_model, LoraAdapter(two), LoraAdapter(one)), atol=1e-3)
    # The same adapter twice at half is the adapter once.
    halves = [LoraAdapter(one, 0.5), LoraAdapter(write_adapter(tmp_path / "same.gguf", seed=1), 0.5)]
    assert np.allclose(logits(dense_model, *halves), logits(dense_model, LoraAdapter(one)), atol=1e-3)


def test_an_adapter_that_is_not_there_or_does_not_fit_is_one_sentence(
    dense_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "text.gguf").write_text("not an adapter")
    for path, says in [
        (tmp_path / "gone.gguf", "can't be read"),
        (tmp_path / "text.gguf", "is not a GGUF adapter"),
        (write_adapter(tmp_path / "foreign.gguf", "llama"), "does not fit this model"),
        (write_adapter(tmp_path / "wide.gguf", width=256), "does not fit this model"),
    ]:
        with pytest.raises(EngineError, match=says) as refused:
            logits(dense_model, LoraAdapter(path))
        assert "--no-lora" in str(refused.value)


async def test_the_person_sees_which_adapters_are_on(dense_model: Path, tmp_path: Path) -> None:
    adapter = LoraAdapter(write_adapter(tmp_path / "mine.gguf"), 0.5)
    session = await LocalSession.load(dense_model, ContextSettings(size=512, threads=1, adapters=(adapter,)))
    assert session.info.adapters == ("mine ×0.5",)
    await session.close()


def test_settings_that_change_the_state_have_another_identity(tmp_path: Path) -> None:
    path = write_adapter(tmp_path / "mine.gguf")
    seen = [
        ContextSettings().identity(),
        ContextSettings(kv_type="q8_0").identity(),
        ContextSettings(adapters=(LoraAdapter(path),)).identity(),
        ContextSettings(adapters=(LoraAdapter(path, 0.5),)).identity(),
    ]
    write_adapter(path, seed=3)
    seen.append(ContextSettings(adapters=(LoraAdapter(path),)).identity())
    assert len(set(seen)) == len(seen)
    assert ContextSettings(size=1024, mmap=False).identity() == seen[0]


@pytest.mark.parametrize("kind", ["dense_model", "hybrid_model"])
def test_keys_and_values_of_eight_bits_say_nearly_the_same(kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    exact, near = logits(model), logits(model, kv_type="q8_0")
    assert not np.array_equal(exact, near)
    assert np.corrcoef(exact, near)[0, 1] > 0.999


def test_a_model_that_is_copied_to_memory_says_the_same(dense_model: Path) -> None:
    assert np.array_equal(logits(dense_model), logits(dense_model, mmap=False))
