"""Reads a message (RFC 5322, MIME) only where reading it can't take long or break anything."""

import re
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Final, cast

from botpsy_tui.plugin import ToolError, for_display_line

MOST_BYTES: Final = 50_000_000
MOST_HEADER_BYTES: Final = 256_000
LONGEST_HEADER: Final = 64_000
MOST_CONTAINERS: Final = 100
"""Multiparts and attached messages in one message, beside or inside each other."""

MOST_RECIPIENTS: Final = 500
MOST_ENCODED_WORDS: Final = 500
DEEPEST_COMMENT: Final = 10

_HEADER_END = re.compile(rb"\r?\n\r?\n")
_NEXT_HEADER = re.compile(r"\r?\n(?![ \t])")
_CONTAINER = re.compile(rb"^content-type:\s*(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)
_ADDRESSED = frozenset(
    (
        *("from", "sender", "reply-to", "to", "cc", "bcc"),
        *("resent-from", "resent-sender", "resent-to", "resent-cc", "resent-bcc"),
    )
)


class MessageUnsafe(ToolError):
    """A message is made so that reading it could break or block the program."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The message cannot be shown safely: {why}.")


def read_message(raw: bytes) -> EmailMessage:
    """Parse a message's bytes. Raises `MessageUnsafe`, quickly, where they are beyond the limits.

    Python's parser follows nesting by recursion and reads address lists in quadratic time, so what
    it is given is counted first.
    """
    if len(raw) > MOST_BYTES:
        raise MessageUnsafe(f"it is larger than {MOST_BYTES // 1_000_000} MB")
    if len(_CONTAINER.findall(raw)) > MOST_CONTAINERS:
        raise MessageUnsafe(f"it has more than {MOST_CONTAINERS} parts that hold others")
    end = _HEADER_END.search(raw)
    head = raw[: end.start() if end else len(raw)]
    if len(head) > MOST_HEADER_BYTES:
        raise MessageUnsafe("its headers are too long")
    for header in _NEXT_HEADER.split(head.decode("latin-1")):
        name, _, value = header.partition(":")
        if name.strip().lower() in _ADDRESSED:
            check_addresses(value)
        else:
            check_header(value)
    try:
        message = BytesParser(policy=policy.default).parsebytes(raw)
        _read_all_headers(message)
    except Exception as error:  # whatever the parser stumbles over, the list of mails goes on
        raise MessageUnsafe(f"it can't be parsed ({type(error).__name__})") from error
    return cast(EmailMessage, message)


def check_text(what: str, text: str) -> None:
    """Raise `ToolError` for text that no message and no server can be given: half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The {what} {for_display_line(text)!r} is no valid text.") from error


def check_header(value: str) -> None:
    """Raise `MessageUnsafe` for a header that would take long to decode (RFC 2047)."""
    if len(value) > LONGEST_HEADER:
        raise MessageUnsafe("one of its headers is too long")
    if value.count("=?") > MOST_ENCODED_WORDS:
        raise MessageUnsafe(f"one of its headers has more than {MOST_ENCODED_WORDS} encoded words")


def check_addresses(value: str) -> None:
    """Raise `MessageUnsafe` for a list of addresses that can't be read in little time and depth."""
    check_header(value)
    if value.count(",") + value.count(";") >= MOST_RECIPIENTS:
        raise MessageUnsafe(f"it names more than {MOST_RECIPIENTS} addresses in one header")
    if value.count("(") > MOST_RECIPIENTS or _deepest(value, "(", ")") > DEEPEST_COMMENT:
        raise MessageUnsafe("one of its addresses hides in comments within comments")
    if value.count("<") > 2 * MOST_RECIPIENTS or value.count("[") > MOST_RECIPIENTS:
        raise MessageUnsafe("one of its headers is no list of addresses")


def _deepest(text: str, opens: str, closes: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character == opens) - (character == closes and depth > 0)
        deepest = max(deepest, depth)
    return deepest


def _read_all_headers(message: EmailMessage | object) -> None:
    """Decode every header of every part now, so that none fails later where nobody expects it."""
    for part in cast(EmailMessage, message).walk():
        for name, value in part.raw_items():
            if name.lower() in _ADDRESSED:
                check_addresses(str(value))
            else:
                check_header(str(value))
        for _name, decoded in part.items():
            str(decoded)
