"""The chat's own colours: dark, quiet, and few."""

from typing import Final

from textual.theme import Theme

GOOD: Final = "#8fbf8a"
CAREFUL: Final = "#d9b56c"
AWAY: Final = "#c49bd0"
BAD: Final = "#dd7f7a"
"""What is done, what wants care, what leaves the house, what failed or destroys."""

THEME = Theme(
    name="botpsy",
    dark=True,
    primary="#7aa2c8",
    secondary="#8fa3b8",
    accent="#7fb5b0",
    foreground="#d5d9e0",
    background="#14171c",
    surface="#1a1e25",
    panel="#262c36",
    success=GOOD,
    warning=CAREFUL,
    error=BAD,
    variables={
        "input-selection-background": "#7fb5b0 30%",
        "block-cursor-background": "#2a3a44",
        "block-cursor-foreground": "#e8ebf0",
        "block-cursor-text-style": "none",
        "border": "#7fb5b0",
        "border-blurred": "#262c36",
    },
)
