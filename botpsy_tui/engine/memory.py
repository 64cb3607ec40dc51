"""What the context memory holds, and how to get from there to a new prompt at the least cost."""

from collections.abc import Callable, Sequence

from botpsy_tui.engine.checkpoints import CheckpointRing, Mark, weightiest
from botpsy_tui.engine.runtime import BATCH, DecodeAborted, Runtime
from botpsy_tui.engine.types import CHECKPOINT_BYTES

SPACING = 512
"""Tokens between checkpoints inside a long prompt."""


class ContextMemory:
    """The tokens in the context, with checkpoints where memory can't be cut.

    Attention memory is cut at the point of divergence. Recurrent state can't be, and layers
    with a window have forgotten what lay before it: they are restored from the last checkpoint
    at or before that point, after which only the tokens from there on are decoded.
    """

    def __init__(self, runtime: Runtime, *, checkpoint_bytes: int = CHECKPOINT_BYTES) -> None:
        self._runtime = runtime
        self._checkpoints = CheckpointRing(0 if runtime.memory_can_be_cut else checkpoint_bytes)
        self.tokens: list[int] = []

    def read(
        self,
        prompt: Sequence[int],
        marks: Sequence[Mark] = (),
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> int:
        """Bring the context to `prompt` and compute its last token's logits.

        Checkpoints are kept at `marks`, and every `SPACING` tokens. `on_progress` is told how many
        of how many new tokens are decoded. Returns how many tokens of the prompt were there already.
        Raises `DecodeAborted` with the memory in a known state.
        """
        kept = self._rewind_to(prompt)
        self._checkpoints.begin_step()
        by_position = weightiest(marks)
        if kept in by_position and kept > 0:
            self._keep_checkpoint(by_position[kept])
        last = self._checkpoints.position()
        end = len(prompt)
        for stop in sorted({p for p in by_position if kept < p < end} | {end}):
            while len(self.tokens) < stop:
                at = len(self.tokens)
                self._decode_batch(prompt[at : min(at + BATCH, stop)])
                on_progress(len(self.tokens) - kept, end - kept)
                if stop - len(self.tokens) > BATCH and len(self.tokens) - last >= SPACING:
                    last = len(self.tokens)
                    self._keep_checkpoint(Mark(last, "inside"))
            if stop in by_position:
                last = stop
                self._keep_checkpoint(by_position[stop])
        return kept

    def decode(self, tokens: Sequence[int]) -> None:
        """Append what the model has written. Raises `DecodeAborted` with the memory in a known state."""
        for start in range(0, len(tokens), BATCH):
            self._decode_batch(tokens[start : start + BATCH])

    def _rewind_to(self, prompt: Sequence[int]) -> int:
        """Keep the longest usable common prefix with `prompt`; return its length in tokens.

        At least the prompt's last token is left to decode, so that its logits are fresh.
        """
        common = min(common_prefix(self.tokens, prompt), len(prompt) - 1)
        if common < len(self.tokens):
            self._cut(common)
        return len(self.tokens)

    def clear(self) -> None:
        """Forget everything."""
        self._runtime.clear()
        self.tokens.clear()
        self._checkpoints.clear()

    @property
    def checkpoint_bytes(self) -> int:
        """What the checkpoints take."""
        return self._checkpoints.size

    def _decode_batch(self, batch: Sequence[int]) -> None:
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
        self._checkpoints.forget_after(position)
        if self._runtime.cut(position):
            del self.tokens[position:]
            return
        for checkpoint in reversed([*self._checkpoints]):
            if self._runtime.restore_state(checkpoint.state) and self._runtime.cut(checkpoint.position):
                del self.tokens[checkpoint.position :]
                self._checkpoints.forget_after(checkpoint.position)
                return
        self.clear()

    def _keep_checkpoint(self, mark: Mark) -> None:
        if self._checkpoints.budget and not self._checkpoints.rename(mark):
            self._checkpoints.add(mark, self._runtime.save_state())


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens `a` and `b` begin with alike."""
    length = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        length += 1
    return length
