"""Reads one page: asks the site what it allows, fetches, and has the body understood elsewhere."""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Any

from botpsy_tui.plugin import for_display_line
from botpsy_web.fetcher import Answer, Fetcher
from botpsy_web.page import HTML, PDF, TEXT, UNTYPED, Page
from botpsy_web.problems import WebProblem
from botpsy_web.robots import Robots
from botpsy_web.urls import WebAddress

_SECONDS_TO_UNDERSTAND = 30.0
_ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/plain;q=0.9,*/*;q=0.1"


class SendsElsewhere(WebProblem):
    """The page is on another host, which was not asked: whoever wants it must say so."""

    def __init__(self, host: str, there: WebAddress) -> None:
        super().__init__(f"{for_display_line(host)} sends on to {for_display_line(str(there))}.")
        self.there = there


class Reader:
    """Reads pages inside the fence of its fetcher."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._robots = Robots(fetcher)

    async def read(self, address: WebAddress) -> tuple[WebAddress, Page]:
        """Return where a page was found in the end, and the page.

        Raises `SendsElsewhere`, `Forbidden` or `WebProblem`.
        """
        await self._robots.check(address)
        answer = await self._fetcher.get(address, accept=_ACCEPT)
        if answer.elsewhere is not None:
            raise SendsElsewhere(address.host, answer.elsewhere)
        _check_status(answer)
        _check_type(answer)
        return answer.address, await understood(answer)


async def understood(answer: Answer) -> Page:
    """Have a body read in a process of its own. Raises `WebProblem`."""
    head = {"content_type": answer.content_type, "charset": answer.charset, "url": str(answer.address)}
    host = for_display_line(answer.address.host)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", "botpsy_web.extraction"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
    )
    try:
        async with asyncio.timeout(_SECONDS_TO_UNDERSTAND):
            written, _ = await process.communicate(json.dumps(head).encode() + b"\n" + answer.body)
    except TimeoutError as error:
        raise WebProblem(f"The page of {host} takes too long to read; it is left alone.") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        result: dict[str, Any] = json.loads(written)
    except ValueError as error:
        raise WebProblem(f"The page of {host} is built so that it can't be read.") from error
    if "problem" in result:
        part = ", of which only a part came," if answer.cut else ""
        raise WebProblem(f"The page of {host}{part} {result['problem']}.")
    page = Page.from_json(result)
    return page.cut_short() if answer.cut else page


def _check_type(answer: Answer) -> None:
    """Refuse what is no text, by what it says it is."""
    kind = answer.content_type
    if kind not in (*HTML, *PDF, *TEXT, *UNTYPED):
        raise WebProblem(
            f"What {for_display_line(answer.address.host)} gives there is {for_display_line(kind)}; "
            "only pages, texts and PDFs can be read."
        )


def _check_status(answer: Answer) -> None:
    """Say what went wrong where the answer is no page. Raises `WebProblem`."""
    status, host = answer.status, for_display_line(answer.address.host)
    start = answer.body[:4000].lower()
    if 200 <= status < 300 and status != 204:
        return
    if "cf-mitigated" in answer.headers or (status in (403, 429, 503) and b"captcha" in start):
        raise WebProblem(f"{host} wants to see that a person is reading (a captcha); open it in a browser.")
    if status == 429:
        wait = answer.headers.get("retry-after", "")
        when = f"in {int(wait)} seconds" if wait.isdecimal() and len(wait) < 6 else "later"
        raise WebProblem(f"{host} was asked too often and wants to be left alone; try {when}.")
    known = {
        204: "has an empty page there",
        401: "shows this page only after a log-in; open it in a browser",
        402: "shows this page only to those who pay",
        403: "refuses to show this page",
        404: "has no such page",
        407: "is behind a proxy that wants a log-in",
        410: "has no such page any more",
        451: "may not show this page, by law",
    }
    if status in known:
        raise WebProblem(f"{host} {known[status]} ({status}).")
    if status >= 500:
        raise WebProblem(f"{host} has trouble ({status}); try later.")
    raise WebProblem(f"{host} answers with something that is no page ({status}).")
