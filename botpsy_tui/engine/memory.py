"""What the context memory holds, and how to get from there to a new prompt at the least cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from botpsy_tui.engine.runtime import BATCH, DecodeAborted, Runtime


@dataclass(frozen=True)
class Checkpoint:
    """A state to go back to: the one after the first `position` tokens."""

    position: int
    state: bytes


class ContextMemory:
    """The tokens in the context, with checkpoints where memory can't be cut.

    Attention memory is cut at the point of divergence. Recurrent state can't be: it is
    restored from the last checkpoint at or before that point, after which only the tokens
    from there on are decoded.
    """

    def __init__(self, runtime: Runtime, *, checkpoint_bytes: int = 256 * 1024 * 1024) -> None:
        self._runtime = runtime
        self._budget = checkpoint_bytes
        self._checkpoints: list[Checkpoint] = []
        self.tokens: list[int] = []

    def rewind_to(self, prompt: Sequence[int]) -> int:
        """Keep the longest usable common prefix with `prompt`; return its length in tokens.

        At least the prompt's last token is left to decode, so that its logits are fresh.
        """
        common = min(common_prefix(self.tokens, prompt), len(prompt) - 1)
        if common < len(self.tokens):
            self._cut(common)
        return len(self.tokens)

    def decode(
        self,
        tokens: Sequence[int],
        *,
        marks: Sequence[int] = (),
        on_progress: Callable[[int], None] = lambda _done: None,
    ) -> None:
        """Append `tokens`, keeping a checkpoint at each of `marks` (positions in the whole context).

        Raises `DecodeAborted` with the memory back in a known state.
        """
        start = len(self.tokens)
        end = start + len(tokens)
        stops = sorted({mark for mark in marks if start < mark < end} | {end})
        done = 0
        for stop in stops:
            while done < stop - start:
                batch = list(tokens[done : min(done + BATCH, stop - start)])
                self._decode_batch(batch)
                done += len(batch)
                on_progress(done)
            if stop in marks:
                self._keep_checkpoint()

    def clear(self) -> None:
        """Forget everything but what can be made again."""
        self._runtime.clear()
        self.tokens.clear()
        self._checkpoints.clear()

    def _decode_batch(self, batch: list[int]) -> None:
        before = len(self.tokens)
        try:
            self._runtime.decode(batch)
        except DecodeAborted:
            # A part of the batch may be in the memory already.
            self.tokens.extend(batch)
            self._cut(before)
            raise
        except BaseException:
            self.clear()
            raise
        self.tokens.extend(batch)

    def _cut(self, position: int) -> None:
        """Make the memory hold a prefix of at most `position` tokens."""
        if self._runtime.memory_can_be_cut and self._runtime.cut(position):
            del self.tokens[position:]
            return
        while self._checkpoints and self._checkpoints[-1].position > position:
            self._checkpoints.pop()
        for checkpoint in reversed(self._checkpoints):
            if self._runtime.restore_partial_state(checkpoint.state) and self._runtime.cut(
                checkpoint.position
            ):
                del self.tokens[checkpoint.position :]
                return
        self.clear()

    def _keep_checkpoint(self) -> None:
        if self._runtime.memory_can_be_cut:
            return
        position = len(self.tokens)
        if self._checkpoints and self._checkpoints[-1].position >= position:
            return
        self._checkpoints.append(Checkpoint(position, self._runtime.save_partial_state()))
        # The first stands after the constant prefix, where every new conversation diverges.
        while len(self._checkpoints) > 2 and sum(len(c.state) for c in self._checkpoints) > self._budget:
            del self._checkpoints[1]


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens `a` and `b` begin with alike."""
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length
