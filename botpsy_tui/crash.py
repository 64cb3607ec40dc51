"""What is said when something breaks that should not: where it broke, and nothing of what it held."""

import traceback

from botpsy_tui.plugin.text import for_display


def crash_report(error: BaseException) -> str:
    """Return the places an error came through, sanitised, without the values of any variables.

    Variables may hold passwords and other people's mail, and a report is there to be passed on.
    """
    report = "".join(traceback.format_exception(error))
    return f"BotPsy broke, which is its own fault. What happened:\n\n{for_display(report)}"
