"""Reads calls that are written as JSON objects: ``{"name": …, "arguments": {…}}``, one or several."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from botpsy_tui.engine.dialects.literals import read_whole
from botpsy_tui.engine.dialects.stream import Reading
from botpsy_tui.engine.dialects.values import read_json
from botpsy_tui.engine.types import ToolCall

_BETWEEN = ",[]"
_MOST_BRACES_FORGOTTEN = 2
_NAME = re.compile(r'"name"\s*:\s*"([^"]*)"')


def read_json_call(
    text: str, closer: str, *, ended: bool, goes_on: bool, names: Collection[str] | None = None
) -> Reading | None:
    """Read one object of a list that `closer` ends; see `StreamParser.read_call`.

    With `names`, an object that calls none of these is no call, and neither is what it stands in.
    """
    at = 0
    while at < len(text) and (text[at].isspace() or text[at] in _BETWEEN):
        at += 1
    rest = text[at:]
    if rest.startswith(closer):
        is_text = names is not None and not goes_on
        return Reading(is_text=True) if is_text else Reading(length=at + len(closer))
    if closer.startswith(rest):
        return Reading(length=len(text)) if ended and goes_on else None
    if rest[0] != "{":
        return Reading(length=at) if goes_on else Reading(is_text=names is not None)
    end = _object_end(rest)
    closed_at = rest.find("\n" + closer)
    if closed_at >= 0 and (end is None or end > closed_at):
        call = _mended(rest[:closed_at])
        end = closed_at
    elif end is None:
        named = _NAME.search(rest)
        is_text = ended and names is not None and not (named and named[1] in names)
        return Reading(is_text=True) if is_text and not goes_on else None
    else:
        call = _call(rest[:end])
    if call is not None and (names is None or call.name in names):
        return Reading((call,), at + end, goes_on=True)
    if names is not None and not goes_on:
        return Reading(is_text=True)
    return Reading(length=at + end, goes_on=True, broken=True)


def _mended(text: str) -> ToolCall | None:
    """Return a call that is closed but for its last braces, which small models miscount."""
    for count in range(1, _MOST_BRACES_FORGOTTEN + 1):
        if (call := _call(text + "}" * count)) is not None:
            return call
    return None


def _call(text: str) -> ToolCall | None:
    try:
        value = _object(text)
        if isinstance(value.get("function"), Mapping):
            value = value["function"]
        arguments: Any = value.get("arguments", value.get("parameters"))
        if isinstance(arguments, str):
            arguments = read_json(arguments)
    except ValueError:
        return None
    name = value.get("name") or value.get("function")
    if arguments is None:
        arguments = {}
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return ToolCall(name, arguments)  # pyright: ignore[reportUnknownArgumentType]


def _object(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return read_whole(text)  # Python's quotes and constants, as some models write them


def _object_end(text: str) -> int | None:
    """Return the length of the JSON object that `text` begins with, or None where it does not end."""
    depth, in_string, escaped = 0, False, False
    for at, character in enumerate(text):
        if escaped:
            escaped = False
        elif in_string:
            if character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return at + 1
    return None
