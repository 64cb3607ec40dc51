"""One condition on one value of a call. Total: any JSON value is taken, and what does not fit is no match."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from botpsy_tui.approval.policy.shell import argv_fits, argv_of
from botpsy_tui.plugin import Json


@dataclass(frozen=True)
class Matcher:
    """A condition: its kind, one of `KINDS`, and what it compares with."""

    kind: str
    operand: Any

    def fits(self, value: Json) -> bool:
        """Return whether one value, no list, meets the condition."""
        return KINDS[self.kind].fits(value, self.operand)

    def in_words(self) -> str:
        """Return the condition as a person says it."""
        return KINDS[self.kind].words.format(_said(self.operand))


@dataclass(frozen=True)
class Kind:
    """How a kind of condition is checked, written and read."""

    fits: Callable[[Any, Any], bool]
    words: str
    takes: Callable[[Any], bool]
    wants: str
    whole: bool = False
    """True where a list is one value, not several."""


def holds(matcher: Matcher, values: Mapping[str, Json], name: str, *, every: bool) -> bool:
    """Return whether the value called `name` meets the condition; of a list, every or any element.

    An empty list meets nothing, and nor does a value that is missing (but for ``present = false``).
    """
    value = values.get(name)
    if matcher.kind == "present":
        return (value is not None) is matcher.operand
    if value is None:
        return False
    if isinstance(value, list) and not KINDS[matcher.kind].whole:
        return bool(value) and (all if every else any)(map(matcher.fits, value))
    return matcher.fits(value)


def host_of(value: str) -> str | None:
    """Return the host of an address, a URL or a host name, in ASCII form (RFC 5891), or None.

    Anything that a careless parser could read in two ways is None.
    """
    if re.search(r"[\s\x00-\x1f\x7f-\x9f\\\"'<>(),;]", value):
        return None
    if "://" in value:
        try:
            parts = urlsplit(value)
            host = parts.hostname or ""
        except ValueError:
            return None
        if "@" in parts.netloc:
            return None
    else:
        _, _, host = value.rpartition("@")
        if value.count("@") > 1:
            return None
    try:
        host = host.rstrip(".").encode("idna").decode("ascii").lower()
    except UnicodeError:
        return None
    return host if re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", host) else None


def _same(value: Any, operand: Any) -> bool:
    return type(value) is type(operand) and bool(value == operand)


def _within(value: Any, operand: str) -> bool:
    """Return whether a path lies in a folder, by its segments; one with `..` lies nowhere."""
    if not isinstance(value, str) or not value.startswith("/") or ".." in PurePosixPath(value).parts:
        return False
    return PurePosixPath(value).is_relative_to(PurePosixPath(operand))


def _of_domain(value: Any, operand: str) -> bool:
    host, domain = host_of(value) if isinstance(value, str) else None, host_of(operand)
    return host is not None and domain is not None and (host == domain or host.endswith("." + domain))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_list_of_scalars(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_scalar, value))  # pyright: ignore


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))  # pyright: ignore


def _command_fits(value: Any, operand: Sequence[str]) -> bool:
    if isinstance(value, list):
        return all(map(_is_text, value)) and argv_fits(value, operand)  # pyright: ignore
    argv = argv_of(value) if isinstance(value, str) else None
    return argv is not None and argv_fits(argv, operand)


KINDS: Mapping[str, Kind] = {
    "equals": Kind(_same, "is {}", _is_scalar, "a text, a number or true/false"),
    "one_of": Kind(
        lambda value, operand: any(_same(value, each) for each in operand),
        "is one of {}",
        _is_list_of_scalars,
        "a list of texts or numbers",
    ),
    "glob": Kind(
        lambda value, operand: isinstance(value, str) and fnmatchcase(value, operand),
        "looks like {}",
        _is_text,
        "a text with *, ? or [ ]",
    ),
    "folder": Kind(
        _within,
        "lies in {}",
        lambda operand: isinstance(operand, str) and operand.startswith("/"),
        "the path of a folder, from /",
    ),
    "domain": Kind(
        _of_domain,
        "belongs to {}",
        lambda operand: isinstance(operand, str) and "." in operand and host_of(operand) is not None,
        "a domain such as example.org",
    ),
    "min": Kind(
        lambda value, operand: _is_number(value) and value >= operand,
        "is at least {}",
        _is_number,
        "a number",
    ),
    "max": Kind(
        lambda value, operand: _is_number(value) and value <= operand, "is at most {}", _is_number, "a number"
    ),
    "max_length": Kind(
        lambda value, operand: isinstance(value, str) and len(value) <= operand,
        "has at most {} characters",
        lambda operand: isinstance(operand, int) and not isinstance(operand, bool) and operand >= 0,
        "a whole number",
    ),
    "present": Kind(
        lambda value, operand: (value is not None) is operand,
        "is given: {}",
        lambda operand: isinstance(operand, bool),
        "true or false",
    ),
    "argv": Kind(_command_fits, "is the command {}", _is_list_of_texts, "a list of words", whole=True),
}
"""Every kind of condition. Texts are compared as they are written, capital letters included."""


def _said(operand: Any) -> str:
    match operand:
        case bool():
            return "yes" if operand else "no"
        case list():
            return " ".join(map(_said, operand)) if operand else "nothing"  # pyright: ignore
        case str():
            return f"“{operand}”"
        case _:
            return str(operand)
