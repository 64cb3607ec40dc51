"""One condition on one value of a call. Total: any JSON value is taken; what can't be read is None."""

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, cast
from urllib.parse import urlsplit

import idna

from botpsy_tui.approval.policy.several import addresses_in, rides_along, spelled_oddly
from botpsy_tui.approval.policy.shell import argv_fits, argv_of
from botpsy_tui.plugin import Json


@dataclass(frozen=True)
class Matcher:
    """A condition: its kind, one of `KINDS`, and what it compares with."""

    kind: str
    operand: Any

    def fits(self, value: Json, *, every: bool) -> bool | None:
        """Return whether one value, no list, meets the condition; None where that can't be told.

        To allow (`every`), texts are compared letter for letter, and a wildcard takes nothing that
        separates addresses. To deny or ask, other spellings of a text (capitals, compatibility
        forms) and of a number are the same, and one address in a text is enough.
        """
        kind = KINDS[self.kind]
        if not every and self.kind in ("equals", "one_of", "glob"):
            return self._fits_in_any_spelling(value)
        if not every and self.kind == "argv":
            return _command_fits(value, self.operand, options=True)
        if self.kind == "glob" and isinstance(value, str) and rides_along(value, self.operand):
            return None
        return kind.fits(value, self.operand)

    def _fits_in_any_spelling(self, value: Json) -> bool | None:
        kind, operand = KINDS[self.kind], _spelled_alike(self.operand)
        fits = kind.fits(_spelled_alike(value), operand)
        if fits or not isinstance(value, str):
            return fits
        if any(kind.fits(_spelled_alike(part), operand) for part in addresses_in(value)):
            return True
        return None if "@" in str(operand) and spelled_oddly(value) else fits

    def in_words(self) -> str:
        """Return the condition as a person says it."""
        return KINDS[self.kind].words.format(said(self.operand))


@dataclass(frozen=True)
class Kind:
    """How a kind of condition is checked (None: can't be told), written and read."""

    fits: Callable[[Any, Any], bool | None]
    words: str
    takes: Callable[[Any], bool]
    wants: str
    whole: bool = False
    """True where a list is one value, not several."""


def holds(matcher: Matcher, values: Mapping[str, Json], name: str, *, every: bool) -> bool | None:
    """Return whether the value called `name` meets the condition; of a list, every or any element.

    None means that it can't be told: a rule that denies is then asked about, never passed over.

    An empty list meets nothing, and nor does a value that is missing (but for ``present = false``).
    """
    value = values.get(name)
    if matcher.kind == "present":
        return (value is not None) is matcher.operand
    if value is None:
        return False
    if isinstance(value, list) and not KINDS[matcher.kind].whole:
        met = [matcher.fits(each, every=every) for each in value]
        if every:
            return bool(met) and all(met)
        return True if True in met else None if None in met else False
    return matcher.fits(value, every=every)


def host_of(value: str) -> str | None:
    """Return the host of an address, a web URL or a host name, in ASCII form, or None.

    Internationalised names follow RFC 5891 after the mapping of Unicode Technical Standard 46,
    as the network library's do: ``faß.de`` is not ``fass.de``. Anything that a careless parser
    could read in two ways is None.
    """
    if re.search(r"[\s\x00-\x1f\x7f-\x9f\\\"'<>(),;]", value):
        return None
    if "://" in value:
        try:
            parts = urlsplit(value)
            host = parts.hostname or ""
        except ValueError:
            return None
        if "@" in parts.netloc or parts.scheme not in ("http", "https"):
            return None
    else:
        local, at, host = value.rpartition("@")
        if "@" in local or (at and not local):
            return None
    try:
        host = idna.encode(host.removesuffix("."), uts46=True).decode("ascii")
    except (UnicodeError, IndexError):
        return None
    return host if re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", host) else None


def _same(value: Any, operand: Any) -> bool | None:
    if isinstance(value, dict | list):
        return None
    return type(value) is type(operand) and bool(value == operand)


def _one_of(value: Any, operand: Sequence[Any]) -> bool | None:
    if isinstance(value, dict | list):
        return None
    return any(_same(value, each) for each in operand)


def _spelled_alike(value: Any) -> Any:
    """Return one form for all spellings of a text or number that a person would call the same."""
    match value:
        case str():
            return unicodedata.normalize("NFKC", value).casefold()
        case int() if not isinstance(value, bool):
            return float(value) if abs(value) < 2**53 else value
        case list():
            return list(map(_spelled_alike, value))  # pyright: ignore
        case _:
            return value


def _glob(value: Any, operand: str) -> bool | None:
    return fnmatchcase(value, operand) if isinstance(value, str) else None


def _within(value: Any, operand: str) -> bool | None:
    """Return whether a path lies in a folder, by its segments; where one with `..` lies can't be told."""
    if not isinstance(value, str) or not value.startswith("/") or ".." in PurePosixPath(value).parts:
        return None
    return PurePosixPath("/" + value.lstrip("/")).is_relative_to(PurePosixPath(operand))


def _of_domain(value: Any, operand: str) -> bool | None:
    host, domain = host_of(value) if isinstance(value, str) else None, host_of(operand)
    if host is None or domain is None:
        return None
    return host == domain or (not _is_number_of_a_host(host) and host.endswith("." + domain))


def _is_number_of_a_host(host: str) -> bool:
    """Return whether a host is an IP address, whose parts are no domains of each other."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_domain(operand: Any) -> bool:
    return isinstance(operand, str) and "." in operand and "@" not in operand and host_of(operand) is not None


def _at_least(value: Any, operand: float) -> bool | None:
    return value >= operand if _is_number(value) else None


def _at_most(value: Any, operand: float) -> bool | None:
    return value <= operand if _is_number(value) else None


def _no_longer(value: Any, operand: int) -> bool | None:
    return len(value) <= operand if isinstance(value, str) else None


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


def _command_fits(value: Any, operand: Sequence[str], *, options: bool = False) -> bool | None:
    if isinstance(value, list):
        argv = cast(list[str], value) if _is_list_of_texts(value) else None
    else:
        argv = argv_of(value) if isinstance(value, str) else None
    return None if argv is None else argv_fits(argv, operand, options=options)


KINDS: Mapping[str, Kind] = {
    "equals": Kind(_same, "is {}", _is_scalar, "a text, a number or true/false"),
    "one_of": Kind(
        _one_of,
        "is one of {}",
        _is_list_of_scalars,
        "a list of texts or numbers",
    ),
    "glob": Kind(
        _glob,
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
        _is_domain,
        "a domain such as example.org",
    ),
    "min": Kind(_at_least, "is at least {}", _is_number, "a number"),
    "max": Kind(_at_most, "is at most {}", _is_number, "a number"),
    "max_length": Kind(
        _no_longer,
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
"""Every kind of condition."""


def said(operand: Any) -> str:
    """Return a value as a person says it."""
    match operand:
        case bool():
            return "yes" if operand else "no"
        case list():
            return " ".join(map(said, operand)) if operand else "nothing"  # pyright: ignore
        case str():
            return f"“{operand}”"
        case _:
            return str(operand)
