"""A pull on a terminal: one bar on standard error, and Ctrl+C that stops it tidily."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

from botpsy_tui.models.store import InstalledModel, ModelStore
from botpsy_tui.models.types import OnProgress, Progress
from botpsy_tui.plugin.text import for_display


def pull_with_bar(store: ModelStore, spec: str) -> InstalledModel:
    """Pull `spec`, showing how far it is; Ctrl+C raises `PullCancelled`. Raises like `ModelStore.pull`."""
    cancelled = threading.Event()

    def stop_once() -> None:
        if cancelled.is_set():  # the second time there is no waiting
            raise KeyboardInterrupt
        cancelled.set()

    show = _bar if sys.stderr.isatty() else _lines
    with interruptible(stop_once), show() as on_progress:
        return store.pull(spec, on_progress, cancelled)


@contextlib.contextmanager
def interruptible(on_interrupt: Callable[[], None] | None = None) -> Generator[None]:
    """Let Ctrl+C call `on_interrupt`, or raise `KeyboardInterrupt`, also inside a running event loop.

    asyncio's own handler would only cancel the task, which a blocking call never notices.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if on_interrupt is None:
            raise KeyboardInterrupt
        on_interrupt()

    before: Any = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _bar() -> Generator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True, markup=False, highlight=False)
    columns = (
        TextColumn("{task.description:<11}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=console, transient=True) as bar:
        task = None
        stage = ""

        def on_progress(progress: Progress) -> None:
            nonlocal task, stage
            if not progress.total:
                console.print(f"{progress.stage}: {for_display(progress.detail)}")
                return
            if task is None or stage != progress.stage:
                if task is not None:
                    bar.remove_task(task)
                task, stage = bar.add_task(progress.stage, total=progress.total), progress.stage
            bar.update(task, completed=progress.done, total=progress.total)

        yield on_progress


@contextlib.contextmanager
def _lines() -> Generator[OnProgress]:
    """For a log or a pipe: a line at each stage, and at each tenth of it."""
    shown = ("", -1)

    def on_progress(progress: Progress) -> None:
        nonlocal shown
        if not progress.total:
            print(f"{progress.stage}: {for_display(progress.detail)}", file=sys.stderr, flush=True)
            return
        now = (progress.stage, 10 * progress.done // progress.total)
        if now != shown:
            shown = now
            print(f"{progress.stage}: {10 * now[1]} %", file=sys.stderr, flush=True)

    yield on_progress
