"""However a conversation is edited, the logits are those of a prompt that was read from its first token."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as some
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from botpsy_tui.engine.checkpoints import Mark, MarkKind
from botpsy_tui.engine.memory import ContextMemory
from botpsy_tui.engine.runtime import ContextSettings, DecodeAborted, Runtime

CONTEXT = 2048
LONGEST = 1500
ROUNDING = {"dense": 0.006, "hybrid": 0.0025, "recurrent": 0.004, "windowed": 0.006}
"""How far logits may differ (root mean square), because sums of half precision are made in other batches.

One wrong token among the last hundred differs by more than twice that, a wrong state by far more.
"""

seeds = some.integers(0, 2**32)
shares = some.floats(0, 1)
marks = some.lists(some.tuples(shares, some.sampled_from(get_args(MarkKind))), max_size=4)


def tokens(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(33, 126) for _ in range(count)]


@pytest.fixture(scope="module", params=["dense", "hybrid", "recurrent", "windowed"])
def edits(request: pytest.FixtureRequest) -> Iterator[Callable[[], "Edits"]]:
    path: Path = request.getfixturevalue(f"{request.param}_model")
    edited, fresh = (Runtime(path, ContextSettings(size=CONTEXT, threads=1)) for _ in range(2))
    yield lambda: Edits(edited, fresh, ROUNDING[request.param])
    edited.close()
    fresh.close()


class Edits(RuleBasedStateMachine):
    """One context that lives through edits, beside one that reads every prompt afresh."""

    def __init__(self, runtime: Runtime, fresh: Runtime, rounding: float) -> None:
        super().__init__()
        self.runtime, self.fresh, self.rounding = runtime, fresh, rounding
        self.prompt: list[int] = []
        self.other: list[int] = []
        self.settled = True

    @initialize(seed=seeds, states=some.sampled_from([0, 2, 5, 40]), size=some.integers(1, 700), at=marks)
    def begin(self, seed: int, states: int, size: int, at: list[tuple[float, MarkKind]]) -> None:
        self.runtime.abort_when(lambda: False)
        self.runtime.clear()
        self.runtime.decode([40])
        self.budget = states * len(self.runtime.save_state())
        self.restart()
        self.prompt = tokens(seed, size)
        self.other = tokens(seed + 1, 200)
        self.read(at)

    @rule(seed=seeds, count=some.integers(1, 300), at=marks)
    def append(self, seed: int, count: int, at: list[tuple[float, MarkKind]]) -> None:
        self.prompt = [*self.prompt[: LONGEST - count], *tokens(seed, count)]
        self.read(at)

    @rule(seed=seeds, share=some.floats(0, 0.3), count=some.integers(1, 300), at=marks)
    def diverge_early(self, seed: int, share: float, count: int, at: list[tuple[float, MarkKind]]) -> None:
        self.prompt = [*self.prompt[: int(len(self.prompt) * share)], *tokens(seed, count)]
        self.read(at)

    @rule(seed=seeds, back=some.integers(1, 60), count=some.integers(1, 100), at=marks)
    def diverge_late(self, seed: int, back: int, count: int, at: list[tuple[float, MarkKind]]) -> None:
        self.prompt = [*self.prompt[:-back], *tokens(seed, count)]
        self.read(at)

    @rule(share=shares, at=marks)
    def shrink(self, share: float, at: list[tuple[float, MarkKind]]) -> None:
        self.prompt = self.prompt[: max(1, int(len(self.prompt) * share))]
        self.read(at)

    @rule(at=marks)
    def read_the_same_again(self, at: list[tuple[float, MarkKind]]) -> None:
        self.read(at)

    @rule(begins_alike=shares, at=marks)
    def switch_conversation(self, begins_alike: float, at: list[tuple[float, MarkKind]]) -> None:
        """The other conversation begins as this one does, as far as their tools and prompt go."""
        alike = int(min(len(self.prompt), len(self.other)) * begins_alike)
        self.prompt, self.other = [*self.prompt[:alike], *self.other[alike:]], self.prompt
        self.read(at)

    @precondition(lambda self: self.settled)
    @rule(seed=seeds, count=some.integers(1, 40))
    def write_an_answer(self, seed: int, count: int) -> None:
        """Tokens come one by one; the next prompt may hold them or not."""
        for token in tokens(seed, count):
            self.memory.decode([token])
        self.prompt = [*self.prompt, *tokens(seed, count)]

    @rule(seed=seeds, count=some.integers(1, 500), after=some.integers(1, 200), at=marks)
    def give_up_in_the_middle(
        self, seed: int, count: int, after: int, at: list[tuple[float, MarkKind]]
    ) -> None:
        self.prompt = [*self.prompt[: LONGEST - count], *tokens(seed, count)]
        looks = iter(range(after))
        self.runtime.abort_when(lambda: next(looks, None) is None)
        try:
            self.read(at)
        except DecodeAborted:
            self.settled = False
            assert self.memory.tokens == self.prompt[: len(self.memory.tokens)]
        finally:
            self.runtime.abort_when(lambda: False)

    @rule()
    def restart(self) -> None:
        self.runtime.clear()
        self.memory = ContextMemory(self.runtime, checkpoint_bytes=self.budget)
        self.settled = False

    def read(self, at: list[tuple[float, MarkKind]]) -> None:
        self.memory.read(self.prompt, [Mark(1 + int(s * (len(self.prompt) - 1)), kind) for s, kind in at])
        self.settled = True

    @invariant()
    def logits_are_those_of_a_fresh_read(self) -> None:
        if not self.settled:
            return
        assert self.memory.tokens == self.prompt
        self.fresh.clear()
        ContextMemory(self.fresh, checkpoint_bytes=0).read(self.prompt)
        difference = self.runtime.logits() - self.fresh.logits()
        assert np.sqrt(np.mean(difference**2)) <= self.rounding

    @invariant()
    def checkpoints_stay_within_their_budget(self) -> None:
        assert self.memory.checkpoint_bytes <= self.budget


def test_whatever_is_edited_the_logits_are_those_of_a_fresh_read(edits: Callable[[], Edits]) -> None:
    run(
        edits,
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
