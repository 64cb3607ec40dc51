"""Markdown in an answer shows what it is, and brings nothing back that the sanitiser has shown."""

import io

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from botpsy_tui.tui.markdown import still_markdown
from tests.security.hostile import dangers


def drawn(text: str) -> str:
    console = Console(
        file=io.StringIO(), width=100, force_terminal=True, color_system=None, legacy_windows=False
    )
    console.print(still_markdown(text))
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", ["&#x202e;", "&#8203;x", "<http://a.example/%E2%80%AE>", "[a](http://b.example/%1b%5b)"]
)
def test_no_reference_and_no_percent_sign_becomes_a_hidden_character(text: str) -> None:
    assert not dangers(drawn(text))


def test_the_library_by_itself_brings_them_back() -> None:
    assert "\u202e" in MarkdownIt().render("&#x202e;")
    assert "\u202e" in MarkdownIt().render("<http://a.example/%E2%80%AE>")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[your bank](http://evil.example/x)", "your bank (evil.example · http://evil.example/x)"),
        ("![logo](http://evil.example/x.png)", "[image: logo] (evil.example · http://evil.example/x.png)"),
        ("<b onclick=x>html</b> <!-- hidden -->", "<b onclick=x>html</b> <!-- hidden -->"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("[x](https://bank.example@evil.example/)", "the link goes to evil.example"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("**bold** and `code`", "bold and code"),
        ("[b]no markup[/b] [@click=app.quit]x[/]", "[b]no markup[/b] [@click=app.quit]x[/]"),
    ],
)
def test_what_is_written_is_what_is_shown(text: str, shown: str) -> None:
    assert shown in " ".join(drawn(text).split())


def test_a_link_is_no_hyperlink_of_the_terminal() -> None:
    assert "\x1b]8" not in drawn("[a](http://b.example) <http://b.example> ![c](http://b.example)")
