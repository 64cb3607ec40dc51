"""Kinds of account for engines: added with ``botpsy account add``, tried with one search."""

import ipaddress
from collections.abc import Mapping
from typing import ClassVar

from botpsy_tui.plugin import Account, AccountKind, AccountProblem
from botpsy_web.fence import Fence
from botpsy_web.fetcher import Fetcher
from botpsy_web.problems import Forbidden, WebProblem
from botpsy_web.search.engine import Query
from botpsy_web.search.served import BraveEngine, MojeekEngine, SearxngEngine, ServedEngine
from botpsy_web.urls import web_address


class EngineAccount(AccountKind):
    """An engine with an address."""

    engine: ClassVar[type[ServedEngine]]

    def __init__(self, fetcher: Fetcher | None = None) -> None:
        """`fetcher` is given by code alone."""
        self._fetcher = fetcher

    async def connect(self, settings: Mapping[str, str], secret: str | None) -> tuple[dict[str, str], str]:
        """Make one search."""
        try:
            address = web_address(settings.get("url", ""))
            if address.scheme == "http" and not _is_near(address.host, address.port):
                raise AccountProblem(f"{address.host} is another machine: use https.")
            account = Account(self.kind, self.kind, {**settings, "url": str(address)})
            engine = self.engine(account, self._fetcher or Fetcher(Fence()), lambda _: secret or "")
            results = await engine.search(Query("weather"))
        except WebProblem as error:
            raise AccountProblem(str(error)) from error
        return dict(account.settings), f"searches with it ({len(results)} results to a first question)"


class SearxngAccount(EngineAccount):
    """A SearXNG server."""

    kind = "searxng"
    description = "A SearXNG server, your own or one you trust, that gives JSON."
    needs_secret = False
    engine = SearxngEngine


class BraveAccount(EngineAccount):
    """Brave with a key."""

    kind = "brave"
    description = "Brave's Search API, with a key."
    usual_address = "https://api.search.brave.com"
    engine = BraveEngine


class MojeekAccount(EngineAccount):
    """Mojeek with a key."""

    kind = "mojeek"
    description = "Mojeek's Search API, with a key."
    usual_address = "https://www.mojeek.com"
    engine = MojeekEngine


ACCOUNT_KINDS: tuple[EngineAccount, ...] = (SearxngAccount(), BraveAccount(), MojeekAccount())
ENGINES: Mapping[str, type[ServedEngine]] = {kind.kind: kind.engine for kind in ACCOUNT_KINDS}


def _is_near(host: str, port: int) -> bool:
    """Say whether a host is this machine or in its own network."""
    try:
        Fence().check_name(host, port)
    except Forbidden:
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False
