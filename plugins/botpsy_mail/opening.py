"""Opens a stored message for a person: who, when, what it says and carries, and what is odd about it."""

from collections.abc import Collection
from dataclasses import dataclass
from email.message import EmailMessage
from zoneinfo import ZoneInfo

from botpsy_mail.addresses import Mailbox, mailboxes_of
from botpsy_mail.content import Attachment, Content, content_of, folded
from botpsy_mail.headlines import addressed, sender_of, written_at
from botpsy_mail.limits import read_message
from botpsy_mail.signs import signs_of
from botpsy_mail.store import StoredMessage
from botpsy_tui.plugin import for_display_line

_MOST_NAMED = 12


@dataclass(frozen=True)
class Opened:
    """A message that was read safely."""

    message: EmailMessage
    sender: Mailbox
    to: tuple[Mailbox, ...]
    cc: tuple[Mailbox, ...]
    subject: str
    content: Content
    signs: tuple[str, ...]
    stored: StoredMessage

    def head(self, zone: ZoneInfo) -> list[tuple[str, str]]:
        """Return its headers as labelled lines, safe to show."""
        written = written_at(self.message) or self.stored.arrived
        moment = written.astimezone(zone)
        lines = [
            ("From", self.sender.shown.text or "nobody"),
            ("To", shown_list(self.to)),
            ("Cc", shown_list(self.cc)),
            ("Date", f"{moment:%a} {moment.day} {moment:%b %Y}, {moment:%H:%M}"),
            ("Subject", for_display_line(self.subject) or "no subject"),
        ]
        return [(label, value) for label, value in lines if value]

    def body(self, *, whole: bool) -> str:
        """Return what it says, not yet safe to show; quotes folded unless the `whole` is wanted."""
        text = self.content.text if whole else folded(self.content.text).text
        return text or ("[nothing but attachments]" if self.content.attachments else "[no text]")


def open_message(stored: StoredMessage, own: Collection[str]) -> Opened:
    """Parse a message. Raises `MessageUnsafe`. `own`: the person's own addresses."""
    message = read_message(stored.raw)
    content, sender = content_of(message), sender_of(message)
    return Opened(
        message=message,
        sender=sender,
        to=mailboxes_of(addressed(message, "To")),
        cc=mailboxes_of(addressed(message, "Cc")),
        subject=" ".join(str(message.get("Subject", "")).split()),
        content=content,
        signs=signs_of(message, sender, content.attachments, own),
        stored=stored,
    )


def shown_list(mailboxes: Collection[Mailbox]) -> str:
    """Return mailboxes in one line, safe to show; of a long list the first ones."""
    shown = [mailbox.shown.text for mailbox in list(mailboxes)[:_MOST_NAMED]]
    more = len(mailboxes) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def shown_attachment(attachment: Attachment) -> str:
    """Return an attachment's name and size in one line, safe to show."""
    size = f", {shown_size(attachment.size)}" if attachment.size else ""
    return f"{for_display_line(attachment.name)} ({attachment.kind}{size})"


def shown_size(size: int) -> str:
    """Return a size in bytes as a person reads it."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, ending at a line and saying what is left out."""
    if len(text) <= most:
        return text
    kept = text[:most]
    kept = kept[: max(kept.rfind("\n"), kept.rfind(". ") + 1, most // 2)].rstrip()
    return f"{kept}\n[{len(text) - len(kept)} more characters]"
