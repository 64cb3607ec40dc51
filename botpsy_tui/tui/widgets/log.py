"""The conversation: a window of the last messages, kept at the bottom while one reads there."""

from textual.containers import VerticalScroll
from textual.widget import Widget

MOST_MOUNTED = 60
"""Older messages leave the screen: the number of widgets is what makes a chat slow."""

WAITING = "-waiting"
"""The class of a message whose turn has not come; what happens before stands above it."""


class ConversationLog(VerticalScroll, can_focus=False):
    """The messages of the conversation, oldest first."""

    async def add(self, widget: Widget) -> None:
        """Show a message at the end."""
        waiting = next((child for child in self.children if child.has_class(WAITING)), None)
        await self.mount(widget, before=None if widget.has_class(WAITING) else waiting)
        surplus = len(self.children) - MOST_MOUNTED
        for old in list(self.children)[: max(surplus, 0)]:
            if old is not widget:
                await old.remove()
        self.follow()

    def follow(self) -> None:
        """Stay at the end, unless the person has scrolled up."""
        # The anchor is lost when one scrolls away and back, so it is set again at the bottom.
        if self.max_scroll_y - self.scroll_y <= 2:
            self.anchor()
