"""Takes personal fields out of an example, each replaced by the same stand-in wherever it comes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import getaddresses
from typing import Any

from botpsy_tui.engine.types import Message, ToolCall
from botpsy_tui.journal import hide_secrets
from botpsy_tui.training.examples import Example

_EMAIL = re.compile(r"[\w.+'-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"(?<![\w.:/-])(?!\d{4}-\d{2}-\d{2})(?:\+\d|\(?0|\(\d)[\d ()./-]{6,}\d(?![\w:-])")
_NAME_SEPARATORS = re.compile(r"\s*(?:,|;|&|\band\b|\bund\b)\s*")
_NOT_A_NAME = frozenset(["me", "my", "us", "the", "a", "an", "and", "with", "everyone", "all", "team"])


def without_secrets(example: Example) -> Example:
    """Replace what looks like a password, a key or a token; this is always done."""

    return _changed(example, hide_secrets)


def masked(example: Example) -> Example:
    """Replace mail addresses, phone numbers and the names of people whom the calls were about.

    The same address becomes the same stand-in all through the example, so that an argument stays
    a span of the person's words. A stand-in for an address is a valid address.
    """
    emails, phones, names = (
        _Standins("person{}@example.com"),
        _Standins("+1555010{:04}"),
        _Standins("Person{}"),
    )
    known = _names_of(example)
    pattern = _any_of(known)

    def mask(text: str) -> str:
        text = _EMAIL.sub(lambda found: emails.of(found[0].lower()), text)
        text = _PHONE.sub(lambda found: phones.of(re.sub(r"\D", "", found[0])), text)
        if pattern is not None:
            text = pattern.sub(lambda found: names.of(known[found[0].lower()]), text)
        return text

    return _changed(example, mask)


class _Standins:
    """Numbers what it is shown, the same thing always the same."""

    def __init__(self, form: str) -> None:
        self._form = form
        self._numbers: dict[str, int] = {}

    def of(self, thing: str) -> str:
        return self._form.format(self._numbers.setdefault(thing, len(self._numbers) + 1))


def _names_of(example: Example) -> dict[str, str]:
    """Return names in lower case, and whom each means: a part of a name means the one who bears it."""
    known: dict[str, str] = {}
    for given in example.people:
        shown = [name or "" if "@" in address else given for name, address in getaddresses([given])]
        for name in (part for text in shown or [given] for part in _NAME_SEPARATORS.split(text)):
            name = _EMAIL.sub("", name).strip(" <>\"'()")
            if not name or not re.search(r"[^\W\d_]", name):
                continue
            known.setdefault(name.lower(), name.lower())
            for part in name.split():
                if len(part) > 1 and part.lower() not in _NOT_A_NAME:
                    known.setdefault(part.lower(), name.lower())
    return {name: whose for name, whose in known.items() if name not in _NOT_A_NAME}


def _any_of(names: Mapping[str, str]) -> "re.Pattern[str] | None":
    if not names:
        return None
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE)


def _changed(example: Example, change: Callable[[str], str]) -> Example:
    def deep(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, Mapping):
            return {key: deep(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list | tuple):
            return [deep(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        return value

    def message(one: Message) -> Message:
        calls = tuple(ToolCall(call.name, deep(call.arguments)) for call in one.tool_calls)
        return replace(one, content=change(one.content), tool_calls=calls)

    return replace(example, messages=tuple(map(message, example.messages)))
