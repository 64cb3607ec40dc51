"""The chat in the terminal, built with Textual."""

from botpsy_tui.tui.app import BotPsyApp, run

__all__ = ["BotPsyApp", "run"]
