"""A scripted endpoint, for what a healthy server never does: broken streams, refusals, silence."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

SILENCE = object()
BREAK_OFF = object()
Step = object


class FakeEndpoint:
    """Answers `/models` with its list, and each chat request with the next of its scripts."""

    def __init__(self) -> None:
        self.models: Any = {"data": [{"id": "fake"}]}
        self.scripts: list[list[Step]] = []
        """Each a status line or nothing, then lines, `SILENCE` or `BREAK_OFF`."""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[str] = []
        self.gone = asyncio.Event()
        """Set when a client has closed its connection in the middle of an answer."""
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.read(1)
        if first in (b"", b"\x16"):  # nobody after all, or one who wants TLS
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            return
        head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
        self.headers.append(head)
        try:
            if head.startswith("GET"):
                writer.write(_whole(200, "application/json", json.dumps(self.models)))
            else:
                length = next(
                    int(line.split(":")[1])
                    for line in head.splitlines()
                    if line.lower().startswith("content-length")
                )
                self.requests.append(json.loads(await reader.readexactly(length)))
                await self._answer(self.scripts.pop(0), reader, writer)
            await writer.drain()
        except ConnectionError:
            self.gone.set()
        finally:
            writer.close()

    async def _answer(
        self, script: list[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if isinstance(script[0], tuple):
            writer.write(_whole(*script[0]))
            return
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for step in script:
            if step is BREAK_OFF:
                return
            if step is SILENCE:
                await reader.read()  # until the client goes
                self.gone.set()
                return
            line = step if isinstance(step, str) else f"data: {json.dumps(step)}"
            piece = f"{line}\n\n".encode()
            for half in (piece[: len(piece) // 2], piece[len(piece) // 2 :]):
                writer.write(f"{len(half):x}\r\n".encode() + half + b"\r\n")
                await writer.drain()
        writer.write(b"0\r\n\r\n")


def _whole(status: int, kind: str, body: str, *more: str) -> bytes:
    raw = body.encode()
    lines = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}", f"Content-Length: {len(raw)}", *more, "", ""]
    return "\r\n".join(lines).encode() + raw


@asynccontextmanager
async def fake_endpoint() -> AsyncIterator[FakeEndpoint]:
    """Run one on a port of its own."""
    fake = FakeEndpoint()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield fake


def said(text: str = "", **delta: Any) -> dict[str, Any]:
    """A chunk with more of an answer."""
    return {"choices": [{"index": 0, "delta": {"content": text or None, **delta}, "finish_reason": None}]}


def ended(reason: str = "stop") -> dict[str, Any]:
    """The last chunk of an answer."""
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def call(
    index: int | None, arguments: str, name: str | None = None, call_id: str | None = None
) -> dict[str, Any]:
    """A piece of a call."""
    piece: dict[str, Any] = {"function": {"arguments": arguments, **({"name": name} if name else {})}}
    if index is not None:
        piece["index"] = index
    if call_id:
        piece["id"] = call_id
    return piece
