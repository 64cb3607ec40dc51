"""What a pull tells the one who waits for it: its progress, and what went wrong in one sentence."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["looking up", "downloading", "joining", "verifying"]


@dataclass(frozen=True)
class Progress:
    """How far a pull is: `done` of `total` bytes (both 0 where nothing is counted)."""

    stage: Stage
    done: int
    total: int
    detail: str


OnProgress = Callable[[Progress], None]


class ModelProblem(Exception):
    """A model can't be had or used; the message is one sentence: what is wrong, what to do."""


class HubUnreachable(ModelProblem):
    """The model hub doesn't answer; the starter may still be had."""


class PullCancelled(ModelProblem):
    """The person stopped the download; what has been fetched is kept."""

    def __init__(self) -> None:
        super().__init__(
            "The download was stopped; what was fetched is kept, and the same command goes on from there."
        )


def check_cancelled(cancelled: threading.Event | None) -> None:
    """Raise `PullCancelled` where `cancelled` is set."""
    if cancelled is not None and cancelled.is_set():
        raise PullCancelled


def size_text(size: int) -> str:
    """Return a size in bytes as people read it: ``1.12 GB``, ``48 MB``, ``3 kB`` (powers of 1000)."""
    if size >= 1_000_000_000:
        return f"{size / 1e9:.2f} GB"
    if size >= 1_000_000:
        return f"{size / 1e6:.0f} MB"
    return f"{-(-size // 1000)} kB"
