"""Sites that the tests may reach: loopback, opened by code, under names of a name server of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from botpsy_web.fence import Fence
from botpsy_web.fetcher import Answer, Fetcher, Limits
from botpsy_web.urls import WebAddress, web_address

from tests.servers.name_server import NameServer, name_server
from tests.servers.web_site import WebSite, web_site

HOST = "site.example"
HOSTS = (HOST, f"www.{HOST}", "other.example")


@dataclass
class Web:
    site: WebSite
    names: NameServer
    fence: Fence

    def address(self, path: str, host: str = HOST) -> WebAddress:
        return web_address(self.url(path, host))

    def url(self, path: str, host: str = HOST) -> str:
        return f"https://{host}:{self.site.port}{path}"

    def fetcher(self, limits: Limits | None = None) -> Fetcher:
        return Fetcher(self.fence, limits=limits, tls=self.site.tls)

    async def get(self, path: str, *, limits: Limits | None = None) -> Answer:
        return await self.fetcher(limits).get(self.address(path))


@asynccontextmanager
async def small_web() -> AsyncIterator[Web]:
    """One server that is all the hosts of `HOSTS`."""
    async with web_site(*HOSTS, "rebinding.example") as site, name_server() as names:
        names.names.update({host: [["127.0.0.1"]] for host in HOSTS})
        open_to = [("127.0.0.1", site.port), ("127.0.0.1", site.plain_port)]
        yield Web(site, names, Fence(names.resolve, open_to=open_to))
