"""``python -m botpsy_tui``: the same as the command ``botpsy``."""

from botpsy_tui.cli import main

main()
