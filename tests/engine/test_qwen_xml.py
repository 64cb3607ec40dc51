"""Calls written as XML with bare values, as Qwen3.5 and BotPsy do."""

from typing import Any

import pytest

from botpsy_tui.engine.dialects import QwenXmlDialect
from botpsy_tui.engine.types import ToolCall, ToolSchema
from tests.engine.reading import calls_of, read, text_of


def call(**values: str) -> str:
    """A call of ``book`` as the template writes it."""
    parameters = "".join(f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items())
    return f"<tool_call>\n<function=book>\n{parameters}</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("written", "title"),
    {
        "as the template writes it": (call(title="x"), "x"),
        "several lines, markup and quotes": (call(title='a <b>\n"c"\n  d'), 'a <b>\n"c"\n  d'),
        "a value's own line breaks and indents": (call(title="  a\n\n"), "  a\n\n"),
        "a closing tag in a value": (call(title="write </parameter> here"), "write </parameter> here"),
        "a line that closes in a value": (call(title="a\n</parameter>\nb"), "a\n</parameter>\nb"),
        "a function's end in a value": (call(title="a\n</function>\nb"), "a\n</function>\nb"),
        "an unknown parameter's tag in a value": (call(title="a\n<parameter=x>\nb"), "a\n<parameter=x>\nb"),
        "JSON in a value": (call(title='{"a": [1]}'), '{"a": [1]}'),
        "nothing": (call(title=""), ""),
        "all on one line": (
            "<tool_call><function=book><parameter=title>x</parameter></function></tool_call>",
            "x",
        ),
        "no tool_call tag": ("<function=book>\n<parameter=title>\nx\n</parameter>\n</function>", "x"),
        "a closing tag without an opening one": (
            "<function=book>\n<parameter=title>\nx\n</parameter>\n</function>\n</tool_call>",
            "x",
        ),
        "no closing tag": (call(title="x").removesuffix("\n</tool_call>"), "x"),
        "a parameter closed twice": (
            call(title="x").replace("</parameter>\n", "</parameter>\n</parameter>\n"),
            "x",
        ),
        "a parameter for a function's end": (call(title="x").replace("</function>", "</parameter>"), "x"),
        "a parameter not closed": (call(title="x").replace("</parameter>\n", ""), "x"),
        "JSON in the tag": (
            '<tool_call>\n{"name": "book", "arguments": {"title": "x"}}\n</tool_call>',
            "x",
        ),
    }.values(),
)
def test_a_call_is_read(written: str, title: str) -> None:
    events, unfinished = read(QwenXmlDialect(), [written])
    assert calls_of(events) == [ToolCall("book", {"title": title})]
    assert (text_of(events), unfinished) == ("", "")


def test_values_are_typed_by_the_schema() -> None:
    events, _ = read(QwenXmlDialect(), [call(title="12", count="12", flag="True", items='["a", "b"]')])
    assert calls_of(events) == [
        ToolCall("book", {"title": "12", "count": 12, "flag": True, "items": ["a", "b"]})
    ]


def test_a_parameter_not_closed_ends_where_a_known_one_begins() -> None:
    written = call(title="x", count="3").replace("\n</parameter>\n<parameter=count>", "\n<parameter=count>")
    events, _ = read(QwenXmlDialect(), [written])
    assert calls_of(events) == [ToolCall("book", {"title": "x", "count": 3})]


UNION = {"type": ["object", "number", "string"]}


@pytest.mark.parametrize(
    ("schema", "written", "value"),
    [
        ({"type": "string"}, "12", "12"),
        ({"type": "integer"}, "12", 12),
        ({"type": "number"}, "1.5", 1.5),
        ({"type": "integer"}, "None", None),
        ({"type": "boolean"}, "false", False),
        ({"type": ["string", "null"]}, "null", None),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "None", None),
        ({"type": ["string", "null"]}, "nullify", "nullify"),
        (UNION, '{"a": 1}', {"a": 1}),
        (UNION, "{not JSON", "{not JSON"),
        (UNION, "42", 42),
        (UNION, "[1]", "[1]"),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": [1, 2]}, "1", 1),
        ({"$ref": "#/$defs/Name"}, "12", "12"),
        ({"allOf": [{"$ref": "#/$defs/Name"}], "description": "Who."}, "12", "12"),
        ({"anyOf": [{"$ref": "#/$defs/Name"}, {"type": "null"}]}, "12", "12"),
        ({"type": "array"}, "['a', True, None, (1, 2)]", ["a", True, None, [1, 2]]),
        ({"type": "array"}, '["it\'s", "b"]', ["it's", "b"]),
        ({"type": "array"}, "['it's', 'b']", ["it's", "b"]),
        ({"type": "object"}, "{'a': {'b': 1.5}}", {"a": {"b": 1.5}}),
        ({"type": "array"}, "[__import__('os')]", "[__import__('os')]"),
        ({"type": "array"}, "[" * 2000, "[" * 2000),
        ({"type": "number"}, "Infinity", "Infinity"),
        ({}, "12", 12),
        ({}, "twelve", "twelve"),
    ],
)
def test_a_value_is_what_its_schema_asks_for(schema: dict[str, Any], written: str, value: Any) -> None:
    parameters = {"type": "object", "properties": {"a": schema}, "$defs": {"Name": {"type": "string"}}}
    text = f"<tool_call>\n<function=f>\n<parameter=a>\n{written}\n</parameter>\n</function>\n</tool_call>"
    events, _ = read(QwenXmlDialect(), [text], tools=[ToolSchema("f", "F.", parameters)])
    assert calls_of(events) == [ToolCall("f", {"a": value})]
    assert type(calls_of(events)[0].arguments["a"]) is type(value)


@pytest.mark.parametrize(
    "given_up",
    [
        "<tool_call>\n<function=book>\n<parameter=title>\na\n",
        "<tool_call>\n<function=book>\n<parameter=title>\na\n</parameter>\n",
        "<tool_call>\n<function=book>\n",
        "<tool_call>\n<function=book\n",
        "<function=book>\n<parameter=title>\na\n",
    ],
)
def test_a_call_that_was_given_up_is_no_part_of_the_next(given_up: str) -> None:
    events, unfinished = read(QwenXmlDialect(), [given_up + call(title="b")])
    assert calls_of(events) == [ToolCall("book", {"title": "b"})]
    assert text_of(events) == ""
    assert given_up.strip() in unfinished


def test_two_functions_in_one_tag_are_two_calls() -> None:
    one = "<function=book>\n<parameter=title>\nx\n</parameter>\n</function>\n"
    events, _ = read(QwenXmlDialect(), [f"<tool_call>\n{one}{one}</tool_call>"])
    assert len(calls_of(events)) == 2


def test_stray_closing_tags_are_not_shown() -> None:
    events, _ = read(
        QwenXmlDialect(), ["Well.</tool_call> " + call(title="x") + "\n</function>\n</tool_call>\nYes."]
    )
    assert text_of(events) == "Well. \nYes."


def test_a_function_that_nobody_declared_is_text_outside_of_a_tag() -> None:
    events, unfinished = read(QwenXmlDialect(), ["std::<function=int> is no call"])
    assert (text_of(events), unfinished) == ("std::<function=int> is no call", "")


def test_a_call_with_rubbish_in_it_is_neither_shown_nor_done() -> None:
    written = "<tool_call>\n<function=book>\nSure!\n</function>\n</tool_call>\nDone."
    events, unfinished = read(QwenXmlDialect(), [written])
    assert (text_of(events), calls_of(events)) == ("Done.", [])
    assert "Sure!" in unfinished
