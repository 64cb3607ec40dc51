"""Texts that may hold several addresses: a condition on one of them lets no second ride along."""

import re
import unicodedata

_BETWEEN = ",;،؛、"
"""What separates items of a list, beside line ends."""
_AROUND_ADDRESSES = "<>\"'()\\"
"""What separates or wraps addresses (RFC 5322 §3.4), beside white space."""
_BRACKETS = re.compile(r"\[!?\]?[^\]]*\]")
_EDGES = re.compile(r"[\s,;،؛、<>\"'()\[\]:]+")
_ODD_AT = re.compile(r"[\s\"')\\]@|@[\s(\[\"]")


def rides_along(text: str, pattern: str) -> bool:
    """Return whether a wildcard of a glob would have to take what separates one address from the next.

    That is a comma, a semicolon or a line end, and in a text with an ``@`` also a second ``@``,
    white space, quotes and brackets. Each that stands in `pattern` itself may stand in `text`.
    """
    text, written = _compatible(text), _compatible(_BRACKETS.sub("", pattern))
    if text.count("@") > max(1, written.count("@")):
        return True
    return any(text.count(sign) > written.count(sign) for sign in set(text) if _separates(sign, text))


def addresses_in(text: str) -> list[str]:
    """Return the parts of a text that may be addresses, and the items of the list it may be."""
    if "@" not in _compatible(text):
        return []
    text = _compatible(text)
    items = [item.strip() for item in re.split(rf"[{_BETWEEN}\r\n]", text)]
    return [part.removesuffix(".") for part in (*_EDGES.split(text), *items) if part]


def spelled_oddly(text: str) -> bool:
    """Return whether an address in the text has quotes, comments or blanks at its ``@`` (RFC 5322 §3.4.1).

    Such an address is the same as another without them, so it can't be compared letter for letter.
    """
    return _ODD_AT.search(_compatible(text)) is not None


def _separates(sign: str, text: str) -> bool:
    if sign in _BETWEEN or unicodedata.category(sign) in ("Cc", "Zl", "Zp"):
        return True
    return "@" in text and (sign in _AROUND_ADDRESSES or sign.isspace())


def _compatible(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
