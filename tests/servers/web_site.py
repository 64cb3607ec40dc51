"""A web site on loopback, with TLS and without, whose pages are written out to the byte."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache

import trustme

Page = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]
"""A whole answer, or what writes one."""


def answer(
    body: bytes | str = b"",
    *headers: str,
    status: str = "200 OK",
    content_type: str = "text/html; charset=utf-8",
) -> bytes:
    raw = body.encode() if isinstance(body, str) else body
    lines = [
        f"HTTP/1.1 {status}",
        *([f"Content-Type: {content_type}"] if content_type else []),
        f"Content-Length: {len(raw)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + raw


def redirect(location: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {location}", status=status)


@dataclass
class WebSite:
    """Answers with the page of the path, for every host that is named; notes what it was asked."""

    tls: ssl.SSLContext
    """Whose certificates a client of it must believe."""
    pages: dict[str, Page] = field(default_factory=dict)
    """By path and query, or by host, path and query."""
    requests: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    port: int = 0
    plain_port: int = 0

    @property
    def paths(self) -> list[str]:
        """What was asked for, without robots.txt."""
        return [line.split(" ")[1] for line in self.requests if "/robots.txt" not in line]

    def find(self, host: str, target: str) -> Page | None:
        return self.pages.get(host + target, self.pages.get(target))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.heads.append(head)
            self.requests.append(head.partition("\r\n")[0])
            length = re.search(r"(?i)\r\ncontent-length: *(\d+)", head)
            self.bodies.append((await reader.readexactly(int(length[1]))).decode() if length else "")
            target = head.split(" ")[1]
            host = next(line[6:] for line in head.split("\r\n") if line.lower().startswith("host: "))
            page = self.find(host.partition(":")[0], target)
            if page is None:
                page = answer("<p>Nothing here.</p>", status="404 Not Found")
            if isinstance(page, bytes):
                writer.write(page)
            else:
                await page(writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@cache
def _certificates(*names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make what a server shows, and what a client believes it by."""
    authority = trustme.CA()
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(theirs)
    ours = ssl.create_default_context()
    authority.configure_trust(ours)
    return theirs, ours


@asynccontextmanager
async def web_site(*names: str) -> AsyncIterator[WebSite]:
    """Run a site whose certificate is for these names, by an authority of the test's own."""
    theirs, ours = _certificates(*names)
    site = WebSite(ours)
    secure = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=theirs)
    plain = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = secure.sockets[0].getsockname()[1]
    site.plain_port = plain.sockets[0].getsockname()[1]
    async with secure, plain:
        yield site
