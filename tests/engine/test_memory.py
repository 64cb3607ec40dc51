"""A prompt that diverges from the last one costs only its new tokens, and gives the same logits."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from botpsy_tui.engine.memory import ContextMemory
from botpsy_tui.engine.runtime import ContextSettings, DecodeAborted, Runtime


@pytest.fixture(params=["hybrid", "dense"])
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    path: Path = request.getfixturevalue(f"{request.param}_model")
    runtime = Runtime(path, ContextSettings(size=2048, threads=1))
    yield runtime
    runtime.close()


def read(memory: ContextMemory, prompt: list[int], marks: list[int] | None = None) -> int:
    """Bring the memory to `prompt`; return how many tokens had to be decoded."""
    kept = memory.rewind_to(prompt)
    memory.decode(prompt[kept:], marks=marks or [])
    return len(prompt) - kept


def fresh_logits(runtime: Runtime, prompt: list[int]) -> np.ndarray:
    memory = ContextMemory(runtime)
    memory.clear()
    read(memory, prompt)
    return runtime.logits().copy()


def assert_agree(resumed: np.ndarray, fresh: np.ndarray) -> None:
    """The same logits, but for the rounding of half-precision sums in other batches.

    A wrong state shows as differences of a unit and more.
    """
    np.testing.assert_allclose(resumed, fresh, atol=0.03)


def some_tokens(count: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(33, 126) for _ in range(count)]


def test_after_a_divergence_only_what_follows_the_checkpoint_is_decoded(runtime: Runtime) -> None:
    memory = ContextMemory(runtime)
    history = some_tokens(600)
    assert read(memory, [*history, *some_tokens(40, 1)], marks=[600]) == 640
    other = [*history, *some_tokens(25, 2)]
    assert read(memory, other) == 25
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, other))


def test_a_longer_prompt_costs_only_its_end(runtime: Runtime) -> None:
    memory = ContextMemory(runtime)
    prompt = some_tokens(300)
    read(memory, prompt)
    longer = [*prompt, *some_tokens(10, 3)]
    assert read(memory, longer) == 10
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, longer))


def test_a_divergence_before_every_checkpoint_reads_everything_again(hybrid_model: Path) -> None:
    runtime = Runtime(hybrid_model, ContextSettings(size=1024, threads=1))
    memory = ContextMemory(runtime)
    prompt = some_tokens(200)
    read(memory, prompt, marks=[150])
    other = [*prompt[:100], *some_tokens(50, 4)]
    assert read(memory, other) == 150
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, other))
    runtime.close()


def test_random_edits_always_agree_with_a_fresh_read(runtime: Runtime) -> None:
    rng = random.Random(7)
    memory = ContextMemory(runtime)
    prompt = some_tokens(120)
    for step in range(25):
        keep = rng.randrange(len(prompt) + 1)
        prompt = [*prompt[:keep], *some_tokens(rng.randrange(1, 60), seed=100 + step)][-400:]
        marks = sorted(rng.sample(range(1, len(prompt) + 1), k=min(3, len(prompt))))
        read(memory, prompt, marks)
        assert memory.tokens == prompt
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, prompt))


def test_checkpoints_stay_within_their_budget(hybrid_model: Path) -> None:
    runtime = Runtime(hybrid_model, ContextSettings(size=2048, threads=1))
    size = len(runtime.save_partial_state())
    memory = ContextMemory(runtime, checkpoint_bytes=size * 3)
    prompt = some_tokens(900)
    read(memory, prompt, marks=[100, 200, 300, 400, 500, 600, 700])
    assert read(memory, [*prompt[:100], 40, 41]) == 2, "the first, after the constant prefix, is kept"
    runtime.close()


def test_a_prompt_can_be_given_up_in_the_middle_and_read_again(runtime: Runtime) -> None:
    memory = ContextMemory(runtime)
    prompt = some_tokens(1500)
    read(memory, prompt[:500], marks=[400])
    runtime.abort_when(lambda: len(memory.tokens) >= 500)
    with pytest.raises(DecodeAborted):
        read(memory, prompt)
    assert memory.tokens == prompt[: len(memory.tokens)]
    runtime.abort_when(lambda: False)
    read(memory, prompt)
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, prompt))
