"""The chat's own colours: dark, quiet, and few."""

from textual.theme import Theme

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
    success="#8fbf8a",
    warning="#d9b56c",
    error="#dd7f7a",
    variables={
        "input-selection-background": "#7fb5b0 30%",
        "block-cursor-background": "#2a3a44",
        "block-cursor-foreground": "#e8ebf0",
        "block-cursor-text-style": "none",
        "border": "#7fb5b0",
        "border-blurred": "#262c36",
    },
)
