"""Mail: messages on IMAP servers and in local Maildirs, and what stands between them and harm."""

from botpsy_mail.plugin import MailPlugin

__all__ = ["MailPlugin"]
