"""Where in a prompt's tokens later prompts are likely to diverge from it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from botpsy_tui.engine.checkpoints import Mark
from botpsy_tui.engine.template import RenderedPrompt


def marks_of(
    rendered: RenderedPrompt, prompt: Sequence[int], piece: Callable[[int], bytes], *, person_spoke: bool
) -> list[Mark]:
    """Return the places of `rendered` that are worth a checkpoint, as positions in its tokens `prompt`.

    `piece` gives a token's bytes; `person_spoke` says whether the last message is the person's.
    A place inside a token is the place before it.
    """
    ends = list(accumulate(len(piece(token)) for token in prompt))
    # Some tokenizers put a space in front.
    extra = ends[-1] - len(rendered.text.encode()) if ends else 0

    def position(offset: int) -> int:
        return bisect_right(ends, len(rendered.text[:offset].encode()) + extra)

    marks = [
        Mark(position(rendered.constant), "prefix"),
        *(Mark(position(begin), "user") for begin in rendered.persons),
        Mark(position(rendered.history), "turn" if person_spoke else "step"),
        Mark(len(prompt), "step"),
    ]
    return [mark for mark in marks if mark.position > 0]
