"""Reads a web page, and gives of it what was asked."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

from pydantic import BaseModel, Field

from botpsy_tui.plugin import (
    Context,
    Json,
    Line,
    Outcome,
    Preview,
    Proposal,
    ReferenceOrAddress,
    Risk,
    Tool,
    ToolError,
    for_display,
    for_display_line,
    for_model,
    shown_host,
    shown_link,
)
from botpsy_web.carrying import carried
from botpsy_web.fence import Fence
from botpsy_web.page import Link, Page, Wall
from botpsy_web.passages import asked_words, fitting, parts_of
from botpsy_web.problems import WebProblem
from botpsy_web.reading import Reader, SendsElsewhere
from botpsy_web.urls import WebAddress, web_address

PAGE = "page"
"""The kind of id that pages and links have."""

_PART = 2200
_MOST_LINKS = 6
_WALLS: dict[Wall, str] = {
    "login": "shows this page only after a log-in; the person can open it in a browser",
    "script": "builds this page with JavaScript, which is not run here; the person can open it in a browser",
    "captcha": "wants to see that a person is reading (a captcha); the person can open it in a browser",
    "subscribers": "keeps a part of this page for subscribers",
}


class ReadPageArguments(BaseModel):
    """Which page, and which part of it."""

    page: Annotated[str, ReferenceOrAddress(PAGE)] = Field(
        description="The id of a page or link, or the address that the person gave."
    )
    part: Annotated[int, Field(ge=1)] | None = Field(None, description="Only to go on reading: which part.")


class ReadPage(Tool[ReadPageArguments]):
    """One page of the public web."""

    name = "read_page"
    description = "Read a web page: its text, facts and links."
    arguments = ReadPageArguments
    highest_risk = Risk.READ

    def __init__(self, reader: Reader, fence: Fence) -> None:
        self._reader = reader
        self._fence = fence

    async def propose(self, arguments: ReadPageArguments, context: Context) -> Proposal:
        """Resolve the address. Nothing goes over the network yet, not even a look-up of the name."""
        key = context.references.key(PAGE, arguments.page)
        address = web_address(key) if key else _written(arguments.page)
        self._fence.check_name(address.host, address.port)
        data = [] if arguments.page in context.words and not key else carried(address)
        shown = shown_link(str(address))
        warnings = list(shown.warnings)
        if address.scheme == "http":
            warnings.append("Without encryption: everyone on the way can read and change it.")
        asked = sorted(asked_words(context.words)) if arguments.part is None else []
        lines = [Line("Site", shown_host(address.host).text), Line("Address", for_display_line(str(address)))]
        if arguments.part:
            lines.append(Line("Part", str(arguments.part)))
        if data:
            lines.append(
                Line("Carries", "; ".join(f"{for_display_line(n)} = {for_display_line(v)}" for n, v in data))
            )
        return self.propose_with(
            arguments,
            risk=Risk.READ,
            preview=Preview("Read a web page", tuple(lines), tuple(warnings)),
            payload={"url": str(address), "part": arguments.part, "asked": list[Json](asked)},
            facts={"url": str(address), "host": address.host, "outbound_data": bool(data)},
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Fetch the page and cut it to what was asked."""
        address = web_address(str(proposal.payload["url"]))
        try:
            there, page = await self._reader.read(address)
        except SendsElsewhere as problem:
            return _elsewhere(problem, address, context)
        part = proposal.payload["part"]
        asked = proposal.payload["asked"]
        words = frozenset(map(str, asked)) if isinstance(asked, list) else frozenset[str]()
        text = _told(page, there, part if isinstance(part, int) else None, words, context)
        return Outcome(
            for_model(text),
            for_display(text),
            sources=(f"the page {for_display_line(str(there))}",),
        )


def _written(text: str) -> WebAddress:
    """Return the address that a person wrote, which may lack its scheme."""
    if "://" not in text and "." not in text:
        raise ToolError(f"{for_display_line(text)!r} is no address; give one, or the id of a page.")
    return web_address(text if "://" in text else f"https://{text}")


def _elsewhere(problem: SendsElsewhere, address: WebAddress, context: Context) -> Outcome:
    name = context.references.name(PAGE, str(problem.there))
    text = f"{problem} It was not opened: read [{name}] to go there."
    return Outcome(
        for_model(text), for_display(text), sources=(f"the page {for_display_line(str(address))}",)
    )


def _told(page: Page, address: WebAddress, part: int | None, words: frozenset[str], context: Context) -> str:
    """Return what is told of a page: what it is, its facts, the text that was asked for, links, notes."""
    parts = parts_of(page.blocks, _PART)
    if part is not None and part > len(parts):
        raise WebProblem(f"The page has {len(parts)} parts; there is no part {part}.")
    passages = fitting(page.blocks, words, _PART) if part is None and len(parts) > 1 else ""
    text = passages or (parts[(part or 1) - 1] if parts else "")
    name = context.references.name(PAGE, str(address))
    told = [f"[{name}] {_heading(page, address)}"]
    if (part or 1) == 1:
        told += [str(facts) for facts in page.facts]
    if page.wall:
        told.append(f"Note: {address.host} {_WALLS[page.wall]}.")
    told.append(text)
    if passages:
        told.append(f"(What fits the question, out of {len(parts)} parts; part 1 is the beginning.)")
    elif len(parts) > 1:
        at = part or 1
        told.append(f"(Part {at} of {len(parts)}{f'; part {at + 1} goes on' if at < len(parts) else ''}.)")
    if page.cut and (part or 1) == len(parts):
        told.append("(The page is longer than what is read of it.)")
    if links := _links(page.links, words):
        told.append("Links: " + "; ".join(_link(link, context) for link in links))
    return "\n".join(filter(None, told))


def _heading(page: Page, address: WebAddress) -> str:
    about = [address.host, _day(page.date), f"by {page.author}" if page.author else ""]
    return f"{page.title or address.path} – {', '.join(filter(None, about))}"


def _day(text: str) -> str:
    try:
        day = date.fromisoformat(text[:10])
    except ValueError:
        return ""
    return f"{day.day} {day:%b %Y}"


def _links(links: Sequence[Link], words: frozenset[str]) -> Sequence[Link]:
    """Return the links that fit what was asked, then those that stand first."""
    return sorted(links, key=lambda link: -len(words & asked_words(link.text)))[:_MOST_LINKS]


def _link(link: Link, context: Context) -> str:
    return f"[{context.references.name(PAGE, link.url)}] {link.text[:60]}"
