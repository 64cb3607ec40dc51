"""A model elsewhere: what the person sees of its answers, and of each way they can fail."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from botpsy_tui.engine.endpoint import EndpointSession, EndpointSettings
from botpsy_tui.engine.types import (
    CallWritten,
    ContextFull,
    EngineError,
    Finished,
    Message,
    ReasoningDelta,
    Request,
    SessionEvent,
    TextDelta,
    ToolCall,
    ToolSchema,
)
from tests.servers.fake_endpoint import BREAK_OFF, SILENCE, FakeEndpoint, call, ended, fake_endpoint, said
from tests.servers.ports import free_port

TOOL = ToolSchema(
    "find",
    "Find.",
    {"type": "object", "properties": {"who": {"type": "string", "x-botpsy-source": "user-words"}}},
)
ASKED = Request([Message("system", "Be brief."), Message("user", "Hello")])
WITH_TOOL = Request([Message("user", "Find Nia")], [TOOL])
DONE = "data: [DONE]"


@pytest.fixture
async def endpoint() -> AsyncIterator[FakeEndpoint]:
    async with fake_endpoint() as fake:
        yield fake


async def ask(fake: FakeEndpoint, request: Request, *script: object, **more: Any) -> list[SessionEvent]:
    fake.scripts.append(list(script))
    session = await EndpointSession.open(EndpointSettings(fake.url, **more))
    try:
        return [event async for event in session.stream(request)]
    finally:
        await session.close()


def calls_in(events: list[SessionEvent]) -> list[ToolCall]:
    return [event.call for event in events if isinstance(event, CallWritten)]


async def test_text_and_reasoning_come_as_they_are_written(endpoint: FakeEndpoint) -> None:
    cached = {"prompt_tokens_details": {"cached_tokens": 30}}
    usage = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 3, **cached}}
    events = await ask(
        endpoint,
        ASKED,
        said(reasoning_content="They greet."),
        said("Hello"),
        ": a comment",
        said(", Zoë"),
        ended(),
        usage,
        DONE,
    )
    assert events[:3] == [ReasoningDelta("They greet."), TextDelta("Hello"), TextDelta(", Zoë")]
    done = events[-1]
    assert isinstance(done, Finished)
    assert done.reason == "end"
    assert (done.statistics.prompt_tokens, done.statistics.decoded_tokens) == (40, 10)
    assert done.statistics.generated_tokens == 3


async def test_parallel_calls_whose_pieces_are_mixed_are_each_put_together(endpoint: FakeEndpoint) -> None:
    events = await ask(
        endpoint,
        WITH_TOOL,
        said("Looking."),
        said(tool_calls=[call(0, '{"wh', "find", "a"), call(1, "", "find", "b")]),
        said(tool_calls=[call(1, '{"who": "Bo"')]),
        said(tool_calls=[call(0, 'o": "Nia"}')]),
        said(tool_calls=[call(1, "}")]),
        ended("tool_calls"),
        DONE,
    )
    assert calls_in(events) == [ToolCall("find", {"who": "Nia"}), ToolCall("find", {"who": "Bo"})]


async def test_calls_without_an_index_are_told_apart_by_their_ids(endpoint: FakeEndpoint) -> None:
    events = await ask(
        endpoint,
        WITH_TOOL,
        said(tool_calls=[call(None, '{"who"', "find", "a")]),
        said(tool_calls=[call(None, ': "Nia"}')]),
        said(tool_calls=[call(None, "{}", "find", "b")]),
        ended("tool_calls"),
    )
    assert calls_in(events) == [ToolCall("find", {"who": "Nia"}), ToolCall("find", {})]


async def test_a_server_that_does_not_stream_is_understood(endpoint: FakeEndpoint) -> None:
    message = {"content": None, "tool_calls": [call(None, '{"who": "Nia"}', "find", "a")]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    events = await ask(endpoint, WITH_TOOL, (200, "application/json", json.dumps(body, indent=2)))
    assert calls_in(events) == [ToolCall("find", {"who": "Nia"})]


async def test_the_conversation_is_sent_with_calls_and_results_joined_by_ids(endpoint: FakeEndpoint) -> None:
    both = (ToolCall("find", {"who": "Nia"}), ToolCall("find", {"who": "Zoë"}))
    messages = [
        Message("user", "Find both"),
        Message("assistant", "", both),
        Message("tool", "Nia is here"),
        Message("tool", "Zoë is not"),
    ]
    await ask(endpoint, Request(messages, [TOOL], max_tokens=7), said("Well."), ended(), DONE)
    sent = endpoint.requests[0]
    calls = sent["messages"][1]["tool_calls"]
    assert [json.loads(c["function"]["arguments"]) for c in calls] == [{"who": "Nia"}, {"who": "Zoë"}]
    assert [m["tool_call_id"] for m in sent["messages"][2:]] == [c["id"] for c in calls]
    assert sent["max_tokens"] == 7
    assert "x-botpsy-source" not in json.dumps(sent["tools"])


@pytest.mark.parametrize(
    "script",
    [
        [said(tool_calls=[call(0, '{"who": "Nia"}', "find")]), BREAK_OFF],
        [said(tool_calls=[call(0, '{"who": "Nia"}', "find")])],
        [said("Well"), BREAK_OFF],
    ],
)
async def test_an_answer_that_breaks_off_is_never_a_call(
    endpoint: FakeEndpoint, script: list[object]
) -> None:
    endpoint.scripts.append(script)
    session = await EndpointSession.open(EndpointSettings(endpoint.url))
    seen: list[SessionEvent] = []

    async def read() -> None:
        async for event in session.stream(WITH_TOOL):
            seen.append(event)

    with pytest.raises(EngineError, match="broke off in the middle of the answer; ask again"):
        await read()
    assert calls_in(seen) == []
    await session.close()


async def test_a_call_that_the_length_limit_cut_is_told_but_not_made(endpoint: FakeEndpoint) -> None:
    cut = said(tool_calls=[call(0, '{"who": "N', "find")])
    events = await ask(endpoint, WITH_TOOL, cut, ended("length"), DONE)
    assert calls_in(events) == []
    assert isinstance(events[-1], Finished)
    assert (events[-1].reason, events[-1].unfinished) == ("length", 'find({"who": "N')


async def test_closing_the_stream_ends_the_servers_work_at_once(endpoint: FakeEndpoint) -> None:
    endpoint.scripts.append([said("One"), SILENCE])
    session = await EndpointSession.open(EndpointSettings(endpoint.url))
    stream = session.stream(ASKED)
    assert await anext(stream) == TextDelta("One")
    await asyncio.wait_for(stream.aclose(), 5)  # pyright: ignore
    await asyncio.wait_for(endpoint.gone.wait(), 5)
    endpoint.scripts.append([said("Again"), ended(), DONE])
    assert TextDelta("Again") in [event async for event in session.stream(ASKED)]
    await session.close()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ([(401, "application/json", '{"detail": "Invalid API key"}')], "wants an API key"),
        (
            [(404, "application/json", '{"error": {"message": "no such model"}}')],
            "has no model fake.*no such model",
        ),
        ([(429, "application/json", "{}", "Retry-After: 20")], "too many requests.*in 20 seconds"),
        ([(500, "text/html", "<h1>Oh</h1>")], "failed \\(500\\)"),
        ([(302, "text/html", "", "Location: http://elsewhere.example/")], "sends elsewhere"),
        ([(400, "application/json", '{"error": {"message": "bad tool"}}')], "refuses the request.*bad tool"),
        ([(200, "text/html", "<h1>Welcome</h1>")], "OpenAI-compatible endpoint\\?"),
        (["data: {not json"], "not valid JSON"),
        (['data: {"choices": 3}'], "not of OpenAI's form"),
        ([{"error": {"message": "out of memory"}}], "broke off: out of memory"),
        ([said("x"), ended("content_filter")], "another reason \\(content_filter\\)"),
        (
            [said(tool_calls=[call(0, '{"who": ', "find")]), ended("tool_calls")],
            "arguments are not valid JSON",
        ),
        ([said(tool_calls=[call(0, "[1]", "find")]), ended("tool_calls")], "arguments are not valid JSON"),
    ],
)
async def test_each_failure_is_one_sentence(endpoint: FakeEndpoint, script: list[object], says: str) -> None:
    with pytest.raises(EngineError, match=says) as failed:
        await ask(endpoint, ASKED, *script)
    assert "\n" not in str(failed.value)


async def test_a_stream_without_a_word_is_asked_again_whole_and_then_always(endpoint: FakeEndpoint) -> None:
    message = {"tool_calls": [{"id": "a", "function": {"name": "find", "arguments": '{"who": "Nia"}'}}]}
    whole = [
        (200, "application/json", json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))
    ]
    endpoint.scripts += [[": nothing"], whole, whole]
    session = await EndpointSession.open(EndpointSettings(endpoint.url))
    for _ in range(2):
        assert calls_in([event async for event in session.stream(WITH_TOOL)]) == [
            ToolCall("find", {"who": "Nia"})
        ]
    assert [request.get("stream", False) for request in endpoint.requests] == [True, False, False]
    await session.close()


async def test_a_conversation_too_long_for_the_server_is_told_apart(endpoint: FakeEndpoint) -> None:
    body = '{"error": {"message": "This model\'s maximum context length is 4096 tokens"}}'
    with pytest.raises(ContextFull, match="start a new one"):
        await ask(endpoint, ASKED, (400, "application/json", body))


async def test_a_server_that_falls_silent_is_given_up(endpoint: FakeEndpoint) -> None:
    with pytest.raises(EngineError, match="has said nothing for 1 seconds"):
        await ask(endpoint, ASKED, said("One"), SILENCE, silence_seconds=1)


async def test_nobody_there_is_one_sentence() -> None:
    with pytest.raises(EngineError, match="No model server answers at http:"):
        await EndpointSession.open(EndpointSettings(f"http://127.0.0.1:{free_port()}/v1"))


async def test_a_connection_that_is_not_safe_is_one_sentence(endpoint: FakeEndpoint) -> None:
    with pytest.raises(EngineError, match="No safe connection to 127"):
        await EndpointSession.open(EndpointSettings(endpoint.url.replace("http:", "https:")))


@pytest.mark.parametrize(
    ("models", "model", "says"),
    [
        ({"data": [{"id": "a"}, {"id": "b"}]}, "", "has these models: a, b. Name one as `endpoint_model`"),
        ({"data": [{"id": "a"}]}, "c", "has no model c; it has: a"),
        ({"data": []}, "", "these models: none"),
        (["a"], "", "is no OpenAI-compatible endpoint"),
    ],
)
async def test_which_model_is_meant_is_never_guessed(
    endpoint: FakeEndpoint, models: object, model: str, says: str
) -> None:
    endpoint.models = models
    with pytest.raises(EngineError, match=says):
        await EndpointSession.open(EndpointSettings(endpoint.url, model))


async def test_the_only_model_is_taken_and_its_context_is_known(endpoint: FakeEndpoint) -> None:
    endpoint.models = {"data": [{"id": "qwen3", "max_model_len": 32768}]}
    session = await EndpointSession.open(EndpointSettings(endpoint.url))
    assert (session.info.name, session.info.context_size) == ("qwen3", 32768)
    assert session.info.endpoint in endpoint.url
    await session.close()


async def test_the_key_is_sent_and_never_shown_or_logged(
    endpoint: FakeEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = '{"error": {"message": "Incorrect API key provided: sk-secret"}}'
    with pytest.raises(EngineError, match="does not accept the API key") as failed:
        await ask(endpoint, ASKED, (401, "application/json", body), key=lambda: "sk-secret")
    with pytest.raises(EngineError, match="It says") as repeated:
        await ask(endpoint, ASKED, (500, "application/json", body), key=lambda: "sk-secret")
    assert "Bearer sk-secret" in endpoint.headers[-1]
    for shown in (str(failed.value), str(repeated.value), caplog.text):
        assert "sk-secret" not in shown
