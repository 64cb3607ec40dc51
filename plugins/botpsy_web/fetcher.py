"""Fetches one page: from inside the fence, within limits, without cookies, from the host that was named."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import httpcore

from botpsy_tui.plugin import for_display_line
from botpsy_web.bodies import UNPACKED, Unpacker, decoded
from botpsy_web.fence import Fence, FencedNetwork
from botpsy_web.problems import Forbidden, TookTooLong, WebProblem
from botpsy_web.urls import WebAddress

PRODUCT = "BotPsy"
"""The name by which robots.txt may speak to it (RFC 9309 §2.2.1)."""

_REDIRECTS = (301, 302, 303, 307, 308)
_SECONDS_OF_SILENCE = 15.0


def user_agent() -> str:
    """Return who asks, as each request says it."""
    try:
        number = version("botpsy-tui")
    except PackageNotFoundError:
        number = "0"
    return f"{PRODUCT}/{number} (personal assistant; reads a page when its user asks for it)"


@dataclass(frozen=True)
class Limits:
    """What one fetch may cost."""

    bytes: int = 8_000_000
    """Of the body, packed and unpacked."""
    seconds: float = 30.0
    """For all of it, redirects included."""
    redirects: int = 6


@dataclass(frozen=True)
class Answer:
    """What a server has answered."""

    address: WebAddress
    """Where it came from in the end."""
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    cut: bool = False
    """True where there was more than the limit."""
    elsewhere: WebAddress | None = None
    """Where it sends on to, if that is another host, which was not asked."""

    @property
    def content_type(self) -> str:
        """The media type, in lower case, or nothing (RFC 9110 §8.3)."""
        return self._typed.get_content_type() if self.headers.get("content-type") else ""

    @property
    def charset(self) -> str:
        """The charset that the media type names, or nothing."""
        return str(self._typed.get_param("charset") or "")

    @property
    def text(self) -> str:
        """The body as text."""
        return decoded(self.body, self.charset)

    @property
    def _typed(self) -> Message:
        message = Message()
        message["Content-Type"] = for_display_line(self.headers.get("content-type", ""))
        return message


class Fetcher:
    """Makes GET requests inside a fence."""

    def __init__(
        self, fence: Fence, *, limits: Limits | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        """`tls` says whose certificates are believed; None for those of the public web."""
        self.fence = fence
        self._limits = limits or Limits()
        self._tls = tls

    def opened_to(self, address: WebAddress) -> "Fetcher":
        """Return a fetcher that reaches this address's own host as well, wherever it is."""
        fence = self.fence.opened_to(address.host, address.port)
        return Fetcher(fence, limits=self._limits, tls=self._tls)

    async def get(
        self,
        address: WebAddress,
        *,
        accept: str = "*/*",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Fetch an address. `headers` are sent to its own origin alone.

        Raises `Forbidden` at the fence and `WebProblem` where no whole answer came. Any status is
        an answer.
        """
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._get(address, accept, headers or {})
        except (TimeoutError, httpcore.TimeoutException) as error:
            raise TookTooLong(
                f"{_host(address)} took longer than {self._limits.seconds:.0f} seconds; try later."
            ) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, ssl.SSLError) as error:
            raise WebProblem(_what_broke(address, error)) from error

    async def _get(self, address: WebAddress, accept: str, headers: Mapping[str, str]) -> Answer:
        self.fence.check_name(address.host, address.port)
        origin, seen = address.origin, {str(address)}
        network = FencedNetwork(self.fence)
        tls = self._tls or _public_tls()
        async with httpcore.AsyncConnectionPool(tls, network_backend=network, max_connections=1) as pool:
            while True:
                answer = await self._once(pool, address, accept, headers if address.origin == origin else {})
                location = answer.headers.get("location")
                if answer.status not in _REDIRECTS or not location:
                    return answer
                onward = address.joined(location)
                if address.scheme == "https" and onward.scheme == "http":
                    raise Forbidden(
                        f"{_host(address)} sends on to a page without encryption; it is not read."
                    )
                self.fence.check_name(onward.host, onward.port)
                if not _same_host(address, onward):
                    return Answer(address, answer.status, answer.headers, b"", elsewhere=onward)
                if str(onward) in seen or len(seen) > self._limits.redirects:
                    raise WebProblem(f"{_host(address)} sends round in a circle; the page can't be read.")
                seen.add(str(onward))
                address = onward

    async def _once(
        self,
        pool: httpcore.AsyncConnectionPool,
        address: WebAddress,
        accept: str,
        headers: Mapping[str, str],
    ) -> Answer:
        """Make one request, whatever it answers."""
        sent = {
            "Host": address.origin.partition("://")[2],
            "User-Agent": user_agent(),
            "Accept": accept,
            "Accept-Encoding": UNPACKED,
            **headers,
        }
        silence = dict.fromkeys(("connect", "read", "write", "pool"), _SECONDS_OF_SILENCE)
        url = httpcore.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=address.port,
            target=address.target.encode(),
        )
        async with pool.stream(
            "GET", url, headers=list(sent.items()), extensions={"timeout": silence}
        ) as response:
            received = {
                name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
            }
            if response.status in _REDIRECTS:
                return Answer(address, response.status, received, b"")
            unpacker = Unpacker(received.get("content-encoding", ""), self._limits.bytes)
            body, packed = bytearray(), 0
            async for piece in response.aiter_stream():
                body += unpacker.add(piece)
                packed += len(piece)
                if unpacker.full or packed > self._limits.bytes:
                    return Answer(address, response.status, received, bytes(body), cut=True)
            return Answer(address, response.status, received, bytes(body))


@cache
def _public_tls() -> ssl.SSLContext:
    """Return what believes the authorities that browsers believe, and those the system has been given."""
    tls = httpcore.default_ssl_context()
    tls.load_default_certs()
    return tls


def _same_host(before: WebAddress, after: WebAddress) -> bool:
    """Say whether two addresses are of one host; with and without ``www.`` is one.

    A rule about a host is then true of all that is asked for its sake.
    """
    return before.host.removeprefix("www.") == after.host.removeprefix("www.") and (
        before.port == after.port or (before.port, after.port) == (80, 443)
    )


def _host(address: WebAddress) -> str:
    return for_display_line(address.host)


def _what_broke(address: WebAddress, error: Exception) -> str:
    """Return in a sentence why there is no answer."""
    said = str(error)
    if isinstance(error, ssl.SSLError) or "SSL" in said or "certificate" in said.lower():
        return (
            f"{_host(address)} can't prove that it is {_host(address)} (its certificate is not right); "
            "it is not read."
        )
    if isinstance(error, httpcore.ConnectError):
        return f"{_host(address)} can't be reached; try later."
    if isinstance(error, httpcore.ProtocolError):
        return f"{_host(address)} does not answer as a web site does; it can't be read."
    return f"The connection to {_host(address)} broke off; try again."
