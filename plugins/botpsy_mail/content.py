"""What a message says and what it carries: readable text, quotes folded, attachments by name."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from typing import cast

from botpsy_mail.html_text import text_of_html
from botpsy_mail.limits import MessageUnsafe, read_message

_LONGEST_TEXT = 400_000
"""Characters of one part that are read; what is behind them nobody reads in a terminal."""
_QUOTED_LINE = re.compile(r"^\s?>")
_SAID_BEFORE = re.compile(
    r"^\s*(?:On\b.{4,200}\bwrote|"
    r"Am\b.{4,200}\bschrieb\b.{0,100}|Le\b.{4,200}\ba écrit|El\b.{4,200}\bescribió)"
    r"\s?:\s*$",
    re.IGNORECASE,
)
_SAID_BEFORE_BLOCK = re.compile(
    r"^-{2,}\s*(?:original message|ursprüngliche nachricht|message d'origine)\s*-{2,}\s*$|^_{20,}\s*$",
    re.IGNORECASE,
)
_OUTLOOK_HEAD = re.compile(r"^(?:from|von|de)\s?:\s.+", re.IGNORECASE)
_OUTLOOK_NEXT = re.compile(r"^(?:sent|date|gesendet|datum|envoyé|to|an)\s?:\s.+", re.IGNORECASE)
_SIGNATURE = "-- "


@dataclass(frozen=True)
class Attachment:
    """A part that is not the text: a file, an attached message, an invitation."""

    part: int
    """Its place among all parts, as `EmailMessage.walk` counts them."""
    name: str
    kind: str
    """Its MIME type, as the message claims it."""
    size: int
    inline: bool = False
    """True where the text refers to it, such as a picture in a signature."""


@dataclass(frozen=True)
class Content:
    """A message's readable text and what it carries."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    invitation: bool = False
    """True where it holds a calendar part (RFC 6047)."""
    from_html: bool = False


@dataclass(frozen=True)
class Folded:
    """A text with what others said before taken out."""

    text: str
    quoted_lines: int = 0
    """How many lines of quotes were left out."""


def content_of(message: EmailMessage) -> Content:
    """Return what a parsed message says and carries."""
    parts = list(cast(Iterator[EmailMessage], message.walk()))
    numbers = {id(part): i for i, part in enumerate(parts)}
    texts: list[tuple[str, bool]] = []
    attachments: list[Attachment] = []
    invitation = any(part.get_content_type() == "text/calendar" for part in parts)
    for part in _leaves(message):
        if _is_text(part):
            text, html = text_of_part(part)
            if text.strip():
                texts.append((text.strip("\n"), html))
            continue
        attachments.append(_attachment(part, numbers.get(id(part), 0)))
    return Content(
        "\n\n".join(text for text, _ in texts),
        tuple(attachments),
        invitation,
        any(html for _, html in texts),
    )


def searchable_text(raw: bytes) -> str:
    """Return all that words are looked for in: headers, text, names of attachments; nothing where unsafe."""
    try:
        message = read_message(raw)
    except MessageUnsafe:
        return ""
    content = content_of(message)
    heads = [str(message.get(name, "")) for name in ("From", "To", "Cc", "Subject")]
    return "\n".join([*heads, content.text, *(attachment.name for attachment in content.attachments)])


def text_of_part(part: EmailMessage) -> tuple[str, bool]:
    """Return a text part's text, and whether it was made from HTML."""
    text = _decoded(part)[:_LONGEST_TEXT].replace("\r\n", "\n").replace("\r", "\n")
    if part.get_content_type() == "text/html":
        return text_of_html(text), True
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _unflowed(text, delete_space=str(part.get_param("delsp", "")).lower() == "yes")
    return text, False


def folded(text: str) -> Folded:
    """Take quotes out of a text: lines with ``>``, the line that announces them, and copies below an answer.

    What stands between and below quotes stays: some people answer there.
    """
    lines = text.split("\n")
    kept: list[str] = []
    quoted = i = 0
    while i < len(lines):
        if _begins_copy(lines, i) and any(line.strip() for line in kept):
            quoted += sum(1 for line in lines[i:] if line.strip())
            break
        if _QUOTED_LINE.match(lines[i]):
            first = i
            while i < len(lines) and (_QUOTED_LINE.match(lines[i]) or _quote_goes_on(lines, i)):
                i += 1
            while kept and not kept[-1].strip():
                kept.pop()
            announced = _announcement(kept)
            del kept[len(kept) - announced :]
            count = sum(1 for line in lines[first:i] if line.strip()) + announced
            quoted += count
            kept += ["", f"[{count} quoted line{'s' * (count != 1)}]", ""] if kept or i < len(lines) else []
            continue
        kept.append(lines[i])
        i += 1
    if not any(line.strip() for line in kept):
        return Folded(text)  # nothing but quotes: then they are what it says
    return Folded(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), quoted)


def without_signature(text: str) -> str:
    """Return a text up to its signature (the line ``-- ``, RFC 3676 §4.3)."""
    lines = text.split("\n")
    return "\n".join(lines[: lines.index(_SIGNATURE)]).rstrip() if _SIGNATURE in lines else text


def _leaves(part: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts to show, in order; of alternatives the best one (RFC 2046 §5.1.4)."""
    if part.get_content_type() == "multipart/alternative":
        parts = cast(list[EmailMessage], part.get_payload() if part.is_multipart() else [])
        yield from _best_alternative(parts)
    elif part.get_content_maintype() == "multipart" and part.is_multipart():
        for inner in cast(list[EmailMessage], part.get_payload()):
            yield from _leaves(inner)
    else:
        yield part


def _best_alternative(parts: list[EmailMessage]) -> Iterator[EmailMessage]:
    """Yield plain text where it says something, else HTML; and what is no text besides."""
    shown = False
    for wanted in ("text/plain", "text/html"):
        for part in parts:
            for leaf in _leaves(part):
                if not shown and leaf.get_content_type() == wanted and text_of_part(leaf)[0].strip():
                    shown = True
                    yield leaf
    for part in parts:
        for leaf in _leaves(part):
            if leaf.get_content_type() not in ("text/plain", "text/html"):
                yield leaf


def _is_text(part: EmailMessage) -> bool:
    return (
        part.get_content_type() in ("text/plain", "text/html")
        and part.get_content_disposition() != "attachment"
        and not _file_name(part)
    ) or (part.get_content_maintype() == "multipart" and not part.is_multipart())


def _attachment(part: EmailMessage, number: int) -> Attachment:
    kind = part.get_content_type()
    if kind == "message/rfc822":
        inner = cast(list[EmailMessage], part.get_payload()) if part.is_multipart() else []
        subject = " ".join(str(inner[0].get("Subject", "")).split()) if inner else ""
        name, size = f"Message “{subject}”" if subject else "Message", 0
    else:
        payload = part.get_payload(decode=True)
        name, size = _file_name(part), len(payload) if isinstance(payload, bytes) else 0
    inline = part.get_content_disposition() == "inline" or "Content-ID" in part
    return Attachment(number, name or _unnamed(kind), kind, size, inline and kind.startswith("image/"))


def _file_name(part: EmailMessage) -> str:
    try:
        return " ".join((part.get_filename() or "").split())
    except Exception:  # noqa: BLE001 - Python stumbles over broken RFC 2231 parameters in many ways
        return "unnamed"


def _unnamed(kind: str) -> str:
    return "invitation.ics" if kind == "text/calendar" else f"unnamed ({kind})"


def _decoded(part: EmailMessage) -> str:
    """Return a part's text in the charset that it really has, as far as that can be told."""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    if payload.startswith((b"\xff\xfe", b"\xfe\xff")):
        return payload.decode("utf-16", "replace")
    named = (part.get_content_charset() or "us-ascii").lower()
    if named in ("us-ascii", "ascii", "iso-8859-1", "latin-1", "latin1"):
        # Often it is UTF-8, and where it isn't nearly always windows-1252 (WHATWG Encoding §4.2).
        charsets = ("utf-8", "windows-1252")
        if named.startswith(("iso", "latin")):
            charsets = ("windows-1252",) if not _is_utf8(payload) else ("utf-8",)
    else:
        charsets = (named, "utf-8", "windows-1252")
    for charset in charsets:
        try:
            return payload.decode(charset).removeprefix("\ufeff")
        except (LookupError, ValueError):
            continue
    return payload.decode("windows-1252", "replace")


def _is_utf8(payload: bytes) -> bool:
    """Say whether bytes are UTF-8 beyond doubt: whole, with at least one letter of several bytes."""
    try:
        return not payload.decode("utf-8").isascii()
    except ValueError:
        return False


def _unflowed(text: str, *, delete_space: bool) -> str:
    """Join the lines of ``format=flowed`` (RFC 3676 §4)."""
    joined: list[str] = []
    open_depth = -1
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        rest = line[depth:].removeprefix(" ")
        flows = rest.endswith(" ") and rest != _SIGNATURE
        if open_depth == depth:
            joined[-1] += rest
        else:
            joined.append(f"{'>' * depth}{' ' if depth else ''}{rest}")
        if flows and delete_space:
            joined[-1] = joined[-1][:-1]
        open_depth = depth if flows else -1
    return "\n".join(joined)


def _begins_copy(lines: list[str], i: int) -> bool:
    """Say whether the whole message that is answered begins here, unquoted, as Outlook does it."""
    if _SAID_BEFORE_BLOCK.match(lines[i]):
        following = [line for line in lines[i + 1 : i + 6] if line.strip()]
        return bool(following) and _OUTLOOK_HEAD.match(following[0].strip("* ")) is not None
    if _OUTLOOK_HEAD.match(lines[i].strip("* ")):
        following = [line.strip("* ") for line in lines[i + 1 : i + 5] if line.strip()]
        return len(following) >= 2 and all(map(_OUTLOOK_NEXT.match, following[:2]))
    return False


def _quote_goes_on(lines: list[str], i: int) -> bool:
    """Say whether a blank line stands between two quoted ones."""
    return not lines[i].strip() and i + 1 < len(lines) and _QUOTED_LINE.match(lines[i + 1]) is not None


def _announcement(lines: list[str]) -> int:
    """Return how many lines at the end announce a quote: "On … wrote:", which is often wrapped."""
    for count in (1, 2, 3):
        if len(lines) >= count and _SAID_BEFORE.match(" ".join(lines[-count:])):
            return count
    return 0
