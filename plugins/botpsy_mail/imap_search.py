"""Writes a query as an IMAP search (RFC 3501 §6.4.4)."""

from collections.abc import Iterable
from datetime import date, timedelta

from botpsy_mail.protocol import search_argument
from botpsy_mail.store import Query

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def search_keys(query: Query) -> list[bytes]:
    """Return the search as arguments for the command, what isn't ASCII as bytes for a literal.

    Days are widened by one at both ends: the server counts them in a zone of its own. Attachments
    can't be searched for; both is left to the caller. Raises `ToolError`.
    """
    keys = [b"UNDELETED"]
    for wanted, yes, no in (
        (query.unread, b"UNSEEN", b"SEEN"),
        (query.flagged, b"FLAGGED", b"UNFLAGGED"),
        (query.answered, b"ANSWERED", b"UNANSWERED"),
    ):
        if wanted is not None:
            keys.append(yes if wanted else no)
    if query.first:
        keys += [b"SINCE", _day(query.first - timedelta(1))]
    if query.last:
        keys += [b"BEFORE", _day(query.last + timedelta(2))]
    keys += _each(b"FROM", query.sender) + _each(b"SUBJECT", query.subject) + _each(b"TEXT", query.words)
    for who in query.recipient:
        keys += _any_of([[b"TO", _text(who)], [b"CC", _text(who)]])
    for who in query.people:
        keys += _any_of([[b"FROM", _text(who)], [b"TO", _text(who)], [b"CC", _text(who)]])
    if query.message_ids:
        keys += _any_of(
            [
                [b"HEADER", field, _text(one)]
                for one in query.message_ids
                for field in (b"Message-ID", b"References")
            ]
        )
    return keys


def _each(key: bytes, texts: Iterable[str]) -> list[bytes]:
    return [part for text in texts for part in (key, _text(text))]


def _any_of(keys: list[list[bytes]]) -> list[bytes]:
    """Join search keys with OR, which takes two."""
    first, *rest = keys
    return [b"OR", *first, *_any_of(rest)] if rest else first


def _text(words: str) -> bytes:
    argument = search_argument(words)
    return argument.encode() if isinstance(argument, str) else argument


def _day(day: date) -> bytes:
    return f"{day.day}-{_MONTHS[day.month - 1]}-{day.year}".encode()
