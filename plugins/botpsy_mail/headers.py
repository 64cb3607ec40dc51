"""Builds a message's headers from values that may come from anyone."""

import re
from collections.abc import Sequence
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage

from botpsy_mail.addresses import Mailbox, envelope_of
from botpsy_mail.limits import LONGEST_HEADER, check_text
from botpsy_tui.plugin import ToolError, for_display_line, for_model

_LINE_BREAKS = re.compile(r"[\r\n\x00\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""CR, LF and NUL, and what `str.splitlines` takes for a line end."""
_REPLY = re.compile(r"^(?:\s*(?:re|aw|sv|antw)\s*(?:\[\d+\])?:)+\s*", re.IGNORECASE)
_MESSAGE_ID = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]+@[\x21-\x3b\x3d\x3f-\x7e]+>")
_MOST_REFERENCES = 50


def header_value(name: str, value: str) -> str:
    """Return `value` where it is one header's value and nothing more. Raises `ToolError`.

    `email` before Python 3.13 writes a line end inside an encoded word out as a real one, and what
    comes after it as a header of its own.
    """
    if _LINE_BREAKS.search(value):
        raise ToolError(f"The {name} {for_display_line(value)!r} holds a line end; write it in one line.")
    if len(value) > LONGEST_HEADER:
        raise ToolError(f"The {name} is too long.")
    check_text(name, value)
    return value


def reply_subject(original: str) -> str:
    """Return the subject of an answer to a message of that (decoded) subject, safe as a header."""
    plain = " ".join(for_model(_LINE_BREAKS.sub(" ", original)).split())
    return f"Re: {_REPLY.sub('', plain)}".strip()[:LONGEST_HEADER]


def references_of(original: EmailMessage) -> str:
    """Return the References of an answer (RFC 5322 §3.6.4): only what is a message id is taken over."""
    known = " ".join(str(original.get(name, "")) for name in ("References", "Message-ID"))
    found = list(dict.fromkeys(_MESSAGE_ID.findall(known)))
    return " ".join(found[:1] + found[1:][-_MOST_REFERENCES:])


def new_message(
    *,
    sender: Mailbox,
    to: Sequence[Mailbox],
    cc: Sequence[Mailbox] = (),
    subject: str,
    body: str,
    references: str = "",
) -> EmailMessage:
    """Return a message with these headers and no others. Raises `ToolError`.

    Blind copies have no header: they are in the envelope alone.
    """
    message = EmailMessage(policy=policy.SMTP)
    message["From"] = _address(sender)
    message["To"] = [_address(one) for one in to]
    if cc:
        message["Cc"] = [_address(one) for one in cc]
    message["Subject"] = header_value("subject", subject)
    if references:
        ids = _MESSAGE_ID.findall(header_value("references", references))
        message["In-Reply-To"], message["References"] = ids[-1], " ".join(ids)
    message.set_content(body.replace("\r\n", "\n").replace("\r", "\n"))
    return message


def _address(mailbox: Mailbox) -> Address:
    envelope = envelope_of([mailbox])[0]
    return Address(header_value("name", mailbox.name), addr_spec=envelope)
