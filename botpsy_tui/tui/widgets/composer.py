"""Where the person writes: several lines, a history, and a paste that never sends."""

import time
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from botpsy_tui.plugin import for_display
from botpsy_tui.tui.history import History


class Composer(TextArea):
    """The input of the chat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+j,shift+enter", "newline", "New line", show=False, tooltip="Begin a new line"),
        Binding("enter", "send", "Send", tooltip="Send what you wrote"),
    ]

    @dataclass
    class Sent(Message):
        """The person has sent these words."""

        words: str

    def __init__(self, history: History) -> None:
        super().__init__(soft_wrap=True, show_line_numbers=False, id="composer", tab_behavior="focus")
        self._history = history
        self.last_key_at = -1000.0
        """When a key last came, by the monotonic clock."""
        self.placeholder = "What shall I do?"

    def action_newline(self) -> None:
        """Begin a new line."""
        self.insert("\n")

    def action_send(self) -> None:
        """Send the words; nothing where there are none."""
        words = self.text.strip()
        if words:
            self.clear()
            self._history.add(words)
            self.post_message(self.Sent(words))

    def on_key(self, event: events.Key) -> None:
        """Note the time; send; walk through the history at the first and the last line."""
        self.last_key_at = time.monotonic()
        if event.key == "enter":
            # Not by a priority binding: that would overtake the keys before it in the queue.
            event.prevent_default()
            event.stop()
            self.action_send()
        elif event.key == "up" and self.cursor_location[0] == 0:
            self._show(self._history.earlier(self.text), event)
        elif event.key == "down" and self.cursor_location[0] == self.document.line_count - 1:
            self._show(self._history.later(), event)

    def on_paste(self) -> None:
        """A paste is typing too."""
        self.last_key_at = time.monotonic()

    def _show(self, words: str | None, event: events.Key) -> None:
        if words is not None:
            event.prevent_default()
            event.stop()
            self.text = for_display(words)
            self.move_cursor(self.document.end)
