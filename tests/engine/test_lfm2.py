"""Calls written as Python calls, as LFM2 and LFM2.5 do."""

from typing import Any

import pytest

from botpsy_tui.engine.dialects import Lfm2Dialect
from botpsy_tui.engine.types import ToolCall
from tests.engine.reading import calls_of, read, reasoning_of, text_of


def call(arguments: str) -> str:
    """A call of ``book`` in tags."""
    return f"<|tool_call_start|>[book({arguments})]<|tool_call_end|>"


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        ('title="x"', {"title": "x"}),
        ("title='x'", {"title": "x"}),
        ("title='Lena's review', count=1", {"title": "Lena's review", "count": 1}),
        ('title="a \\"b\\" \\n c \\u00e9 \\ud83c\\udf89"', {"title": 'a "b" \n c é 🎉'}),
        ("title='it\\'s', flag=True", {"title": "it's", "flag": True}),
        ('title="<b> & [x](y)", flag=false', {"title": "<b> & [x](y)", "flag": False}),
        ('title="{\\"a\\": [1]}"', {"title": '{"a": [1]}'}),
        ('title="a\nb"', {"title": "a\nb"}),
        ('title="x", count=None', {"title": "x", "count": None}),
        ('title="x", items=["a", \'b\', "c]),"]', {"title": "x", "items": ["a", "b", "c]),"]}),
        ('title="x", items=("a",)', {"title": "x", "items": ["a"]}),
        (" title = 'x' , count = -3 ", {"title": "x", "count": -3}),
        ("title=12", {"title": "12"}),
        ('title="x", count="12"', {"title": "x", "count": 12}),
        ('title="x", more={"a": {\'b\': None}, "c": [1.5, true]}', None),
    ],
)
def test_arguments_are_read_as_python_or_json(arguments: str, values: dict[str, Any] | None) -> None:
    events, unfinished = read(Lfm2Dialect(), [call(arguments)])
    values = values or {"title": "x", "more": {"a": {"b": None}, "c": [1.5, True]}}
    assert calls_of(events) == [ToolCall("book", values)]
    assert (text_of(events), unfinished) == ("", "")


@pytest.mark.parametrize(
    "written",
    [
        '<|tool_call_start|>book(title="x")<|tool_call_end|>',
        '<|tool_call_start|>[book(title="x")]',
        '<|tool_call_start|>[book(title="x")',
        '<|tool_call_start|>\n[\n  book(title="x"),\n]\n<|tool_call_end|>',
        '[book(title="x")]',
        '[book(title="x")]<|tool_call_end|>',
        '<|tool_call_start|>[{"name": "book", "arguments": {"title": "x"}}]<|tool_call_end|>',
        '<|tool_call_start|>{"name": "book", "arguments": {"title": "x"}}<|tool_call_end|>',
    ],
)
def test_a_call_may_be_wrapped_in_other_ways(written: str) -> None:
    events, unfinished = read(Lfm2Dialect(), [f"I do it. {written}"])
    assert calls_of(events) == [ToolCall("book", {"title": "x"})]
    assert (text_of(events), unfinished) == ("I do it. ", "")


def test_calls_of_one_list_come_out_one_by_one() -> None:
    events, unfinished = read(Lfm2Dialect(), ['<|tool_call_start|>[book(title="a"), list_all(), book(title='])
    assert calls_of(events) == [ToolCall("book", {"title": "a"}), ToolCall("list_all", {})]
    assert "book(title=" in unfinished


@pytest.mark.parametrize(
    "text",
    [
        "See [book](https://a.example) and [list_all()](b).",
        "[book(title='x')](https://a.example)",
        "[book(title) is how it is called]",
        "[1, 2] and [a(b=1)]",
        'Write [book(title="x"), fly(to="y")] for both.',
    ],
)
def test_brackets_that_hold_no_call_are_text(text: str) -> None:
    events, unfinished = read(Lfm2Dialect(), list(text))
    assert (text_of(events), calls_of(events), unfinished) == (text, [], "")


@pytest.mark.parametrize(
    "arguments", ['"x"', "title=x", "title=", 'title="x" count=1', "title=1e999", f"items={'[' * 99}"]
)
def test_a_call_that_cant_be_read_is_neither_shown_nor_done(arguments: str) -> None:
    events, unfinished = read(Lfm2Dialect(), [call(arguments) + "Done." + call('title="y"')])
    assert calls_of(events) == [ToolCall("book", {"title": "y"})]
    assert text_of(events) == "Done."
    assert f"book({arguments})" in unfinished


def test_a_tag_that_holds_no_call_is_passed_over() -> None:
    events, _ = read(Lfm2Dialect(), list("<|tool_call_start|>I can't.<|tool_call_end|>"))
    assert text_of(events) == "I can't."


def test_a_call_that_is_only_thought_of_is_none() -> None:
    events, _ = read(Lfm2Dialect(), [f"<think>Perhaps {call('title=1')}?</think>No."])
    assert reasoning_of(events) == f"Perhaps {call('title=1')}?"
    assert (text_of(events), calls_of(events)) == ("No.", [])


def test_what_is_written_reads_back() -> None:
    calls = (
        ToolCall("book", {"title": 'a "b" \\n\n<|x|> é', "count": 3, "flag": True, "items": ["a", "b'"]}),
        ToolCall("book", {"title": "x", "count": None, "more": {"a": False}}),
        ToolCall("list_all", {}),
    )
    events, _ = read(Lfm2Dialect(), [Lfm2Dialect().written(calls, after="") or ""])
    assert tuple(calls_of(events)) == calls
