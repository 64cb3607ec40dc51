"""Calls written as JSON, in tags or in a Markdown fence."""

import pytest

from botpsy_tui.engine.dialects import HermesDialect
from botpsy_tui.engine.types import ToolCall
from tests.engine.reading import TOOLS, calls_of, read, text_of

CALL = '{"name": "book", "arguments": {"title": "x"}}'


@pytest.mark.parametrize(
    ("written", "title"),
    {
        "tags": (f"<tool_call>\n{CALL}\n</tool_call>", "x"),
        "fence": (f"```json\n{CALL}\n```", "x"),
        "the declarations' tag": (f"<tools>\n{CALL}\n</tools>", "x"),
        "no closing tag": (f"<tool_call>{CALL}", "x"),
        "a list of one": (f"<tool_call>\n[{CALL}]\n</tool_call>", "x"),
        "arguments as a string": (
            '<tool_call>{"name": "book", "arguments": "{\\"title\\": \\"x\\"}"}</tool_call>',
            "x",
        ),
        "parameters for arguments": (
            '<tool_call>{"name": "book", "parameters": {"title": "x"}}</tool_call>',
            "x",
        ),
        "an endpoint's form": (
            '<tool_call>{"type": "function", "function": {"name": "book", "arguments": {"title": "x"}}}'
            "</tool_call>",
            "x",
        ),
        "braces and tags inside a string": (
            '<tool_call>{"name": "book", "arguments": {"title": "}{ </tool_call> \\" ```"}}</tool_call>',
            '}{ </tool_call> " ```',
        ),
        "line breaks inside a string": (
            '<tool_call>{"name": "book", "arguments": {"title": "a\nb"}}</tool_call>',
            "a\nb",
        ),
        "JSON inside a string": (
            '<tool_call>{"name": "book", "arguments": {"title": "{\\"name\\": \\"book\\"}"}}</tool_call>',
            '{"name": "book"}',
        ),
        "quotes that were not escaped": (
            '<tool_call>{"name": "book", "arguments": {"title": "a "b" c"}}</tool_call>',
            'a "b" c',
        ),
        "Python's quotes": ("<tool_call>{'name': 'book', 'arguments': {'title': 'x'}}</tool_call>", "x"),
        "a brace forgotten": (
            '<tool_call>\n{"name": "book", "arguments": {"title": "x"}\n</tool_call>',
            "x",
        ),
    }.values(),
)
def test_a_call_is_read(written: str, title: str) -> None:
    events, unfinished = read(HermesDialect(), [written])
    assert calls_of(events) == [ToolCall("book", {"title": title})]
    assert (text_of(events), unfinished) == ("", "")


def test_several_calls_in_one_tag_each_come_as_they_are_complete() -> None:
    parser = HermesDialect().parser(TOOLS)
    assert len(calls_of(parser.feed(f"<tool_call>\n{CALL}\n"))) == 1
    assert len(calls_of(parser.feed(f"{CALL}, {CALL}"))) == 2
    assert parser.finish() == ([], "")


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "Ann", "age": 3}\n```',
        '```json\n{"name": "Ann", "arguments": {"with": "Bob"}}\n```',
        '```json\n{"title": "x"}\n``` is an example.',
        '```json\n{"title": ',
        "```json\n```",
    ],
)
def test_json_in_a_fence_that_calls_no_known_tool_is_text(text: str) -> None:
    events, unfinished = read(HermesDialect(), list(text))
    assert (text_of(events), calls_of(events), unfinished) == (text, [], "")


def test_a_tags_unknown_tool_is_a_call_to_be_answered() -> None:
    events, _ = read(HermesDialect(), ['<tool_call>{"name": "fly", "arguments": {}}</tool_call>'])
    assert calls_of(events) == [ToolCall("fly", {})]


@pytest.mark.parametrize(
    "call", ['{"name": "book", "arguments": {"title": a}}', '{"arguments": {}}', '{"name": 3}']
)
def test_a_call_that_cant_be_read_is_neither_shown_nor_done_and_the_next_one_is(call: str) -> None:
    events, unfinished = read(
        HermesDialect(), [f"<tool_call>\n{call}\n</tool_call>\n<tool_call>\n{CALL}\n</tool_call>Done."]
    )
    assert calls_of(events) == [ToolCall("book", {"title": "x"})]
    assert text_of(events) == "Done."
    assert call in unfinished


def test_a_tag_that_holds_no_call_is_passed_over() -> None:
    events, _ = read(HermesDialect(), list("<tool_call>I can't do that.</tool_call>"))
    assert text_of(events) == "I can't do that."


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_number_that_json_does_not_have_makes_no_call(number: str) -> None:
    written = f'<tool_call>{{"name": "book", "arguments": {{"title": "x", "count": {number}}}}}</tool_call>'
    events, unfinished = read(HermesDialect(), [written])
    assert not calls_of(events)
    assert number in unfinished


def test_what_is_nested_without_end_makes_no_call() -> None:
    deep = "[" * 3000 + "]" * 3000
    events, _ = read(HermesDialect(), [f'<tool_call>{{"name": "book", "arguments": {deep}}}</tool_call>'])
    assert not calls_of(events)
