"""What a site asks of programs: its robots.txt (RFC 9309)."""

import time
from dataclasses import dataclass

from protego import Protego

from botpsy_web.fetcher import PRODUCT, Fetcher
from botpsy_web.problems import Forbidden, WebProblem
from botpsy_web.urls import WebAddress

_MOST_BYTES = 500 * 1024
_SECONDS_KEPT = 3600.0


@dataclass(frozen=True)
class _Rules:
    """A site's rules, and until when they are taken as read."""

    parsed: Protego | None
    until: float


class Robots:
    """Asks a site's robots.txt, once an hour, before a page of it is read."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._known: dict[str, _Rules] = {}

    async def check(self, address: WebAddress) -> None:
        """Raise `Forbidden` where the site asks programs not to read this page.

        No robots.txt allows all; a site that has trouble giving it is left alone (§2.3.1.3, §2.3.1.4).
        """
        rules = self._known.get(address.origin)
        if rules is None or rules.until < time.monotonic():
            rules = _Rules(await self._read(address), time.monotonic() + _SECONDS_KEPT)
            self._known[address.origin] = rules
        if rules.parsed is not None and not rules.parsed.can_fetch(str(address), PRODUCT):
            raise Forbidden(
                f"{address.host} asks programs not to read this page (robots.txt); "
                "the person can open it in a browser."
            )

    async def _read(self, address: WebAddress) -> Protego | None:
        place = WebAddress(address.scheme, address.host, address.port, "/robots.txt")
        answer = await self._fetcher.get(place, accept="text/plain, */*;q=0.1")
        if answer.status >= 500 or answer.status == 429:
            raise WebProblem(
                f"{address.host} has trouble ({answer.status}) and can't say what it allows; try later."
            )
        if not 200 <= answer.status < 300:
            return None
        return Protego.parse(answer.body[:_MOST_BYTES].decode("utf-8", "replace"))
