"""A proxy on loopback that is every host it is asked to connect to: a web site behind a tunnel of TLS.

What a search library sends to engines comes here; what they answer is written by the test.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trustme

from tests.servers.web_site import Page, WebSite


class EngineProxy(WebSite):
    """A `WebSite` that is reached by CONNECT (RFC 9110 §9.3.6); pages are by host and path."""

    url = ""
    authority = ""
    """The file of the certificate by which a client believes it."""

    def __init__(self, certificates: trustme.CA) -> None:
        super().__init__(ssl.create_default_context())
        self._certificates = certificates

    async def tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        host = head.split(" ")[1].partition(":")[0]
        theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        theirs.set_alpn_protocols(["http/1.1"])
        self._certificates.issue_cert(host).configure_cert(theirs)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        await writer.start_tls(theirs)
        await self.serve(reader, writer)

    def find(self, host: str, target: str) -> Page | None:
        return self.pages.get(host + target.partition("?")[0])


@asynccontextmanager
async def engine_proxy(folder: Path) -> AsyncIterator[EngineProxy]:
    certificates = trustme.CA()
    proxy = EngineProxy(certificates)
    proxy.authority = str(folder / "authority.pem")
    certificates.cert_pem.write_to_path(proxy.authority)
    server = await asyncio.start_server(proxy.tunnel, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield proxy
