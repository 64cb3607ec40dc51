"""Says whether a message fits a query, where no server does it: in a Maildir, and for what IMAP can't ask."""

from collections.abc import Callable, Iterable
from zoneinfo import ZoneInfo

from botpsy_mail.addresses import Mailbox
from botpsy_mail.store import Flag, Headline, Query


def fits(query: Query, headline: Headline, text: Callable[[], str], zone: ZoneInfo) -> bool:
    """Say whether a message fits; `text` gives what it says, and is asked only where words are wanted."""
    if not fits_headline(query, headline, zone):
        return False
    if not query.words:
        return True
    around = _folded([headline.subject, *_names([headline.sender, *headline.recipients])])
    missing = [word for word in query.words if word.casefold() not in around]
    if not missing:
        return True
    whole = text().casefold()
    return all(word.casefold() in whole for word in missing)


def fits_headline(query: Query, headline: Headline, zone: ZoneInfo) -> bool:
    """Say whether all of a query but its words fits."""
    day = headline.moment.astimezone(zone).date()
    if (query.first and day < query.first) or (query.last and day > query.last):
        return False
    if query.attachments and not headline.attachments:
        return False
    for wanted, flag in (
        (query.flagged, Flag.FLAGGED),
        (query.answered, Flag.ANSWERED),
        (None if query.unread is None else not query.unread, Flag.SEEN),
    ):
        if wanted is not None and wanted != (flag in headline.flags):
            return False
    if query.message_ids and not {headline.message_id, *headline.references} & set(query.message_ids):
        return False
    sender = _folded(_names([headline.sender]))
    recipients = _folded(_names(headline.recipients))
    return (
        _all_in(query.sender, sender)
        and _all_in(query.recipient, recipients)
        and _all_in(query.people, f"{sender}\n{recipients}")
        and _all_in(query.subject, headline.subject.casefold())
    )


def _names(mailboxes: Iterable[Mailbox]) -> list[str]:
    return [f"{mailbox.name} {mailbox.address}" for mailbox in mailboxes]


def _folded(texts: Iterable[str]) -> str:
    return "\n".join(texts).casefold()


def _all_in(wanted: Iterable[str], text: str) -> bool:
    return all(part.casefold() in text for part in wanted)
