"""Words for an IMAP server (RFC 3501), which `imaplib` sends as they are: each is one argument, no more."""

import base64
import re
from collections.abc import Iterable

from botpsy_mail.limits import check_text
from botpsy_tui.plugin import ToolError, for_display_line

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LONGEST = 1000
_MOST_IDS = 10_000
_NEEDS_BASE64 = re.compile(r"[^\x20-\x7e]+")


def mailbox_argument(name: str) -> str:
    """Return a mailbox's name as a quoted string in modified UTF-7 (RFC 3501 §5.1.3). Raises `ToolError`."""
    checked = _checked("mailbox name", name).replace("&", "&-")
    encoded = _NEEDS_BASE64.sub(lambda match: _modified_base64(match[0]), checked)
    return _quoted(encoded)


def search_argument(words: str) -> str | bytes:
    """Return a term to search for (RFC 3501 §6.4.4): quoted where it is ASCII, else for a UTF-8 literal.

    Raises `ToolError`.
    """
    checked = _checked("search term", words)
    return _quoted(checked) if checked.isascii() else checked.encode()


def id_set(ids: Iterable[str | int]) -> str:
    """Return message ids (UIDs, RFC 3501 §2.3.1.1) as a set such as ``3,7``. Raises `ToolError`."""
    found: list[str] = []
    for one in ids:
        text = str(one)
        if not re.fullmatch(r"[1-9][0-9]{0,9}", text, re.ASCII) or int(text) > 0xFFFFFFFF:
            raise ToolError(f"{for_display_line(text)!r} is no id of a message.")
        found.append(text)
    if not found or len(found) > _MOST_IDS:
        raise ToolError("Name at least one message, and not more than ten thousand.")
    return ",".join(found)


def _checked(what: str, text: str) -> str:
    if _CONTROL.search(text):
        raise ToolError(
            f"The {what} {for_display_line(text)!r} holds control characters, which no server takes."
        )
    if not text or len(text) > _LONGEST:
        raise ToolError(f"The {what} is empty or too long.")
    check_text(what, text)
    return text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _modified_base64(text: str) -> str:
    encoded = base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
    return f"&{encoded}-"
