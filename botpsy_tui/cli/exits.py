"""Exit codes, the same for every command, and the one way a command ends with a sentence."""

from enum import IntEnum
from typing import NoReturn

import typer

from botpsy_tui.cli.output import say


class Exit(IntEnum):
    """What a command's exit status means."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    APPROVAL_NEEDED = 3
    NO_MODEL = 4
    ACCOUNT = 5
    INTERRUPTED = 130


def stop(problem: str, code: Exit = Exit.FAILED) -> NoReturn:
    """Say what is wrong on standard error, in one sentence, and end the command."""
    say(f"botpsy: {problem}", err=True)
    raise typer.Exit(int(code))
