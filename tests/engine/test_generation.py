"""How an answer is written: reasoning has an end, loops are stopped, sampling is what was asked for."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from botpsy_tui.engine.local import LocalSession
from botpsy_tui.engine.runtime import ContextSettings, Runtime
from botpsy_tui.engine.sampling import DEFAULT, Sampler, layered, recommended
from botpsy_tui.engine.template import ChatTemplate
from botpsy_tui.engine.types import (
    CallWritten,
    Finished,
    Message,
    ReasoningDelta,
    Request,
    Sampling,
    TextDelta,
    ToolCall,
    ToolSchema,
)
from tests.models.synthetic import write_model

ASKED = (Message("system", "Be brief."), Message("user", "What's on tomorrow?"))
TOOLS = (ToolSchema("list_events", "List.", {"type": "object", "properties": {"day": {"type": "string"}}}),)
LIVELY = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0, call_temperature=1.5, seed=1)


@pytest.fixture
async def session(hybrid_model: Path) -> AsyncIterator[LocalSession]:
    session = await LocalSession.load(hybrid_model, ContextSettings(size=4096, threads=1))
    yield session
    await session.close()


async def written(session: LocalSession, **options: Any) -> tuple[str, str, Finished]:
    """Reasoning, text and end of one answer."""
    reasoning = text = ""
    options = {"messages": ASKED, "sampling": LIVELY, "max_tokens": 120, **options}
    async for event in session.stream(Request(**options)):
        if isinstance(event, ReasoningDelta):
            reasoning += event.text
        elif isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, Finished):
            return reasoning, text, event
    raise AssertionError("the last event is Finished")


# -- reasoning


async def test_reasoning_ends_with_its_budget_and_the_answer_goes_on(session: LocalSession) -> None:
    letters = [session._runtime.tokenize(letter)[0] for letter in "abcdefghijk"]
    only_letters = layered(Sampling(logit_bias=dict.fromkeys(letters, 100.0)), LIVELY)
    reasoning, text, done = await written(session, thinking="on", reasoning_tokens=30, sampling=only_letters)
    assert len(reasoning.strip()) == 30, "each letter is a token of this model"
    assert text.isalpha()
    assert done.statistics.generated_tokens > 30


async def test_a_model_that_ends_in_its_reasoning_is_made_to_answer(session: LocalSession) -> None:
    end = session._runtime.tokenize("<|im_end|>")[0]
    # The end is likely: it soon comes in the reasoning, and soon again in the answer.
    bias = Sampling(temperature=1.0, top_k=0, seed=3, logit_bias={end: 4.0})
    reasoning, text, done = await written(session, thinking="on", reasoning_tokens=500, sampling=bias)
    assert done.reason == "end"
    assert "think>" not in reasoning + text
    assert done.statistics.generated_tokens > len(reasoning.encode())


async def test_a_small_model_reasons_only_when_told_to(session: LocalSession) -> None:
    for thinking, reasons in (("auto", False), ("off", False), ("on", True)):
        reasoning, _, _ = await written(session, thinking=thinking, reasoning_tokens=16)
        assert bool(reasoning) is reasons


@pytest.mark.parametrize(
    ("ends_with", "thinks"),
    [
        ("{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% endif %}", True),
        ("{% if enable_thinking is defined and enable_thinking is true %}<think>{% endif %}", False),
        ("", False),
    ],
)
def test_a_template_says_whether_its_model_thinks_by_default(ends_with: str, thinks: bool) -> None:
    assert ChatTemplate("{{ messages[0].content }}" + ends_with).thinks_by_default is thinks


async def test_reasoning_of_the_running_turn_is_shown_to_the_template() -> None:
    template = ChatTemplate(
        "{% for m in messages %}[{{ m.reasoning_content or '' }}]{{ m.content }}{% endfor %}"
    )
    shown = template.render([Message("user", "a"), Message("assistant", "b", reasoning="why")])
    assert shown.text == "[]a[why]b"


# -- loops


async def test_an_answer_that_goes_round_in_circles_is_stopped(session: LocalSession) -> None:
    # The likeliest token of random weights is soon the same again.
    _, text, done = await written(session, sampling=Sampling(temperature=0), max_tokens=3000)
    assert done.reason == "repeated"
    assert text
    assert done.statistics.generated_tokens < 1200


async def test_reasoning_that_goes_round_in_circles_is_closed_and_the_answer_begins(
    session: LocalSession,
) -> None:
    one = session._runtime.tokenize("a")[0]
    circling = Sampling(temperature=0, call_temperature=0, logit_bias={one: 100.0})
    reasoning, text, done = await written(
        session, thinking="on", reasoning_tokens=3000, sampling=circling, max_tokens=3500
    )
    assert done.reason == "repeated"
    assert set(reasoning.strip()) == set(text) == {"a"}
    assert len(reasoning) < 500
    assert len(text) < 500


async def test_a_call_that_goes_round_in_circles_is_no_call(session: LocalSession) -> None:
    one = session._runtime.tokenize("a")[0]
    opener = session._runtime.tokenize("<tool_call>")[0]
    circling = Sampling(temperature=0, logit_bias={opener: 100.0, one: 90.0})
    request = Request(ASKED, TOOLS, sampling=circling, max_tokens=3000)
    events = [event async for event in session.stream(request)]
    done = events[-1]
    assert isinstance(done, Finished)
    assert done.reason == "repeated"
    assert "aaaa" in done.unfinished
    assert not any(isinstance(event, CallWritten) for event in events)


# -- sampling


async def test_the_same_seed_gives_the_same_text_and_another_one_does_not(session: LocalSession) -> None:
    texts = [(await written(session, sampling=LIVELY))[1] for _ in range(2)]
    _, other, _ = await written(session, sampling=layered(Sampling(seed=2), LIVELY))
    assert texts[0] == texts[1] != other


async def test_greedy_is_the_same_from_run_to_run(hybrid_model: Path, dense_model: Path) -> None:
    for model in (hybrid_model, dense_model):
        texts: list[str] = []
        for _ in range(2):
            session = await LocalSession.load(model, ContextSettings(size=1024, threads=1))
            texts.append((await written(session, sampling=Sampling(temperature=0)))[1])
            await session.close()
        assert texts[0] == texts[1] != ""


def test_a_request_goes_before_the_file_the_file_before_the_card_the_card_before_the_default() -> None:
    request, file, card = (
        Sampling(temperature=0.2),
        Sampling(temperature=0.4, top_k=4),
        Sampling(top_k=6, top_p=0.6),
    )
    together = layered(request, file, card)
    assert (together.temperature, together.top_k, together.top_p) == (0.2, 4, 0.6)
    assert together.min_p == DEFAULT.min_p
    assert layered() == DEFAULT


def test_what_a_file_recommends_is_taken_and_nonsense_is_left(tmp_path: Path) -> None:
    path = write_model(
        tmp_path / "m.gguf",
        "dense",
        sampling={"temp": 0.6, "top_k": 30, "top_p": 7.0, "penalty_repeat": 1.05},
    )
    runtime = Runtime(path, ContextSettings(size=256, threads=1))
    assert recommended(runtime) == Sampling(
        temperature=pytest.approx(0.6), top_k=30, repeat_penalty=pytest.approx(1.05)
    )
    runtime.close()


@pytest.fixture
def runtime(dense_model: Path) -> Any:
    runtime = Runtime(dense_model, ContextSettings(size=256, threads=1))
    runtime.decode(runtime.tokenize("a few words"))
    yield runtime
    runtime.close()


def test_penalties_and_biases_hold_in_free_text_and_never_in_a_call(runtime: Runtime) -> None:
    likeliest = int(runtime.logits().argmax())
    sampler = Sampler(
        Sampling(temperature=0, presence_penalty=2.0, repeat_penalty=1.9, frequency_penalty=2.0)
    )
    before = runtime.logits().copy()
    assert sampler.next_token(runtime) == likeliest
    assert sampler.next_token(runtime) != likeliest, "it was just written"
    after = runtime.logits()
    penalised = (before[likeliest] / 1.9 if before[likeliest] > 0 else before[likeliest] * 1.9) - 4.0
    assert after[likeliest] == pytest.approx(penalised, rel=1e-5)
    assert np.array_equal(np.delete(before, likeliest), np.delete(after, likeliest))
    after[:] = before
    assert [sampler.next_token(runtime, exact=True) for _ in range(3)] == [likeliest] * 3
    sampler.close()
    biased = Sampler(Sampling(temperature=0, logit_bias={likeliest: -100.0, 7: 100.0}))
    assert biased.next_token(runtime) == biased.next_token(runtime, exact=True) == 7
    biased.close()


async def test_what_a_tool_said_is_retold_exactly(session: LocalSession) -> None:
    """Penalties and a high temperature would change times that come twice."""
    messages = (
        *ASKED,
        Message("assistant", tool_calls=(ToolCall("list_events", {"day": "tomorrow"}),)),
        Message("tool", "10:00 Review, 10:00 Lunch"),
    )
    lively = Sampling(temperature=1.5, presence_penalty=2.0, top_k=0)
    texts = {(await written(session, messages=messages, tools=TOOLS, sampling=lively))[1] for _ in range(3)}
    assert len(texts) == 1
    free = {(await written(session, sampling=lively))[1] for _ in range(3)}
    assert len(free) == 3


async def test_a_call_is_decided_on_greedily_however_lively_the_text(session: LocalSession) -> None:
    lively = Sampling(temperature=2.0, top_k=0, top_p=1.0)
    first = set()
    for _ in range(4):
        _, text, _ = await written(session, tools=TOOLS, sampling=lively, max_tokens=1)
        first.add(text)
    assert len(first) == 1
