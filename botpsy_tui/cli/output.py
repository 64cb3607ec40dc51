"""The command line's one way to write: nothing reaches the terminal but through the sanitiser."""

import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import typer

from botpsy_tui.plugin.text import DisplayStream, for_display, for_display_line


def say(text: str = "", *, err: bool = False, colour: str | None = None) -> None:
    """Write lines, sanitised, to standard output or standard error."""
    typer.secho(for_display(text), err=err, fg=colour)


def say_row(label: str, value: str, *, indent: int = 2, width: int = 0, err: bool = False) -> None:
    """Write a label and its value, the value in a column of its own.

    Every line of the value, also one that is too long for the terminal, begins in that column:
    no value can draw what looks like the next label.
    """
    label = for_display_line(label)
    column = indent + max(width, len(label)) + 2
    lines = _folded(for_display(value), max(20, shutil.get_terminal_size().columns - column))
    typer.echo(" " * indent + label.ljust(column - indent) + ("\n" + " " * column).join(lines), err=err)


def say_badge(badge: str, colour: str, text: str) -> None:
    """Write a coloured word and one line to standard error."""
    typer.echo(
        f"  {typer.style(f' {for_display_line(badge)} ', fg=colour, reverse=True)} ", nl=False, err=True
    )
    typer.echo(for_display_line(text), err=True)


def say_json(value: Any, *, indent: int | None = None) -> None:
    """Write a value as JSON to standard output, losing nothing: what a terminal might act on is escaped."""
    typer.echo(json_text(value, indent=indent))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return a value as JSON (RFC 8259), safe to print: hidden characters are written as escapes."""
    text = json.dumps(value, ensure_ascii=False, default=str, indent=indent)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(c if c == "\n" or for_display(c) == c else _escaped(c) for c in text)


class Stream:
    """Writes an answer to standard output as it comes."""

    def __init__(self) -> None:
        self._stream: DisplayStream | None = None

    def write(self, text: str) -> None:
        """Write one more piece."""
        self._stream = self._stream or DisplayStream()
        sys.stdout.write(self._stream.add(text))
        sys.stdout.flush()

    def end(self) -> None:
        """End the line, where one was begun."""
        if self._stream is not None:
            sys.stdout.write(self._stream.add("", last=True) + "\n")
            sys.stdout.flush()
            self._stream = None


def show_prompt(text: str) -> None:
    """Write a question to standard error; the answer is typed behind it."""
    sys.stderr.write(for_display(text))
    sys.stderr.flush()


def rewrite_line(text: str) -> None:
    """Write one line to standard error over the one that was written like this before."""
    sys.stderr.write(f"\r{for_display_line(text)}\x1b[K")
    sys.stderr.flush()


def show_sequences(sequences: str) -> None:
    """Write control sequences of our own making to standard error; no word from outside may be in them."""
    sys.stderr.write(sequences)
    sys.stderr.flush()


def never_fail_to_write() -> None:
    """Let a terminal without Unicode show escapes instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _folded(text: str, width: int) -> list[str]:
    """Return the lines of `text`, none wider than `width` cells, broken at a blank where there is one."""
    return [part for line in text.split("\n") for part in _parts(line.expandtabs(4), width)]


def _parts(line: str, width: int) -> Iterator[str]:
    from rich.cells import chop_cells

    most = 8 * width  # more than fits, also where each letter carries marks
    while len(pieces := chop_cells(line[:most], width)) > 1 or len(line) > most:
        cut = pieces[0].rfind(" ") + 1 or len(pieces[0])
        yield line[:cut]
        line = line[cut:]
    yield line


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1]
