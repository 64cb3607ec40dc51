"""What the models write is read as it streams: text, reasoning and calls, and never half a call."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.engine.dialects import (
    Dialect,
    HermesDialect,
    Lfm2Dialect,
    MiniCpm5Dialect,
    PlainDialect,
    QwenXmlDialect,
    dialect_of,
)
from botpsy_tui.engine.types import TextDelta, ToolCall
from tests.engine.reading import TOOLS, calls_of, read, reasoning_of, text_of

PIECES = {
    "hermes": [
        "<tool_call>",
        "</tool_call>",
        "```json",
        "```",
        "<tools>",
        '{"name": "book", "arguments": {"title": "a"}}',
        '{"name": "book", "arguments": {"title": "a"}',
        '{"name": "',
        '"arguments": {',
    ],
    "qwen3.5": [
        "<tool_call>",
        "</tool_call>",
        "<function=book>",
        "<function=other>",
        "<function=",
        "<parameter=title>",
        "<parameter=count>",
        "<parameter=",
        "</parameter>",
        "</function>",
        '{"name": "book", "arguments": {"title": "a"}}',
    ],
    "lfm2": [
        "<|tool_call_start|>",
        "<|tool_call_end|>",
        "[book(",
        "[book(title=",
        'book(title="a")',
        "list_all()",
        "title=",
        '"a"',
        "None",
        '{"name": "book", "arguments": {"title": "a"}}',
    ],
    "minicpm5": [
        '<function name="book">',
        '<function name="',
        "</function>",
        '<param name="title">',
        '<param name="count">',
        '<param name="',
        "</param>",
        "<![CDATA[",
        "]]>",
    ],
    "plain": ["<tool_call>", "</tool_call>"],
}
"""What each family writes calls with: joined in any order, good calls and bad ones come out."""
COMMON = [
    "<think>",
    "</think>",
    "\n",
    " ",
    "a",
    "<",
    ">",
    '"',
    "'",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    "\\",
    "=1",
]
WHOLE = {
    "hermes": '<tool_call>\n{"name": "book", "arguments": {"title": "x", "count": 12}}\n</tool_call>',
    "qwen3.5": "<tool_call>\n<function=book>\n<parameter=title>\nx\n</parameter>\n"
    "<parameter=count>\n12\n</parameter>\n</function>\n</tool_call>",
    "lfm2": '<|tool_call_start|>[book(title="x", count=12)]<|tool_call_end|>',
    "minicpm5": '<function name="book"><param name="title">x</param>'
    '<param name="count">12</param></function>',
}
DIALECTS = [HermesDialect(), QwenXmlDialect(), Lfm2Dialect(), MiniCpm5Dialect()]
ALL = [*DIALECTS, PlainDialect()]


def named(dialect: Dialect) -> str:
    return dialect.name


@pytest.mark.parametrize("dialect", ALL, ids=named)
@given(data=st.data())
@settings(max_examples=400)
def test_any_text_cut_anywhere_reads_the_same_as_whole(dialect: Dialect, data: st.DataObject) -> None:
    pieces = st.sampled_from([*PIECES[dialect.name], *COMMON])
    written = "".join(data.draw(st.lists(pieces, max_size=14)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=12)))
    in_reasoning = data.draw(st.booleans())
    parts = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    whole, whole_unfinished = read(dialect, [written], in_reasoning=in_reasoning)
    cut, cut_unfinished = read(dialect, parts, in_reasoning=in_reasoning)
    assert calls_of(cut) == calls_of(whole)
    assert text_of(cut) == text_of(whole)
    assert reasoning_of(cut) == reasoning_of(whole)
    assert cut_unfinished == whole_unfinished


@pytest.mark.parametrize("dialect", DIALECTS, ids=named)
@given(data=st.data())
def test_what_is_cut_off_is_never_a_call_with_less_in_it(dialect: Dialect, data: st.DataObject) -> None:
    whole = WHOLE[dialect.name]
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    events, unfinished = read(dialect, [cut])
    assert calls_of(events) in ([], [ToolCall("book", {"title": "x", "count": 12})])
    assert calls_of(events) or unfinished or len(cut) < 4
    assert text_of(events) in ("", cut[:3]), "no part of a tag is shown"


@pytest.mark.parametrize("dialect", DIALECTS, ids=named)
def test_a_call_comes_out_with_its_last_character_and_text_before_it_at_once(dialect: Dialect) -> None:
    parser = dialect.parser(TOOLS)
    assert parser.feed("Let me see.") == [TextDelta("Let me see.")]
    events = [event for character in WHOLE[dialect.name] for event in parser.feed(character)]
    assert calls_of(events) == [ToolCall("book", {"title": "x", "count": 12})]
    assert text_of(events) == ""
    assert parser.finish() == ([], "")


@pytest.mark.parametrize("dialect", DIALECTS, ids=named)
def test_calls_in_a_row_are_all_read_and_the_blanks_between_them_are_not_shown(dialect: Dialect) -> None:
    one = WHOLE[dialect.name]
    events, unfinished = read(dialect, [f"I do both.\n{one}\n{one}\n"])
    assert len(calls_of(events)) == 2
    assert text_of(events) == "I do both.\n"
    assert unfinished == ""


@pytest.mark.parametrize("dialect", DIALECTS, ids=named)
def test_text_after_a_call_is_shown_with_its_blanks(dialect: Dialect) -> None:
    events, _ = read(dialect, [f"First.{WHOLE[dialect.name]}\n\nThen."])
    assert text_of(events) == "First.\n\nThen."


@pytest.mark.parametrize("dialect", DIALECTS, ids=named)
def test_an_opening_is_told_only_while_its_call_is_not_complete(dialect: Dialect) -> None:
    parser = dialect.parser(TOOLS)
    parser.feed("Well. " + dialect.opener)
    assert parser.opening is not None
    assert (parser.opening.opener, parser.opening.overhang) == (dialect.opener, "")
    parser.feed("\n")
    assert parser.opening is None, "it was told"
    parser = dialect.parser(TOOLS)
    parser.feed(WHOLE[dialect.name])
    assert parser.opening is None, "the call is there already"


def test_reasoning_is_told_from_the_answer() -> None:
    events, _ = read(QwenXmlDialect(), ["I th", "ink so.\n</th", "ink>\n\nYes."], in_reasoning=True)
    assert reasoning_of(events) == "I think so."
    assert text_of(events) == "Yes."


def test_a_call_inside_reasoning_ends_the_reasoning() -> None:
    events, _ = read(QwenXmlDialect(), ["Hm. " + WHOLE["qwen3.5"]], in_reasoning=True)
    assert len(calls_of(events)) == 1
    assert reasoning_of(events) == "Hm."


@pytest.mark.parametrize("dialect", ALL, ids=named)
def test_a_stray_end_of_reasoning_is_not_shown(dialect: Dialect) -> None:
    events, _ = read(dialect, list("</think>\n\nYes."))
    assert text_of(events) == "Yes."


@pytest.mark.parametrize(
    "text",
    [
        "a < b and <table>",
        "```python\nprint(1)\n```",
        "```json\n[1, 2]\n```",
        "{a}",
        "ends with ```",
        "1 <",
        "[a](b)",
    ],
)
@pytest.mark.parametrize("dialect", ALL, ids=named)
def test_text_that_only_looks_like_a_call_stays_text(dialect: Dialect, text: str) -> None:
    events, unfinished = read(dialect, list(text))
    assert text_of(events) == text
    assert not calls_of(events)
    assert unfinished == ""


def test_the_dialect_is_chosen_from_the_template() -> None:
    assert dialect_of("… <tool_call>\n<function=x>\n<parameter=y> …").name == "qwen3.5"
    assert dialect_of('… <tool_call>\n{"name": …').name == "hermes"
    assert not dialect_of("{{ messages }}").calls_tools
