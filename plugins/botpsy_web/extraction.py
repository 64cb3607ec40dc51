"""Turns a body into a page, in a process of its own: ``python -m botpsy_web.extraction``.

Bodies are written by strangers and read by large parsers. Here they may take a bounded time and
memory, and a fault of theirs takes nothing else down. On standard input comes one line of JSON
(content type, charset, address) and the body; on standard output goes one object of JSON, a page
or a problem.
"""

import io
import json
import logging
import re
import resource
import sys
from typing import Any, cast

from botpsy_web.bodies import decoded
from botpsy_web.page import HTML, MOST_TEXT, PDF, TEXT, Page, within

_CPU_SECONDS = 20
_MEMORY = 2 * 1024**3
_MOST_PDF_PAGES = 300
_LOOKED_AT = 1024


class Unreadable(Exception):
    """The body can't be read as a page; the message completes the sentence "The page …"."""


def page_of(body: bytes, content_type: str, charset: str, url: str) -> Page:
    """Read a body as what it says it is, or looks like where it says nothing. Raises `Unreadable`."""
    start = body[:_LOOKED_AT]
    if start.lstrip().startswith(b"%PDF-"):
        return _pdf(body)
    if content_type in PDF:
        raise Unreadable("is called a PDF and is none")
    if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("is no text")
    text = decoded(body, charset)
    looks_like_html = re.match(
        r"\s*(?:<!--[^>]*>\s*)*<(?:!doctype html|html|head|body)\b", text, re.IGNORECASE
    )
    if content_type in HTML or (content_type not in TEXT and looks_like_html):
        from botpsy_web.html_page import html_page  # slow to import, and not needed for the others

        page = html_page(text, url)
    else:
        page = Page(**within(_paragraphs(text)))
    if page is None or not (page.blocks or page.facts or page.wall):
        raise Unreadable("holds nothing to read")
    return page


def _pdf(body: bytes) -> Page:
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(body))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is a PDF that is locked with a password")
        blocks: list[str] = []
        count = len(reader.pages)
        for number in range(min(count, _MOST_PDF_PAGES)):
            blocks += _paragraphs(reader.pages[number].extract_text())
            if sum(map(len, blocks)) > MOST_TEXT:
                break
        about = reader.metadata
        changed = (about.modification_date or about.creation_date) if about else None
    except Unreadable:
        raise
    except Exception as error:  # a damaged file can break a parser in any way
        raise Unreadable("is a PDF that is damaged or not whole") from error
    if not blocks:
        raise Unreadable(f"is a PDF without text, {count} pictures of pages" if count else "is an empty PDF")
    return Page(
        title=str((about and about.title) or ""),
        author=str((about and about.author) or ""),
        date=f"{changed:%Y-%m-%d}" if changed else "",
        **within(blocks, more=count > _MOST_PDF_PAGES),
    )


def _paragraphs(text: str) -> list[str]:
    """Return what stands between empty lines, each in one line where it was wrapped."""
    return [joined for part in re.split(r"\n\s*\n", text) if (joined := " ".join(part.split()))]


def main() -> None:
    """Read one body, write one page."""
    # What the parsers print is no page: standard output is kept for ours.
    output, sys.stdout = sys.stdout, sys.stderr
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    head = cast(dict[str, str], json.loads(sys.stdin.buffer.readline()))
    result: dict[str, Any]
    try:
        result = page_of(
            sys.stdin.buffer.read(), head["content_type"], head["charset"], head["url"]
        ).as_json()
    except Unreadable as problem:
        result = {"problem": str(problem)}
    except (MemoryError, RecursionError):
        result = {"problem": "is built so that it can't be read"}
    json.dump(result, output)


if __name__ == "__main__":
    main()
