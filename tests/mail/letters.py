"""Writes the messages of the mail's tests."""

from email import policy
from email.message import EmailMessage


def letter(
    subject: str,
    text: str = "Hello.\n",
    *,
    sender: str = "Lena Ott <lena@example.org>",
    to: str = "nia@example.org",
    message_id: str = "",
    attached: str = "",
    **headers: str,
) -> bytes:
    """Return a message; more headers by name, ``_`` for ``-``."""
    message = EmailMessage(policy=policy.SMTP)
    message["From"], message["To"], message["Subject"] = sender, to, subject
    message["Message-ID"] = message_id or f"<{subject.encode().hex()[:40]}@example.org>"
    message["Date"] = "Tue, 01 Dec 2026 07:30:00 +0100"
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    if attached:
        message.add_attachment(b"%PDF-1.4 x", maintype="application", subtype="pdf", filename=attached)
    return bytes(message)
