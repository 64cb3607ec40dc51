"""A prompt that diverges from the last one costs only its new tokens, and gives the same logits."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from botpsy_tui.engine.checkpoints import Mark
from botpsy_tui.engine.memory import SPACING, ContextMemory
from botpsy_tui.engine.runtime import BATCH, ContextSettings, DecodeAborted, Runtime

KINDS = ["hybrid", "dense", "recurrent", "windowed"]


@pytest.fixture(params=KINDS)
def runtime(request: pytest.FixtureRequest) -> Iterator[Runtime]:
    path: Path = request.getfixturevalue(f"{request.param}_model")
    runtime = Runtime(path, ContextSettings(size=2048, threads=1))
    yield runtime
    runtime.close()


def read(memory: ContextMemory, prompt: list[int], marks: Sequence[Mark] = ()) -> int:
    """Bring the memory to `prompt`; return how many tokens had to be decoded."""
    return len(prompt) - memory.read(prompt, marks)


def fresh_logits(runtime: Runtime, prompt: list[int]) -> np.ndarray:
    memory = ContextMemory(runtime)
    memory.clear()
    read(memory, prompt)
    return runtime.logits().copy()


def assert_agree(resumed: np.ndarray, fresh: np.ndarray) -> None:
    """The same logits, but for the rounding of half-precision sums in other batches (below 0.01).

    One wrong token among the last hundred shows as more than twice this, a wrong state as far more.
    """
    np.testing.assert_allclose(resumed, fresh, atol=0.012)


def some_tokens(count: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(33, 126) for _ in range(count)]


def test_after_a_divergence_only_what_follows_the_checkpoint_is_decoded(runtime: Runtime) -> None:
    memory = ContextMemory(runtime)
    history = some_tokens(600)
    assert read(memory, [*history, *some_tokens(40, 1)], [Mark(600, "turn")]) == 640
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


@pytest.mark.parametrize("kind", ["hybrid", "recurrent"])
def test_a_divergence_before_every_checkpoint_reads_everything_again(
    kind: str, request: pytest.FixtureRequest
) -> None:
    runtime = Runtime(request.getfixturevalue(f"{kind}_model"), ContextSettings(size=1024, threads=1))
    memory = ContextMemory(runtime)
    prompt = some_tokens(200)
    read(memory, prompt, [Mark(150, "turn")])
    other = [*prompt[:100], *some_tokens(50, 4)]
    assert read(memory, other) == 150
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, other))
    runtime.close()


def test_a_window_that_is_still_there_is_cut_and_one_that_is_gone_is_brought_back(
    windowed_model: Path,
) -> None:
    runtime = Runtime(windowed_model, ContextSettings(size=2048, threads=1))
    memory = ContextMemory(runtime)
    prompt = some_tokens(1500)
    read(memory, prompt, [Mark(300, "turn")])
    near = [*prompt[:1490], 40, 41]
    assert read(memory, near) == 2, "the window before it is still in the memory"
    far = [*prompt[:400], 42]
    assert read(memory, far) == 101, "the window before it was overwritten; the checkpoint has its own"
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, far))
    runtime.close()


def test_a_divergence_inside_a_long_prompt_costs_no_more_than_the_spacing(hybrid_model: Path) -> None:
    runtime = Runtime(hybrid_model, ContextSettings(size=4096, threads=1))
    memory = ContextMemory(runtime)
    prompt = some_tokens(3000)
    read(memory, prompt)
    for place in (2900, 1700, 700):
        assert read(memory, [*prompt[:place], 40]) <= SPACING + BATCH + 1
    runtime.close()


def test_only_what_cannot_be_cut_costs_memory(runtime: Runtime) -> None:
    memory = ContextMemory(runtime)
    read(memory, some_tokens(300), [Mark(100, "prefix"), Mark(200, "turn")])
    assert (memory.checkpoint_bytes > 0) != runtime.memory_can_be_cut


def test_checkpoints_stay_within_their_budget_and_the_prefix_stays_longest(hybrid_model: Path) -> None:
    runtime = Runtime(hybrid_model, ContextSettings(size=2048, threads=1))
    prompt = some_tokens(900)
    runtime.decode(prompt[:1])
    state = len(runtime.save_state())
    runtime.clear()
    memory = ContextMemory(runtime, checkpoint_bytes=state * 3)
    read(memory, prompt, [Mark(100, "prefix"), *(Mark(p, "turn") for p in range(200, 800, 100))])
    assert memory.checkpoint_bytes == state * 3
    assert read(memory, [*prompt[:700], 40, 41]) == 2, "the latest turn"
    assert read(memory, [*prompt[:100], 40, 41]) == 2, "the constant prefix"
    runtime.close()


def test_with_no_budget_a_divergence_reads_everything_and_is_right(hybrid_model: Path) -> None:
    runtime = Runtime(hybrid_model, ContextSettings(size=1024, threads=1))
    memory = ContextMemory(runtime, checkpoint_bytes=0)
    prompt = some_tokens(300)
    read(memory, prompt, [Mark(250, "turn")])
    other = [*prompt[:250], 40]
    assert read(memory, other) == 251
    assert memory.checkpoint_bytes == 0
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, other))
    runtime.close()


def test_a_prompt_can_be_given_up_in_the_middle_and_read_again(runtime: Runtime) -> None:
    memory = ContextMemory(runtime)
    prompt = some_tokens(1500)
    read(memory, prompt[:500], [Mark(400, "turn")])
    runtime.abort_when(lambda: len(memory.tokens) >= 500)
    with pytest.raises(DecodeAborted):
        read(memory, prompt)
    assert memory.tokens == prompt[: len(memory.tokens)]
    runtime.abort_when(lambda: False)
    read(memory, prompt)
    resumed = runtime.logits().copy()
    assert_agree(resumed, fresh_logits(runtime, prompt))
