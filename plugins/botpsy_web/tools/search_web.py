"""Searches the web, and gives each result an id that it can be read by."""

import re
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from botpsy_tui.plugin import (
    Context,
    Json,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    for_display,
    for_display_line,
    for_model,
)
from botpsy_web.search.engine import Query, Region, SearchEngine, Since
from botpsy_web.search.searching import Found, search_in_order
from botpsy_web.tools.read_page import PAGE

_MOST_SHOWN = 6
_SNIPPET = 180
_WORD = re.compile(r"[^\W_]+")
_NEWS = re.compile(r"\b(?:news|headlines|nachrichten|schlagzeilen)\b", re.IGNORECASE)


class SearchWebArguments(BaseModel):
    """What to look for."""

    query: Annotated[str, Field(min_length=1, max_length=300)] = Field(description="The words to search for.")
    news: bool | None = Field(None, description="True to search the news.")
    since: Since | None = Field(None, description="Only what is no older than this.")


class SearchWeb(Tool[SearchWebArguments]):
    """A search with one of the engines."""

    name = "search_web"
    description = "Search the web for what is not in calendar or mail: facts, news, prices, places."
    arguments = SearchWebArguments
    highest_risk = Risk.READ

    def __init__(self, engines: Sequence[SearchEngine], region: Region) -> None:
        """`engines` are asked in this order until one answers."""
        self._engines = engines
        self._region = region

    async def propose(self, arguments: SearchWebArguments, context: Context) -> Proposal:
        """Show who is asked what, and which of it the person has not said. Nothing is asked yet."""
        query = " ".join(arguments.query.split())
        news = bool(arguments.news or _NEWS.search(context.words))
        added = _not_said(query, context.words)
        first, *others = [engine.name for engine in self._engines] or ["nobody"]
        asks = first + (f"; if it does not answer: {', '.join(others)}" if others else "")
        lines = [Line("Words", for_display_line(query)), Line("Asks", asks)]
        if news:
            lines.append(Line("In", "the news"))
        if arguments.since:
            lines.append(Line("Not older than", f"a {arguments.since}"))
        if added:
            lines.append(Line("Not in your words", for_display_line(" ".join(added))))
        return self.propose_with(
            arguments,
            risk=Risk.READ,
            preview=Preview("Search the web", tuple(lines)),
            payload={"query": query, "news": news, "since": arguments.since},
            facts={
                "query": query,
                "engines": list[Json]([engine.host for engine in self._engines]),
                "outbound_data": bool(added),
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Ask the engines."""
        payload = SearchWebArguments.model_validate(proposal.payload)
        query = Query(payload.query, bool(payload.news), payload.since, self._region)
        found = await search_in_order(self._engines, query)
        text = "\n".join(_told(found, query, context))
        return Outcome(
            for_model(text),
            for_display(text),
            sources=(f"search results of {found.engine} for “{for_display_line(query.words)}”",),
        )


def _told(found: Found, query: Query, context: Context) -> list[str]:
    what = "the news" if query.news else "the web"
    if not found.results:
        lines = [f"{found.engine} finds nothing in {what} for “{query.words}”."]
    else:
        lines = [f"{found.engine} finds in {what} for “{query.words}”:"]
    for number, result in enumerate(found.results[:_MOST_SHOWN], 1):
        host = urlsplit(result.url).hostname or ""
        about = ", ".join(dict.fromkeys(filter(None, (host, result.source, result.date))))
        name = context.references.name(PAGE, result.url)
        snippet = result.snippet[:_SNIPPET] + "…" * (len(result.snippet) > _SNIPPET)
        lines.append(f"{number}. [{name}] {result.title[:100]} ({about}){f': {snippet}' if snippet else ''}")
    return lines + [f"Note: {problem}" for problem in found.problems]


def _not_said(query: str, said: str) -> list[str]:
    """Return the words of a query that the person has not said in this turn."""
    known = set(_WORD.findall(said.casefold()))
    return [word for word in _WORD.findall(query) if word.casefold() not in known]
