"""Reads literals of the kind that stands in a call: JSON's, Python's, and mixtures of the two."""

import re
from typing import Any

CONSTANTS: dict[str, Any] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
}
"""JSON's and Python's own names; models write both."""

_DEEPEST = 40
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"""[^\\"']+""")
_BLANKS = re.compile(r"\s*")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\n": ""}
_NUMBERED = {"u": 4, "x": 2}
_AFTER_A_STRING = ",)]}:"
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class IncompleteLiteral(Exception):
    """The text ends before the literal does."""


def read_whole(text: str) -> Any:
    """Return the literal that all of `text` is. Raises `ValueError`."""
    try:
        value, end = read_value(text + ",", 0)
    except IncompleteLiteral as error:
        raise ValueError("not closed") from error
    if skip_blanks(text + ",", end) != len(text):
        raise ValueError("more than one value")
    return value


def read_value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """Return the literal at a position, and the position after it.

    Raises `IncompleteLiteral` where more text is needed to tell, `ValueError` where there is none.
    """
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    at = skip_blanks(text, at)
    first = _character(text, at)
    if first in "\"'":
        return _read_string(text, at)
    if first == "{":
        return _read_object(text, at + 1, depth)
    if first in "[(":
        return _read_list(text, at + 1, _CLOSING[first], depth)
    number = _NUMBER.match(text, at)
    found = number or _WORD.match(text, at)
    if found is None and first not in "+-":
        raise ValueError(f"no value begins with {first}")
    if found is None or found.end() == len(text):
        raise IncompleteLiteral
    if number is not None:
        return _number(number[0]), number.end()
    if found[0] not in CONSTANTS:
        raise ValueError(f"{found[0]} is no value")
    return CONSTANTS[found[0]], found.end()


def skip_blanks(text: str, at: int) -> int:
    """Return the position of what is not blank."""
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _number(written: str) -> int | float:
    if re.fullmatch(r"[+-]?\d+", written):
        return int(written)
    value = float(written)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{written} is out of range")
    return value


def _read_list(text: str, at: int, closing: str, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        at = skip_blanks(text, at)
        if _character(text, at) == closing:
            return items, at + 1
        item, at = read_value(text, at, depth + 1)
        items.append(item)
        at = _past_comma(text, at, closing)


def _read_object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    items: dict[str, Any] = {}
    while True:
        at = skip_blanks(text, at)
        if _character(text, at) == "}":
            return items, at + 1
        key, at = read_value(text, at, depth + 1)
        at = skip_blanks(text, at)
        if _character(text, at) != ":":
            raise ValueError("a key has no value")
        items[str(key)], at = read_value(text, at + 1, depth + 1)
        at = _past_comma(text, at, "}")


def _past_comma(text: str, at: int, closing: str) -> int:
    at = skip_blanks(text, at)
    following = _character(text, at)
    if following == closing:
        return at
    if following != ",":
        raise ValueError(f"{following} between two values")
    return at + 1


def _read_string(text: str, at: int) -> tuple[str, int]:
    """Read a string in either quotes; one that nothing fit follows is an apostrophe in it."""
    quote = text[at]
    at += 1
    parts: list[str] = []
    while True:
        if plain := _PLAIN.match(text, at):
            parts.append(plain[0])
            at = plain.end()
        character = _character(text, at)
        if character == "\\":
            part, at = _read_escape(text, at + 1)
            parts.append(part)
            continue
        at += 1
        if character == quote and _character(text, skip_blanks(text, at)) in _AFTER_A_STRING:
            return _paired("".join(parts)), at
        parts.append(character)


def _read_escape(text: str, at: int) -> tuple[str, int]:
    kind = _character(text, at)
    if kind in _ESCAPES:
        return _ESCAPES[kind], at + 1
    if kind in "\\\"'":
        return kind, at + 1
    if length := _NUMBERED.get(kind, 0):
        digits = text[at + 1 : at + 1 + length]
        if len(digits) < length:
            raise IncompleteLiteral
        if re.fullmatch(r"[0-9a-fA-F]+", digits):
            return chr(int(digits, 16)), at + 1 + length
    return "\\" + kind, at + 1


def _paired(text: str) -> str:
    """Return `text` with surrogates that stand in pairs made one character (RFC 8259 §7)."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(text: str, at: int) -> str:
    if at >= len(text):
        raise IncompleteLiteral
    return text[at]
