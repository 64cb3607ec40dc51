"""States to go back to, as many as a budget of bytes allows; the least useful goes first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from botpsy_tui.engine.runtime import State

MarkKind: TypeAlias = Literal["prefix", "turn", "step", "user", "inside"]
"""Why later prompts may diverge at a place:

- ``prefix``: the constant part ends here; every new conversation, and every cut one, goes on from it.
- ``turn``: the next turn will go on from here. Some templates render an answer differently once it is
  history (Qwen3.5 drops its reasoning).
- ``step``: the next step of the turn will go on from here, where the call that is rendered differs from
  the one that was written.
- ``user``: a message of the person begins here; it may be edited.
- ``inside``: nothing begins here, but going back farther would cost a lot.
"""

_CHANCE: dict[MarkKind, float] = {"prefix": 1.0, "turn": 1.0, "step": 0.5, "user": 1 / 64, "inside": 1 / 64}
_CHANCE_A_TURN_EARLIER = 1 / 64


@dataclass(frozen=True)
class Mark:
    """A place in a prompt, after `position` tokens, that is worth a checkpoint."""

    position: int
    kind: MarkKind


@dataclass(frozen=True)
class Checkpoint:
    """The state after the first `position` tokens of the context."""

    position: int
    kind: MarkKind
    state: State


class CheckpointRing:
    """The checkpoints of one context, in the order of their positions.

    Useful is what saves many tokens, is likely to be needed, and is small: the tokens that would have to
    be read again if this one alone were missing, times the chance that the next prompt diverges right
    after it, per byte. The chances are those of `MarkKind`, and many times less for every turn that
    has begun since. The prefix is the last to go.
    """

    def __init__(self, budget: int) -> None:
        """Hold at most `budget` bytes."""
        self.budget = budget
        self._checkpoints: list[Checkpoint] = []
        self._turns: list[int] = []

    def __iter__(self) -> Iterator[Checkpoint]:
        return iter(self._checkpoints)

    @property
    def size(self) -> int:
        """Bytes of all states."""
        return sum(len(checkpoint.state) for checkpoint in self._checkpoints)

    def position(self) -> int:
        """Return where the last checkpoint stands, 0 without one."""
        return self._checkpoints[-1].position if self._checkpoints else 0

    def begin_step(self) -> None:
        """A new prompt is read: where the last one ended has had its use."""
        self._checkpoints = [c for c in self._checkpoints if c.kind != "step"]

    def forget_after(self, position: int) -> None:
        """Drop what stands after `position`: the context diverges there."""
        self._checkpoints = [c for c in self._checkpoints if c.position <= position]
        self._turns = [turn for turn in self._turns if turn <= position]

    def clear(self) -> None:
        """Drop all."""
        self._checkpoints.clear()
        self._turns.clear()

    def rename(self, mark: Mark) -> bool:
        """Say what the checkpoint at the mark's position is for now; False where there is none."""
        self._note(mark)
        for i, checkpoint in enumerate(self._checkpoints):
            if checkpoint.position == mark.position:
                self._checkpoints[i] = replace(checkpoint, kind=mark.kind)
                return True
        return False

    def add(self, mark: Mark, state: State) -> None:
        """Keep `state`, which stands after all others, and drop what the budget does not allow."""
        self._note(mark)
        self._checkpoints.append(Checkpoint(mark.position, mark.kind, state))
        while self._checkpoints and self.size > self.budget:
            i = min(range(len(self._checkpoints)), key=self._usefulness)
            del self._checkpoints[i]

    def _note(self, mark: Mark) -> None:
        self._turns = [turn for turn in self._turns if turn != mark.position]
        if mark.kind == "turn":
            self._turns.append(mark.position)

    def _usefulness(self, i: int) -> float:
        checkpoint = self._checkpoints[i]
        if checkpoint.kind == "prefix":
            return float("inf")
        saved = checkpoint.position - (self._checkpoints[i - 1].position if i else 0)
        turns_since = sum(turn > checkpoint.position for turn in self._turns)
        chance = _CHANCE[checkpoint.kind] * _CHANCE_A_TURN_EARLIER**turns_since
        return chance * saved / len(checkpoint.state)


def weightiest(marks: Sequence[Mark]) -> dict[int, Mark]:
    """Return the marks by position; where two fall together, the one with the greater chance."""
    best: dict[int, Mark] = {}
    for mark in sorted(marks, key=lambda mark: (_CHANCE[mark.kind], mark.kind == "prefix")):
        best[mark.position] = mark
    return best
