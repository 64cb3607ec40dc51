"""An HTML document as a page: what its reader would see of it, menus and advertisements left out."""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin

import trafilatura
from lxml import etree, html  # pyright: ignore[reportAttributeAccessIssue]

from botpsy_web.facts import facts_of, for_subscribers
from botpsy_web.page import Link, Page, Wall, within

_MOST_LINKS = 60
_SHORT = 400
"""Characters below which a page may be no more than a wall before the page."""

_STYLE = "translate(@style,' ;','')"
_UNSEEN = "|".join(
    (
        "//script|//style|//template|//noscript|//*[@hidden]|//*[@aria-hidden='true']|//input",
        f"//*[contains({_STYLE},'display:none') or contains({_STYLE},'visibility:hidden')]",
        f"//*[contains({_STYLE},'font-size:0') and not(contains({_STYLE},'font-size:0.'))]",
        f"//*[contains({_STYLE},'opacity:0') and not(contains({_STYLE},'opacity:0.'))]",
    )
)
"""What a reader does not see, as far as the document itself says so: instructions like to hide there."""

_INLINE = frozenset(
    (
        *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "i", "kbd", "label", "mark"),
        *("q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var"),
    )
)
_CAPTCHA = re.compile(
    r"captcha|just a moment|attention required|are you a (?:human|robot)|verify (?:that )?you are|"
    r"unusual traffic|checking your browser",
    re.IGNORECASE,
)
_SCRIPT_WANTED = re.compile(
    r"(?:enable|requires?|need|activate|turn on|without)\W+(?:\w+\W+){0,4}javascript|"
    r"javascript\W+(?:\w+\W+){0,4}(?:enabled|required|disabled|necessary)",
    re.IGNORECASE,
)


def html_page(text: str, url: str) -> Page | None:
    """Read a document that was found at `url`; None where there is nothing in it.

    libxml2 holds at 256 levels: no document is too deep for those who read its tree.
    """
    try:
        tree: Any = html.document_fromstring(
            text.encode("utf-8", "replace"), parser=html.HTMLParser(encoding="utf-8")
        )
    except (etree.ParserError, etree.XMLSyntaxError):
        return None
    scripts = [str(script.text or "") for script in tree.xpath("//script[contains(@type,'ld+json')]")]
    said_without_script = " ".join(tree.xpath("//noscript//text()"))
    has_login, has_script = bool(tree.xpath("//input[@type='password']")), bool(tree.xpath("//script"))
    for element in tree.xpath(_UNSEEN):
        if element.getparent() is not None:
            element.drop_tree()
    document: Any = trafilatura.bare_extraction(
        tree, url=url, with_metadata=True, include_links=True, include_comments=False, include_tables=True
    )
    main = document.body if document is not None else None
    blocks = _blocks(main) if main is not None else []
    everything = _all_blocks(tree)
    if _length(blocks) < min(_SHORT, _length(everything) // 2):
        blocks = everything
    title = (document is not None and document.title) or " ".join(tree.xpath("//title/text()")[:1])
    page = Page(
        title=" ".join(title.split()),
        author=(document is not None and document.author) or "",
        date=(document is not None and document.date) or "",
        links=_links(main, tree, url),
        facts=facts_of(scripts),
        **within(blocks),
    )
    wall: Wall = "subscribers" if for_subscribers(scripts) else ""
    if page.length < _SHORT:
        words = " ".join([title, *blocks])
        if _CAPTCHA.search(words):
            wall = "captcha"
        elif has_login:
            wall = "login"
        elif _SCRIPT_WANTED.search(f"{said_without_script} {words}") or (has_script and page.length < 60):
            wall = "script"
    return page.behind(wall)


def _blocks(main: Any) -> list[str]:
    """Return the blocks of what trafilatura took for the main part (its own XML)."""
    blocks: list[str] = []
    for element in main.iter("head", "p", "item", "row", "quote", "code", "ab"):
        if any(parent.tag in ("item", "row", "p", "quote", "head") for parent in element.iterancestors()):
            continue
        parts = element.iter("cell") if element.tag == "row" else (element,)
        text = " | ".join(filter(None, map(_text_of, parts)))
        if text:
            blocks.append({"head": "# ", "item": "- "}.get(element.tag, "") + text)
    return blocks


def _all_blocks(tree: Any) -> list[str]:
    """Return all text of a document, menus and all, one block for each piece that stands by itself."""
    body = tree.find("body")
    pieces = [""]
    for event, element in etree.iterwalk(tree if body is None else body, events=("start", "end")):
        if isinstance(element.tag, str) and element.tag not in _INLINE:
            pieces.append("")
        said = element.text if event == "start" and isinstance(element.tag, str) else None
        pieces[-1] += (element.tail if event == "end" and element is not body else said) or ""
    return [text for piece in pieces if (text := " ".join(piece.split()))]


def _links(main: Any, tree: Any, url: str) -> tuple[Link, ...]:
    """Return the links to other pages, each once, those of the main part first."""
    found: dict[str, Link] = {}
    inside: Iterable[Any] = main.iter("ref") if main is not None else ()
    for element in [*inside, *tree.xpath("//a[@href]")]:
        try:
            target = urljoin(url, element.get("target") or element.get("href") or "").partition("#")[0]
        except ValueError:
            continue
        words = _text_of(element)
        if words and target != url.partition("#")[0] and re.match(r"https?://", target):
            found.setdefault(target, Link(words[:120], target))
    return tuple(found.values())[:_MOST_LINKS]


def _text_of(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _length(blocks: list[str]) -> int:
    return sum(map(len, blocks))
