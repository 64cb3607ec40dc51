"""The endpoint session against a real server: llama_cpp.server with a small real model."""

import asyncio
from collections.abc import Iterator

import pytest

from botpsy_tui.engine.endpoint import EndpointSession, EndpointSettings
from botpsy_tui.engine.types import (
    CallWritten,
    ContextFull,
    EngineError,
    Finished,
    Message,
    Request,
    Sampling,
    SessionEvent,
    TextDelta,
    ToolCall,
    ToolSchema,
)
from tests.models.real import small_model
from tests.servers.llama_server import KEY, LlamaServer, start_llama_server

pytestmark = [pytest.mark.model, pytest.mark.xdist_group("model")]

VOLUME = ToolSchema(
    "set_volume",
    "Set the volume of the speaker.",
    {"type": "object", "properties": {"percent": {"type": "integer"}}, "required": ["percent"]},
)
GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    folder = tmp_path_factory.mktemp("server")
    with start_llama_server(small_model(), folder, chat_format="chatml-function-calling") as server:
        yield server


async def run(server: LlamaServer, request: Request) -> list[SessionEvent]:
    session = await EndpointSession.open(EndpointSettings(server.url, key=lambda: KEY))
    try:
        return [event async for event in session.stream(request)]
    finally:
        await session.close()


async def test_a_real_model_answers_in_pieces(server: LlamaServer) -> None:
    asked = Request([Message("user", "What is the capital of France?")], sampling=GREEDY, max_tokens=24)
    events = await run(server, asked)
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert "Paris" in "".join(pieces)
    assert len(pieces) > 2
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.generated_tokens == len(pieces)


async def test_a_real_model_calls_a_tool_though_its_server_cannot_stream_calls(server: LlamaServer) -> None:
    messages = [
        Message("system", "You call tools."),
        Message("user", "Set the volume to 20 percent."),
        Message("assistant", "", (ToolCall("set_volume", {"percent": 20}),)),
        Message("tool", "The volume is 20 percent."),
        Message("user", "Set the volume to 30 percent."),
    ]
    events = await run(server, Request(messages, [VOLUME], sampling=GREEDY, max_tokens=64))
    assert [e.call for e in events if isinstance(e, CallWritten)] == [ToolCall("set_volume", {"percent": 30})]
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.prompt_tokens > 50


async def test_stopping_frees_the_server_for_the_next_question(server: LlamaServer) -> None:
    session = await EndpointSession.open(EndpointSettings(server.url, key=lambda: KEY))
    stream = session.stream(Request([Message("user", "Count from 1 to 1000.")], max_tokens=1500))
    await anext(stream)
    await asyncio.wait_for(stream.aclose(), 5)  # pyright: ignore
    asked = session.stream(Request([Message("user", "Say hello.")], max_tokens=4))
    events = await asyncio.wait_for(_all(asked), 60)
    assert isinstance(events[-1], Finished)
    await session.close()
    assert "Disconnected from client" in server.log.read_text()


async def test_a_prompt_longer_than_the_servers_context_is_told(server: LlamaServer) -> None:
    with pytest.raises(ContextFull, match="start a new one"):
        await run(server, Request([Message("user", "word " * 3000)]))


async def test_a_wrong_key_is_told(server: LlamaServer) -> None:
    with pytest.raises(EngineError, match="does not accept the API key"):
        await EndpointSession.open(EndpointSettings(server.url, key=lambda: "wrong"))
    with pytest.raises(EngineError, match="wants an API key"):
        await EndpointSession.open(EndpointSettings(server.url))


async def _all(stream: object) -> list[SessionEvent]:
    return [event async for event in stream]  # type: ignore[attr-defined]
