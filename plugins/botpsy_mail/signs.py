"""Signs that a message is not from whom it seems, or carries harm: shown, never decided on."""

import re
from collections.abc import Collection, Sequence
from email.message import EmailMessage

from botpsy_mail.addresses import Mailbox, mailboxes_of
from botpsy_mail.content import Attachment
from botpsy_mail.headlines import addressed
from botpsy_tui.plugin import for_display_line, shown_host

_FAILED = re.compile(r"\bdmarc\s*=\s*fail\b", re.IGNORECASE)
_SPF_FAILED = re.compile(r"\bspf\s*=\s*(?:fail|softfail)\b", re.IGNORECASE)
_DKIM_FAILED = re.compile(r"\bdkim\s*=\s*(?:fail|none|permerror)\b", re.IGNORECASE)
_PROGRAMS = frozenset(
    """
    exe scr com pif bat cmd msi js jse vbs vbe wsf hta ps1 jar lnk iso img cpl reg app dmg pkg deb
    rpm sh apk html htm svg docm xlsm pptm one chm url library-ms
    """.split()  # noqa: SIM905 - a list of one word a line would be pages long
)
"""Endings of files that do something when they are opened."""
_LOOKS_LIKE = str.maketrans({"0": "o", "1": "l", "i": "l", "5": "s", "3": "e", "8": "b"})


def signs_of(
    message: EmailMessage, sender: Mailbox, attachments: Sequence[Attachment], own: Collection[str]
) -> tuple[str, ...]:
    """Return a sentence for each sign. `own`: the person's own addresses."""
    found = list(sender.shown.warnings) if sender.address else ["It names no sender."]
    domain = _domain(sender.address)
    for other in mailboxes_of(addressed(message, "Reply-To")):
        if _domain(other.address) != domain and not _is_list(message):
            found.append(f"Answers to it would go elsewhere: {other.shown.text}.")
            found += other.shown.warnings
    # Only the topmost was added by the person's own server (RFC 8601 §5); the others anyone can write.
    results = str(message.get("Authentication-Results", ""))
    if _FAILED.search(results) or (_SPF_FAILED.search(results) and _DKIM_FAILED.search(results)):
        found.append(f"The mail server could not confirm that it comes from {shown_host(domain).text}.")
    if sender.address.lower() in {address.lower() for address in own}:
        found.append("It says that it is from you.")
    for known in {_domain(address) for address in own}:
        if known and domain != known and _resembles(domain, known):
            found.append(f"{shown_host(domain).text} resembles {shown_host(known).text}, and is another.")
    for attachment in attachments:
        ending = attachment.name.rpartition(".")[2].lower().strip()
        if ending in _PROGRAMS:
            found.append(f"{for_display_line(attachment.name)} can do harm when it is opened.")
    return tuple(dict.fromkeys(found))


def _is_list(message: EmailMessage) -> bool:
    """Say whether a mailing list sent it on: those set Reply-To by trade (RFC 2919)."""
    return "List-Id" in message or "List-Post" in message


def _domain(address: str) -> str:
    return address.rpartition("@")[2].lower()


def _resembles(domain: str, known: str) -> bool:
    """Say whether a domain could be taken for another: like letters, or one letter more, less or other."""
    if _skeleton(domain) == _skeleton(known):
        return True
    if len(known) < 6 or domain.endswith(f".{known}"):
        return False
    if known.partition(".")[0] in domain.split(".")[0].split("-") and len(known.partition(".")[0]) > 4:
        return True
    return _one_apart(domain, known)


def _skeleton(domain: str) -> str:
    return domain.translate(_LOOKS_LIKE).replace("rn", "m").replace("vv", "w").replace("cl", "d")


def _one_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    if start is None:
        return True
    rest, others = one[start:], other[start:]
    swapped = rest[:2] == others[:2][::-1] and rest[2:] == others[2:]
    return rest[1:] == others[1:] or rest[1:] == others or rest == others[1:] or swapped
