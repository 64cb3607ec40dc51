"""llama.cpp's own cases for the families known here parse to what it says, but for a few, explained."""

import pytest

from botpsy_tui.engine.dialects import dialect_of
from botpsy_tui.engine.template import ChatTemplate
from botpsy_tui.engine.types import Message
from tests.engine.chat_cases import Case, Expected, read_cases
from tests.engine.reading import TOOLS, calls_of, read, reasoning_of, text_of
from tests.models.llama_cpp_source import llama_cpp_source

UNFINISHED = "a call that is cut off is no call yet, here; llama.cpp shows what there is of it"
CONTINUED = "an answer is never continued from its middle here"
NOT_SPLIT = "reasoning is always told from the answer here"
TAG_IN_REASONING = "a second tag that opens the reasoning is not shown here"
LINE_BREAK = "the line break before a call stays with the text, as llama.cpp has it for other families"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    source = llama_cpp_source()
    templates = [
        f"models/templates/{path.name}"
        for path in (source / "models" / "templates").glob("*.jinja")
        if dialect_of(path.read_text()).calls_tools
    ]
    return read_cases((source / "tests" / "test-chat.cpp").read_text(), templates)


def otherwise(case: Case) -> str:
    """Say why a case is read otherwise than llama.cpp reads it."""
    if case.options.get("is_partial"):
        return UNFINISHED
    if "continue_final_message" in case.options:
        return CONTINUED
    if "<think>" in case.expected.content:
        return NOT_SPLIT
    if "<think>" in case.expected.reasoning:
        return TAG_IN_REASONING
    if case.expected.content and case.written.startswith(f"{case.expected.content}\n<tool_call>"):
        return LINE_BREAK
    return ""


def ours(case: Case) -> tuple[Expected, str]:
    """Read what the model wrote, in the state that the template's prompt leaves it in."""
    source = (llama_cpp_source() / case.template).read_text()
    thinking = case.options.get("enable_thinking", True)
    prompt = ChatTemplate(source).render([Message("user", "Hey")], case.tools or TOOLS, thinking=thinking)
    events, unfinished = read(
        dialect_of(source), [case.written], in_reasoning=prompt.opens_reasoning, tools=case.tools
    )
    return Expected(text_of(events), reasoning_of(events), tuple(calls_of(events))), unfinished


def test_all_cases_are_found(cases: list[Case]) -> None:
    families = {case.name.split(":")[0] for case in cases}
    assert {"Qwen3.5-4B", "Qwen3-Coder", "LFM2.5-Instruct", "openbmb-MiniCPM5-1B"} < families
    assert len(cases) >= 170


def test_cases_parse_to_what_llama_cpp_says(cases: list[Case]) -> None:
    compared = [case for case in cases if not otherwise(case)]
    wrong = [
        f"{case.name}: {case.written!r} is {ours(case)}"
        for case in compared
        if ours(case) != (case.expected, "")
    ]
    assert wrong == []
    assert len(compared) >= 140


@pytest.mark.parametrize("reason", [UNFINISHED, CONTINUED, NOT_SPLIT, TAG_IN_REASONING, LINE_BREAK])
def test_those_that_differ_do_so_for_the_reason_given(cases: list[Case], reason: str) -> None:
    differing = [case for case in cases if otherwise(case) == reason]
    assert differing
    for case in differing:
        read, unfinished = ours(case)
        if reason == UNFINISHED:
            assert (read, unfinished) == (Expected(), case.written)
        elif reason == CONTINUED:
            assert read != case.expected
        elif reason == LINE_BREAK:
            assert read == Expected(case.expected.content + "\n", "", case.expected.calls)
        else:
            assert "<think>" not in read.content + read.reasoning
            assert read.calls == case.expected.calls
            assert case.expected.content.endswith(read.content)
