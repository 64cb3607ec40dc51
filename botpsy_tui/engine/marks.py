"""Where in a prompt later prompts are likely to diverge from it."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from botpsy_tui.engine.checkpoints import Mark
from botpsy_tui.engine.template import RenderedPrompt


def marks_of(rendered: RenderedPrompt) -> list[Mark]:
    """Return the places of `rendered` that are worth a checkpoint, in characters of its text."""
    return [
        Mark(rendered.constant, "prefix"),
        *(Mark(begin, "user") for begin in rendered.persons),
        Mark(rendered.next_step, "step"),
        Mark(rendered.next_turn, "turn"),
    ]


def marks_ahead(rendered: RenderedPrompt) -> list[Mark]:
    """Return the places of a prompt whose last message stands for what the person will say.

    The next prompt diverges where that message begins, and so will the one after a turn that is undone.
    """
    *earlier, coming = rendered.persons or (rendered.constant,)
    return [
        Mark(rendered.constant, "prefix"),
        *(Mark(begin, "user") for begin in earlier),
        Mark(coming, "turn"),
    ]


def placed(
    marks: Sequence[Mark], text: str, prompt: Sequence[int], piece: Callable[[int], bytes], *, last: int
) -> list[Mark]:
    """Return `marks`, in characters of `text`, as positions in its tokens `prompt`.

    `piece` gives a token's bytes. A place inside a token is the place before it, and none is after `last`.
    """
    ends = list(accumulate(len(piece(token)) for token in prompt))
    # Some tokenizers put a space in front.
    extra = ends[-1] - len(text.encode()) if ends else 0

    def position(mark: Mark) -> int:
        return bisect_right(ends, len(text[: mark.position].encode()) + extra)

    return [Mark(min(at, last), mark.kind) for mark in marks if (at := position(mark)) > 0]
