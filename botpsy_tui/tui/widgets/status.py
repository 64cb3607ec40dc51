"""The line at the bottom: which model, what it is doing, what it costs."""

from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from botpsy_tui.engine.types import ModelInfo, Statistics
from botpsy_tui.plugin import for_display_line


class StatusLine(Static):
    """Model, state, speed, context."""

    state: reactive[str] = reactive("")
    waiting: reactive[bool] = reactive(False)

    def __init__(self) -> None:
        super().__init__(id="status", markup=False)
        self._model = ""
        self._cost = ""
        self._left_out = ""

    def show_model(self, info: ModelInfo) -> None:
        """Name the loaded model."""
        where = f"at {info.endpoint}" if info.endpoint else info.quantisation
        self._model = " · ".join([info.name, where, *(f"+ {adapter}" for adapter in info.adapters)])
        self._redraw()

    def show_trimmed(self, left: int) -> None:
        """Tell how many older turns the model no longer sees; 0 is told as nothing."""
        self._left_out = f"{left} older {'turn' if left == 1 else 'turns'} left out" if left else ""
        self._redraw()

    def show_statistics(self, statistics: Statistics) -> None:
        """Show what the last step cost; one that was stopped has told nothing, and changes nothing."""
        if statistics == Statistics():
            return
        self._cost = (
            f"{statistics.tokens_per_second:.0f} tok/s · {statistics.decoded_tokens} new tokens read"
            f" · context {statistics.context_used:,}/{statistics.context_size:,}"
        )
        self._redraw()

    def watch_state(self) -> None:
        """Draw anew."""
        self._redraw()

    def watch_waiting(self) -> None:
        """Draw anew."""
        self._redraw()

    def _redraw(self) -> None:
        parts = Text(no_wrap=True, overflow="ellipsis")
        if self.waiting:
            parts.append("a call waits: Ctrl+G ", style="bold reverse")
            parts.append(" ")
        parts.append(
            " · ".join(
                for_display_line(part)
                for part in (self.state, self._cost, self._left_out, self._model)
                if part
            )
        )
        self.update(parts)
