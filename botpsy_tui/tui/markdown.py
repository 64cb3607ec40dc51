"""Markdown as the chat reads it: a link is text that says where it goes, and nothing opens or loads."""

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from rich.markdown import Markdown as RichMarkdown

from botpsy_tui.plugin import for_display, for_display_line, shown_link


def inert_parser() -> MarkdownIt:
    """Return a parser (CommonMark with tables) whose output shows all that is written, and acts on nothing.

    HTML is text. Character references and percent signs stay as they are written: decoded, they
    would bring back, behind the sanitiser, the very characters that it shows. Links and images
    become text with the link's host.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.disable(["entity"])
    parser.normalizeLinkText = _as_written
    parser.core.ruler.push("links_as_text", _links_as_text)
    return parser


def still_markdown(text: str) -> RichMarkdown:
    """Return a whole text as one thing to draw."""
    drawn = RichMarkdown("", hyperlinks=False)
    drawn.markup = for_display(text)
    drawn.parsed = inert_parser().parse(drawn.markup)
    return drawn


def _as_written(link: str) -> str:
    return link


def _links_as_text(state: StateCore) -> None:
    for block in state.tokens:
        if block.type == "inline":
            block.children = _without_links(block.children or [])


def _without_links(tokens: list[Token]) -> list[Token]:
    kept: list[Token] = []
    targets: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            targets.append(str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            kept.append(_text(f" ({_where(targets.pop())})"))
        elif token.type == "image":
            where = _where(str(token.attrs.get("src", "")))
            kept.append(_text(f"[image: {for_display_line(token.content)}] ({where})"))
        else:
            kept.append(token)
    return kept


def _where(url: str) -> str:
    shown = shown_link(url)
    return " ! ".join((shown.text, *shown.warnings))


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
