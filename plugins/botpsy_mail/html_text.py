"""Turns HTML of a mail into text that can be read in a terminal, without loading anything.

What a mail program would not show is left out, so that nobody can write to the model behind the
person's back. Links keep their host; where a link's words name another host, both are shown.
"""

import re
from html.parser import HTMLParser

from botpsy_tui.plugin import shown_link

_BLOCKS = frozenset(
    ("p", "div", "table", "tr", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article",
     "header", "footer", "pre", "form", "address", "center", "hr", "dl", "dt", "dd", "figure")
)  # fmt: skip
_APART = frozenset(("p", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre"))
_SILENT = frozenset(
    ("script", "style", "head", "title", "template", "noscript", "object", "svg", "math", "select")
)
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all|opacity\s*:\s*0(?:\.0*)?\s*(?:;|!|$)"
    r"|font-size\s*:\s*[01](?:\.\d*)?(?:px|pt|em|%)?\s*(?:;|!|$)"
    r"|(?:max-)?(?:height|width)\s*:\s*0(?:px)?\s*(?:;|!|$)|text-indent\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_DEEPEST = 400
_HOST = re.compile(r"^(?:https?://)?((?:[\w-]+\.)+[a-z]{2,})(?:[/?#:].*)?$", re.IGNORECASE)


def text_of_html(html: str) -> str:
    """Return what a person would read of an HTML page of a mail, quotes marked with ``>``."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    """Collects lines; every open element is remembered, so that hidden ones hide what is in them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._line = ""
        self._open: list[tuple[str, bool]] = []
        self._hidden = 0
        self._quotes = 0
        self._lists: list[int | None] = []
        self._link = ""
        self._link_words = ""
        self._cells = 0

    def text(self) -> str:
        """Return the lines that were collected."""
        self._break()
        joined = "\n".join(self._lines)
        return re.sub(r"\n{3,}", "\n\n", joined).strip("\n")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        hidden = tag in _SILENT or "hidden" in attributes or _is_hidden(attributes.get("style") or "")
        if tag not in _VOID and len(self._open) < _DEEPEST:
            self._open.append((tag, hidden))
            self._hidden += hidden
        if self._hidden or hidden:
            return
        if tag == "br":
            self._break(keep=True)
        elif tag == "blockquote":
            self._break()
            self._gap()
            self._quotes += 1
        elif tag in ("td", "th"):
            if self._cells and self._line.strip():
                self._line += "  "
            self._cells += 1
        elif tag == "li":
            self._break()
            self._line = "  " * (len(self._lists) - 1) + self._bullet()
        elif tag in _BLOCKS:
            self._break()
            if tag in _APART:
                self._gap()
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "tr":
            self._cells = 0
        elif tag == "a":
            self._link, self._link_words = attributes.get("href") or "", ""
        elif tag == "img" and (alternative := (attributes.get("alt") or "").strip()):
            self.handle_data(f"[{alternative}]")

    def handle_endtag(self, tag: str) -> None:
        if tag not in (name for name, _ in self._open):
            return
        while self._open:
            name, hidden = self._open.pop()
            if not self._hidden:
                self._closed(name)
            self._hidden -= hidden
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        preformatted = any(name == "pre" for name, _ in self._open[-5:])
        if preformatted:
            first, *more = data.split("\n")
            self._line += first
            for line in more:
                self._break(keep=True)
                self._line = line
            return
        words = re.sub(r"[ \t\r\n\f\xa0]+", " ", data)
        if not self._line or self._line.endswith(" "):
            words = words.lstrip(" ")
        self._line += words
        if self._link:
            self._link_words += words

    def _closed(self, tag: str) -> None:
        if tag == "a":
            self._line += _where_to(self._link, self._link_words.strip())
            self._link = ""
        elif tag == "blockquote":
            self._break()
            self._quotes = max(self._quotes - 1, 0)
            self._gap()
        elif tag in _BLOCKS or tag == "li":
            self._break()
            if tag in _APART:
                self._gap()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()

    def _break(self, *, keep: bool = False) -> None:
        line, self._line = self._line.rstrip(), ""
        if line or keep:
            self._lines.append(f"{'>' * self._quotes} {line}".rstrip() if self._quotes else line)

    def _gap(self) -> None:
        if self._lines and self._lines[-1].strip("> "):
            self._lines.append(">" * self._quotes)

    def _bullet(self) -> str:
        if self._lists and (count := self._lists[-1]) is not None:
            self._lists[-1] = count + 1
            return f"{count + 1}. "
        return "• "


def _is_hidden(style: str) -> bool:
    return _HIDDEN_STYLE.search(re.sub(r"/\*.*?\*/", "", style)) is not None


def _where_to(url: str, words: str) -> str:
    """Return what stands behind a link's words: where it goes, unless the words say just that."""
    if not url or url.startswith(("#", "cid:")):
        return ""
    shown = shown_link(url.strip()).text
    host, _, whole = shown.partition(" · ")
    if not whole:
        return "" if shown.removeprefix("mailto:") == words else f" ({shown})"
    named = _HOST.match(words)
    if words == url.strip() or (named and named[1].lower().removeprefix("www.") == host.removeprefix("www.")):
        return ""
    return f" ({host})"
