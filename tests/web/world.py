"""Sites that the tests may reach: loopback, opened by code, under names of a name server of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from botpsy_web.fence import Fence
from botpsy_web.fetcher import Answer, Fetcher, Limits
from botpsy_web.plugin import WebPlugin
from botpsy_web.urls import WebAddress, web_address

from botpsy_tui.plugin import Account, Context, Host, Outcome, Proposal, References, Tool
from tests.servers.name_server import NameServer, name_server
from tests.servers.web_site import WebSite, web_site

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))  # a Tuesday
HOST = "site.example"
HOSTS = (HOST, f"www.{HOST}", "other.example")


@dataclass
class Web:
    site: WebSite
    names: NameServer
    fence: Fence
    folder: Path
    references: References = field(default_factory=References)
    settings: dict[str, object] = field(default_factory=dict)
    accounts: list[Account] = field(default_factory=list)

    def address(self, path: str, host: str = HOST) -> WebAddress:
        return web_address(self.url(path, host))

    def url(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.site.port}{path}"

    def fetcher(self, limits: Limits | None = None) -> Fetcher:
        return Fetcher(self.fence, limits=limits, tls=self.site.tls)

    def tool(self, name: str) -> Tool[Any]:
        host = Host(
            data_folder=self.folder,
            settings=self.settings,
            accounts=self.accounts,
            secret=lambda account: f"key of {account.name}",
            clock=lambda: NOW,
        )
        return next(t for t in WebPlugin(host, fetcher=self.fetcher()).tools() if t.name == name)

    def context(self, words: str) -> Context:
        return Context(clock=lambda: NOW, words=words, references=self.references)

    async def propose(self, name: str, words: str = "", **arguments: Any) -> Proposal:
        tool = self.tool(name)
        return await tool.propose(tool.arguments(**arguments), self.context(words))

    async def search(self, query: str, words: str = "", **more: Any) -> Outcome:
        tool = self.tool("search_web")
        context = self.context(words or f"search for {query}")
        return await tool.commit(await tool.propose(tool.arguments(query=query, **more), context), context)

    async def read(self, path: str, question: str = "", **more: Any) -> Outcome:
        """Read a page as a person asks for it: its address, and a question."""
        url = self.url(path)
        tool = self.tool("read_page")
        words = f"{question} {url}"
        proposal = await tool.propose(tool.arguments(page=url, **more), self.context(words))
        return await tool.commit(proposal, self.context(words))

    async def get(self, path: str, *, limits: Limits | None = None) -> Answer:
        return await self.fetcher(limits).get(self.address(path))


@asynccontextmanager
async def small_web(folder: Path) -> AsyncIterator[Web]:
    """One server that is all the hosts of `HOSTS`."""
    async with web_site(*HOSTS, "rebinding.example") as site, name_server() as names:
        names.names.update({host: [["127.0.0.1"]] for host in HOSTS})
        open_to = [("127.0.0.1", site.port), ("127.0.0.1", site.plain_port)]
        yield Web(site, names, Fence(names.resolve, open_to=open_to), folder)
