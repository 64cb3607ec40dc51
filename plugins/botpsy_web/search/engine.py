"""What a search engine is asked and what it answers, whichever it is."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal

from botpsy_web.problems import WebProblem
from botpsy_web.urls import web_address

Since = Literal["day", "week", "month", "year"]

MOST_RESULTS = 10
_LONGEST = 500


class EngineProblem(WebProblem):
    """An engine gave no results; the message names it and says why."""


@dataclass(frozen=True)
class Region:
    """For whom results are meant: a country (ISO 3166-1) and a language (ISO 639-1), in lower case."""

    country: str
    language: str

    @classmethod
    def parse(cls, text: str) -> "Region":
        """Read ``de-DE``, ``de_DE.UTF-8`` or ``de``: the language first. Raises `ValueError`."""
        found = re.fullmatch(r"([a-z]{2})(?:[-_]([a-z]{2}))?(?:[.@].*)?", text.strip(), re.IGNORECASE)
        if not found:
            raise ValueError(f"{text!r} is no region; write a language and a country, such as en-GB")
        language = found[1].lower()
        return cls((found[2] or {"en": "us"}.get(language, language)).lower(), language)


@dataclass(frozen=True)
class Query:
    """What is searched for."""

    words: str
    news: bool = False
    since: Since | None = None
    region: Region = Region("us", "en")


@dataclass(frozen=True)
class Result:
    """One result. The texts are strangers'."""

    title: str
    url: str
    snippet: str = ""
    date: str = ""
    """As the engine says it: a day, an instant, or “2 hours ago”."""
    source: str = ""
    """Of news, who published it."""


class SearchEngine(ABC):
    """One engine."""

    name: str
    """Its name for a person, such as ``DuckDuckGo``."""
    host: str
    """Who is asked."""

    @abstractmethod
    async def search(self, query: Query) -> Sequence[Result]:
        """Return what it finds, the best first; nothing where there is nothing. Raises `EngineProblem`."""


def result_of(item: Mapping[str, Any], title: str, url: str, *snippets: str, **more: str) -> Result | None:
    """Return a result from an engine's record by the names it uses; None where it leads nowhere.

    `more` names the fields of ``date`` and ``source``.
    """
    try:
        address = str(web_address(str(item.get(url) or "")))
    except WebProblem:
        return None
    snippet = next((text for name in snippets if (text := _plain(item.get(name)))), "")
    others = {field: _plain(item.get(name)) for field, name in more.items()}
    return Result(_plain(item.get(title)) or address, address, snippet, **others)


def kept(results: Sequence[Result | None]) -> Sequence[Result]:
    """Return the results that lead somewhere, each address once."""
    found = {result.url: result for result in reversed(results) if result is not None}
    return list(reversed(found.values()))[:MOST_RESULTS]


def _plain(value: object) -> str:
    """Return a text without the marks by which engines show what was found."""
    if not isinstance(value, str | int | float):
        return ""
    return " ".join(unescape(re.sub(r"</?[a-z][^<>]{0,200}>", "", str(value)[: 4 * _LONGEST])).split())[
        :_LONGEST
    ]
