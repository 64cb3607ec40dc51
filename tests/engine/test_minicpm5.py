"""Calls written as XML with names in attributes, as MiniCPM5 does."""

import pytest

from botpsy_tui.engine.dialects import MiniCpm5Dialect
from botpsy_tui.engine.types import ToolCall
from tests.engine.reading import calls_of, read, reasoning_of, text_of


def call(**values: str) -> str:
    """A call of ``book`` as the template writes it."""
    parameters = "".join(f'<param name="{name}">{value}</param>' for name, value in values.items())
    return f'<function name="book">{parameters}</function>'


@pytest.mark.parametrize(
    ("written", "title"),
    {
        "bare": (call(title="x"), "x"),
        "blanks around": (call(title="x").replace("><", ">\n <"), "x"),
        "an entity is what it is": (call(title="a &amp; b &lt;"), "a &amp; b &lt;"),
        "CDATA": (call(title="<![CDATA[a <b>\n & </param> c]]>"), "a <b>\n & </param> c"),
        "CDATA that holds its own end": (call(title="<![CDATA[a]]> b]]>"), "a]]> b"),
        "quotes and markup without CDATA": (call(title='a <b> "c"\nd'), 'a <b> "c"\nd'),
        "a closing tag without CDATA": (call(title="write </param> here"), "write </param> here"),
        "JSON in a value": (call(title='{"a": [1]}'), '{"a": [1]}'),
        "nothing": (call(title=""), ""),
        "a parameter closed twice": (call(title="x").replace("</param>", "</param></param>"), "x"),
    }.values(),
)
def test_a_call_is_read(written: str, title: str) -> None:
    events, unfinished = read(MiniCpm5Dialect(), [written])
    assert calls_of(events) == [ToolCall("book", {"title": title})]
    assert (text_of(events), unfinished) == ("", "")


@pytest.mark.parametrize("items", ["['a', 'b']", '["a", "b"]', "<![CDATA[['a', 'b']]]>"])
def test_values_are_typed_by_the_schema_lists_also_as_python_writes_them(items: str) -> None:
    events, _ = read(MiniCpm5Dialect(), [call(title="12", count="12", flag="True", items=items)])
    assert calls_of(events) == [
        ToolCall("book", {"title": "12", "count": 12, "flag": True, "items": ["a", "b"]})
    ]


def test_text_and_several_calls_are_told_apart() -> None:
    events, _ = read(MiniCpm5Dialect(), [f"I do both.\n{call(title='a')}\n{call(title='b')}\n\nDone."])
    assert [c.arguments["title"] for c in calls_of(events)] == ["a", "b"]
    assert text_of(events) == "I do both.\n\n\nDone."


def test_markup_that_is_no_call_stays_text() -> None:
    text = "#include <functional> and <function foo() {}> in </function>"
    events, unfinished = read(MiniCpm5Dialect(), list(text))
    assert (text_of(events), unfinished) == (text, "")


@pytest.mark.parametrize(
    "given_up",
    [
        '<function name="book">Sure!</function>',
        '<function name="book"><param name="title">a</param>\n',
        '<function name="book"><param name="title">a\n',
        '<function name=""></function>',
    ],
)
def test_a_call_that_was_given_up_is_no_part_of_the_next(given_up: str) -> None:
    events, unfinished = read(MiniCpm5Dialect(), [given_up + call(title="b")])
    assert calls_of(events) == [ToolCall("book", {"title": "b"})]
    assert text_of(events) == ""
    assert given_up.strip() in unfinished


def test_reasoning_is_told_from_the_call() -> None:
    events, _ = read(MiniCpm5Dialect(), [f"Hm.\n</think>\n\n{call(title='a')}"], in_reasoning=True)
    assert reasoning_of(events) == "Hm."
    assert len(calls_of(events)) == 1


def test_what_is_written_reads_back() -> None:
    calls = (
        ToolCall("book", {"title": "a <b> & </param>\nc", "count": 3, "flag": True, "items": ["a", "b'"]}),
        ToolCall("list_all", {}),
    )
    written = MiniCpm5Dialect().written(calls, after="Both.") or ""
    events, _ = read(MiniCpm5Dialect(), ["Both." + written])
    assert tuple(calls_of(events)) == calls
    assert text_of(events) == "Both.\n"
