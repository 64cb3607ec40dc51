"""The command line: ``botpsy``. It never imports textual; the chat is loaded only when it is opened."""

from botpsy_tui.cli.main import main

__all__ = ["main"]
