"""The fence: looks a host up, checks every address, and connects to the very one it has checked."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpcore

from botpsy_tui.plugin import for_display_line
from botpsy_web.addresses import Address, is_near, source_towards, why_not_public
from botpsy_web.problems import Forbidden, WebProblem

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Gives the addresses (IPv4 and IPv6, as text) of a host name, at least one; raises `OSError`."""

_SECONDS_TO_CONNECT = 5.0
_MOST_ADDRESSES = 4
_INNER_NAMES = frozenset(
    (
        *("localhost", "localdomain", "local", "internal", "intranet", "private", "lan", "home", "corp"),
        *("test", "invalid", "onion", "alt", "arpa"),
    )
)
"""Last parts of names that no public site has (RFC 6761, RFC 6762, RFC 8375, ICANN's list)."""


async def system_resolver(host: str) -> Sequence[str]:
    """Ask the machine's own resolver, for the name as it is: without the suffixes of the local network."""
    found = await asyncio.get_running_loop().getaddrinfo(f"{host}.", None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class Fence:
    """Says which addresses a host may be reached at: public ones alone.

    `open_to` names hosts or addresses, each with its port, that are reached all the same. It is
    given in code: a search server of the person's own, or the tests' servers. Nothing that the
    model or a page can write gets there.
    """

    def __init__(
        self, resolver: Resolver = system_resolver, *, open_to: Iterable[tuple[str, int]] = ()
    ) -> None:
        self._resolver = resolver
        self._open_to = frozenset(open_to)

    def opened_to(self, host: str, port: int) -> "Fence":
        """Return a fence that lets this one host be reached as well, wherever it is."""
        return Fence(self._resolver, open_to=self._open_to | {(host, port)})

    def check_name(self, host: str, port: int) -> None:
        """Refuse a host that can be told to be none of the public internet without looking it up.

        `host` as in `WebAddress`. Raises `Forbidden`. Nothing goes over the network.
        """
        if (host, port) in self._open_to:
            return
        try:
            self._check(host, ipaddress.ip_address(host), port)
        except ValueError:
            labels = host.split(".")
            if len(labels) < 2 or labels[-1] in _INNER_NAMES:
                raise Forbidden(
                    f"{for_display_line(host)} is a name of the local network; only public sites are read."
                ) from None

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Look a host up, and return its addresses once every one of them was checked.

        Raises `Forbidden` where any is not public: a name that points both ways is a trap.
        Raises `WebProblem` where there is no such host.
        """
        self.check_name(host, port)
        try:
            found = [str(ipaddress.ip_address(host))]
        except ValueError:
            try:
                found = await self._resolver(host)
            except OSError as error:
                raise WebProblem(
                    f"There is no site {for_display_line(host)}, or its name can't be looked up now "
                    "(is the network there?)."
                ) from error
        for text in found:
            self._check(host, ipaddress.ip_address(text), port)
        return list(dict.fromkeys(found))[:_MOST_ADDRESSES]

    def _check(self, host: str, address: Address, port: int) -> None:
        if (host, port) in self._open_to or (str(address), port) in self._open_to:
            return
        what = why_not_public(address)
        if not what and is_near(address, source_towards(address, port)):
            what = "this machine or its own network"
        if what:
            leads = "" if host == str(address) else f" leads to {address}, which"
            raise Forbidden(f"{for_display_line(host)}{leads} is {what}; only public sites are read.")


class FencedNetwork(httpcore.AsyncNetworkBackend):
    """Connects for httpcore, to addresses that the fence has checked and to nothing else."""

    def __init__(self, fence: Fence) -> None:
        self._fence = fence
        self._network: Any = httpcore.AnyIOBackend()  # untyped where anyio may be missing

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore names it so
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers. TLS is then for `host`, whose name is verified."""
        seconds = min(timeout or _SECONDS_TO_CONNECT, _SECONDS_TO_CONNECT)
        problem: Exception = httpcore.ConnectError("no address")
        for address in await self._fence.addresses(host, port):
            try:
                return await self._network.connect_tcp(address, port, seconds, None, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                problem = error
        raise problem

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no web site is there."""
        raise Forbidden("A socket in the file system is no web site.")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
