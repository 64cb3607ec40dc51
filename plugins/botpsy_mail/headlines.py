"""Makes a message's headline from its header section, whatever is wrong with that."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Any

from botpsy_mail.addresses import Mailbox, mailboxes_of
from botpsy_mail.limits import MessageUnsafe, read_message
from botpsy_mail.store import Flag, Headline, MessageKey

HEADLINE_FIELDS = (
    "FROM", "SENDER", "TO", "CC", "SUBJECT", "DATE", "MESSAGE-ID", "IN-REPLY-TO", "REFERENCES",
    "CONTENT-TYPE",
)  # fmt: skip
"""The header fields that a headline is made from."""

MESSAGE_ID = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]+@[\x21-\x3b\x3d\x3f-\x7e]+>")


def headline_of(
    key: MessageKey,
    head: bytes,
    *,
    arrived: datetime | None,
    flags: Collection[Flag],
    size: int,
    attachments: bool | None = None,
) -> Headline:
    """Return the headline; one that can't be read safely says so in place of its subject.

    `head`: the header section (RFC 5322 §2.2), or the fields of `HEADLINE_FIELDS` alone.
    `attachments`: None to judge by the content type.
    """
    try:
        message = read_message(head)
    except MessageUnsafe as error:
        moment = arrived or datetime.fromtimestamp(0, UTC)
        return Headline(key, Mailbox(""), (), str(error), moment, frozenset(flags), size, readable=False)
    if attachments is None:
        attachments = message.get_content_type() == "multipart/mixed"
    answered = MESSAGE_ID.findall(f"{message.get('References', '')} {message.get('In-Reply-To', '')}")
    return Headline(
        key=key,
        sender=sender_of(message),
        recipients=(*mailboxes_of(addressed(message, "To")), *mailboxes_of(addressed(message, "Cc"))),
        subject=" ".join(str(message.get("Subject", "")).split()),
        moment=arrived or written_at(message) or datetime.fromtimestamp(0, UTC),
        flags=frozenset(flags),
        size=size,
        attachments=attachments,
        message_id=next(iter(MESSAGE_ID.findall(str(message.get("Message-ID", "")))), ""),
        references=tuple(dict.fromkeys(answered)),
    )


def sender_of(message: EmailMessage) -> Mailbox:
    """Return who a message says it is from; an empty address where it names nobody."""
    for name in ("From", "Sender"):
        if found := mailboxes_of(addressed(message, name)):
            return found[0]
    return Mailbox("", str(message.get("From", "")))


def written_at(message: EmailMessage) -> datetime | None:
    """Return the instant of the Date header (RFC 5322 §3.6.1), or None where it names none."""
    header: Any = message.get("Date")
    moment = getattr(header, "datetime", None)
    if not isinstance(moment, datetime):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    # Beyond these years a change of time zone overflows.
    return moment if 1970 <= moment.year <= 9000 else None


def addressed(message: EmailMessage, name: str) -> Any:
    """Return a header of addresses, or None where it is missing or none."""
    header = message.get(name)
    return header if hasattr(header, "addresses") else None
