"""The Textual app: thin, it opens the screens and closes the house."""
# pyright: reportUnknownMemberType=false
# (Textual leaves the type argument of `app` open.)

import os
import sys
from typing import Any, ClassVar

from rich.segment import Segments
from rich.text import Text
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType

from botpsy_tui.attention import Attention
from botpsy_tui.crash import crash_report
from botpsy_tui.plugin import for_display
from botpsy_tui.tui.ports import House
from botpsy_tui.tui.screens.chat import ChatScreen
from botpsy_tui.tui.screens.first_run import FirstRunScreen
from botpsy_tui.tui.theme import THEME


class BotPsyApp(App[None]):
    """The chat."""

    TITLE = "BotPsy"
    CSS_PATH = "chat.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", tooltip="End BotPsy", priority=True, system=True),
        Binding("f1", "help", "Keys", tooltip="Show all keys"),
    ]

    def __init__(self, house: House) -> None:
        super().__init__()
        self.house = house
        self._attention = Attention(house.notice_settings, os.environ)

    def on_mount(self) -> None:
        """Open the chat, or the choice of a model where there is none."""
        self.register_theme(THEME)
        self.theme = THEME.name
        if self.house.installed_model() is None:
            self.push_screen(FirstRunScreen(self.house), self._after_first_run)
        else:
            self.push_screen(ChatScreen(self.house))

    def _after_first_run(self, ready: bool | None) -> None:
        if ready:
            self.push_screen(ChatScreen(self.house))
        else:
            self.exit()

    def on_chat_screen_waits(self, event: ChatScreen.Waits) -> None:
        """Call the person, also where their window is another one; or stop calling."""
        self._write(
            self._attention.waiting(looked_at=self.app_focus) if event.begun else self._attention.done()
        )

    def _write(self, sequences: str) -> None:
        if sequences and self._driver is not None and not self.is_headless:
            self._driver.write(sequences)

    async def on_unmount(self) -> None:
        """Give the window its title back; close the house, also where the chat was never reached."""
        self._write(self._attention.done())
        await self.house.close()

    async def on_event(self, event: events.Event) -> None:
        """Show what is hidden in a paste, whichever field takes it: what is sent is what is seen."""
        if isinstance(event, events.Paste):
            # Terminals send a line end as CR.
            event.text = for_display(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        await super().on_event(event)

    def _fatal_error(self) -> None:
        """Leave with a report; Textual's own would print what every variable held, passwords too."""
        error = sys.exc_info()[1]
        report = Text(crash_report(error) if error else "BotPsy broke, which is its own fault.")
        self.bell()
        self._exit_renderables.append(Segments(self.console.render(report, self.console.options)))
        self._close_messages_no_wait()

    def action_help(self) -> None:
        """Show or hide the panel of keys."""
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def action_suspend_process(self) -> None:
        """Ctrl+Z would leave threads and terminal in disorder: it does nothing."""

    def get_system_commands(self, screen: Any) -> Any:
        """Add the chat's own commands to the palette."""
        yield from (c for c in super().get_system_commands(screen) if c.title not in ("Quit", "Screenshot"))
        if isinstance(screen, ChatScreen):
            yield from screen.palette_commands()


def run(house: House) -> int:
    """Open the chat and stay until it is left; return an exit code."""
    app = BotPsyApp(house)
    app.run()
    return app.return_code or 0
