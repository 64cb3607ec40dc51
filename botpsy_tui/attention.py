"""Calls the person back while a decision waits: bell, desktop notification, window title.

Nothing of the call is in it, only words of our own: what is written here is not sanitised, and is read
by whoever looks at the screen.
"""

from collections.abc import Mapping

from botpsy_tui.config import NoticeSettings

_BELL = "\x07"
_DESKTOP = "\x1b]9;BotPsy waits for your decision\x1b\\"
"""OSC 9, as iTerm2, kitty, WezTerm, foot and Ghostty know it; others ignore it."""
_TITLE = "\x1b[22;2t\x1b]2;● BotPsy waits for you\x1b\\"
_TITLE_BACK = "\x1b]2;BotPsy\x1b\\\x1b[23;2t"
"""Titles are put on the terminal's own stack and taken back from it (xterm control sequences, XTWINOPS).

One that has no such stack is left with the last title, the program's name.
"""
_KNOW_NO_TITLES = frozenset(("", "dumb", "linux", "vt100", "vt220"))


class Attention:
    """What to write to the terminal as decisions begin and cease to wait."""

    def __init__(self, settings: NoticeSettings, environment: Mapping[str, str]) -> None:
        """Follow the settings, and the environment's ``TERM``."""
        self._settings = settings
        self._plain = environment.get("TERM", "") in _KNOW_NO_TITLES
        self._titled = False

    def waiting(self, *, looked_at: bool) -> str:
        """Return what calls the person to one more decision; no notification where they look at it."""
        called = _BELL if self._settings.bell else ""
        if self._plain:
            return called
        if self._settings.desktop and not looked_at:
            called += _DESKTOP
        if self._settings.title and not self._titled:
            self._titled = True
            called += _TITLE
        return called

    def done(self) -> str:
        """Return what gives the window its title back, once nothing waits any more."""
        titled, self._titled = self._titled, False
        return _TITLE_BACK if titled else ""
