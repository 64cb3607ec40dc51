"""What the models write is read as it streams: text, reasoning and calls, and never half a call."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from botpsy_tui.engine.dialects import HermesDialect, PlainDialect, QwenXmlDialect, dialect_of
from botpsy_tui.engine.dialects.base import Dialect, Parsed
from botpsy_tui.engine.types import CallWritten, ReasoningDelta, TextDelta, ToolCall, ToolSchema

TOOLS = [
    ToolSchema(
        "book",
        "Book.",
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "count": {"type": "integer"},
                "flag": {"type": "boolean"},
                "items": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["title"],
        },
    )
]

HERMES = {
    "tags": ('<tool_call>\n{"name": "book", "arguments": {"title": "x"}}\n</tool_call>', "", {"title": "x"}),
    "fence": ('```json\n{"name": "book", "arguments": {"title": "x"}}\n```', "", {"title": "x"}),
    "text first": (
        'Let me see.\n<tool_call>{"name": "book", "arguments": {"title": "x"}}</tool_call>',
        "Let me see.\n",
        {"title": "x"},
    ),
    "the declarations' tag": (
        '<tools>\n{"name": "book", "arguments": {"title": "x"}}\n</tools>',
        "",
        {"title": "x"},
    ),
    "no closing tag": ('<tool_call>{"name": "book", "arguments": {"title": "x"}}', "", {"title": "x"}),
    "arguments as a string": (
        '<tool_call>{"name": "book", "arguments": "{\\"title\\": \\"x\\"}"}</tool_call>',
        "",
        {"title": "x"},
    ),
    "braces and tags inside a string": (
        '<tool_call>{"name": "book", "arguments": {"title": "}{ </tool_call> \\" ```"}}</tool_call>',
        "",
        {"title": '}{ </tool_call> " ```'},
    ),
}
XML = {
    "as the template writes it": (
        "<tool_call>\n<function=book>\n<parameter=title>\nx\n</parameter>\n</function>\n</tool_call>",
        "",
        {"title": "x"},
    ),
    "several lines, markup and quotes": (
        '<tool_call>\n<function=book>\n<parameter=title>\na <b>\n"c"\n  d\n'
        "</parameter>\n</function>\n</tool_call>",
        "",
        {"title": 'a <b>\n"c"\n  d'},
    ),
    "types by schema": (
        "<tool_call>\n<function=book>\n<parameter=title>\n12\n</parameter>\n<parameter=count>\n12\n</parameter>\n"
        '<parameter=flag>\nTrue\n</parameter>\n<parameter=items>\n["a", "b"]\n</parameter>\n'
        "</function>\n</tool_call>",
        "",
        {"title": "12", "count": 12, "flag": True, "items": ["a", "b"]},
    ),
    "no tool_call tag": (
        "<function=book>\n<parameter=title>\nx\n</parameter>\n</function>",
        "",
        {"title": "x"},
    ),
    "no closing tag": (
        "Yes.\n<tool_call>\n<function=book>\n<parameter=title>\nx\n</parameter>\n</function>",
        "Yes.\n",
        {"title": "x"},
    ),
    "a parameter closed twice": (
        "<tool_call>\n<function=book>\n<parameter=title>\nx\n</parameter>\n</parameter>\n</function>\n</tool_call>",
        "",
        {"title": "x"},
    ),
}
CASES = [(HermesDialect(), *case) for case in HERMES.values()] + [
    (QwenXmlDialect(), *case) for case in XML.values()
]


def read(dialect: Dialect, pieces: list[str], *, in_reasoning: bool = False) -> tuple[list[Parsed], str]:
    parser = dialect.parser(TOOLS, in_reasoning=in_reasoning)
    events = [event for piece in pieces for event in parser.feed(piece)]
    rest, unfinished = parser.finish()
    return [*events, *rest], unfinished


def text_of(events: list[Parsed]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events: list[Parsed]) -> list[ToolCall]:
    return [event.call for event in events if isinstance(event, CallWritten)]


@pytest.mark.parametrize(("dialect", "written", "text", "arguments"), CASES)
def test_a_call_is_read(dialect: Dialect, written: str, text: str, arguments: dict[str, object]) -> None:
    events, unfinished = read(dialect, [written])
    assert calls_of(events) == [ToolCall("book", arguments)]
    assert text_of(events) == text
    assert unfinished == ""


@given(case=st.sampled_from(CASES), data=st.data())
def test_text_cut_anywhere_reads_the_same(case: tuple, data: st.DataObject) -> None:
    dialect, written, text, arguments = case
    cuts = sorted(data.draw(st.lists(st.integers(0, len(written)), max_size=12)))
    pieces = [written[a:b] for a, b in zip([0, *cuts], [*cuts, len(written)], strict=True)]
    events, unfinished = read(dialect, pieces)
    assert (calls_of(events), text_of(events), unfinished) == ([ToolCall("book", arguments)], text, "")


@pytest.mark.parametrize("dialect", [HermesDialect(), QwenXmlDialect()])
@given(data=st.data())
def test_what_is_cut_off_is_never_a_call_with_less_in_it(dialect: Dialect, data: st.DataObject) -> None:
    case = (HERMES["tags"] if dialect.name == "hermes" else XML["types by schema"])[0]
    cut = case[: data.draw(st.integers(0, len(case)))]
    events, unfinished = read(dialect, [cut])
    whole, _ = read(dialect, [case])
    assert calls_of(events) in ([], calls_of(whole))
    assert "<" not in text_of(events).replace(cut, "") or not unfinished


@pytest.mark.parametrize("dialect", [HermesDialect(), QwenXmlDialect()])
def test_two_calls_in_a_row_are_both_read(dialect: Dialect) -> None:
    one = (HERMES["tags"] if dialect.name == "hermes" else XML["as the template writes it"])[0]
    events, _ = read(dialect, [one + "\n" + one])
    assert len(calls_of(events)) == 2


def test_reasoning_is_told_from_the_answer() -> None:
    events, _ = read(QwenXmlDialect(), ["I th", "ink so.</th", "ink>\n\nYes."], in_reasoning=True)
    assert "".join(e.text for e in events if isinstance(e, ReasoningDelta)) == "I think so."
    assert text_of(events) == "Yes."


def test_a_call_inside_reasoning_ends_the_reasoning() -> None:
    events, _ = read(QwenXmlDialect(), ["Hm. " + XML["no closing tag"][0][5:]], in_reasoning=True)
    assert len(calls_of(events)) == 1


@pytest.mark.parametrize(
    "text", ["a < b and <table>", "```python\nprint(1)\n```", "```json\n[1, 2]\n```", "{a}"]
)
@pytest.mark.parametrize("dialect", [HermesDialect(), QwenXmlDialect(), PlainDialect()])
def test_text_that_only_looks_like_a_call_stays_text(dialect: Dialect, text: str) -> None:
    events, unfinished = read(dialect, list(text))
    assert text_of(events) == text
    assert not calls_of(events)
    assert unfinished == ""


def test_the_dialect_is_chosen_from_the_template() -> None:
    assert dialect_of("… <tool_call>\n<function=x>\n<parameter=y> …").name == "qwen3.5"
    assert dialect_of('… <tool_call>\n{"name": …').name == "hermes"
    assert not dialect_of("{{ messages }}").calls_tools


def test_python_constants_are_taken_as_json() -> None:
    written = XML["types by schema"][0].replace(
        "12\n</parameter>\n<parameter=flag>", "None\n</parameter>\n<parameter=flag>"
    )
    events, _ = read(QwenXmlDialect(), [written])
    assert json.dumps(calls_of(events)[0].arguments["count"]) == "null"
