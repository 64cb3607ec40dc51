"""Engines behind an account: the person's own SearXNG, Brave and Mojeek with a key."""

import asyncio
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from botpsy_tui.plugin import Account, SecretUnavailable, for_display_line
from botpsy_web.fetcher import Answer, Fetcher
from botpsy_web.problems import WebProblem
from botpsy_web.search.engine import MOST_RESULTS, EngineProblem, Query, Result, SearchEngine, kept, result_of
from botpsy_web.urls import WebAddress, web_address

Secret = Callable[[Account], str]


class ServedEngine(SearchEngine):
    """An engine that answers in JSON at an address that the person has given."""

    label: str

    def __init__(self, account: Account, fetcher: Fetcher, secret: Secret) -> None:
        """The account's own host is reached wherever it is; `secret` may block. Raises `WebProblem`."""
        self._account = account
        self._base = web_address(account.settings.get("url", ""))
        self._fetcher = fetcher.opened_to(self._base)
        self._secret = secret
        self.host = self._base.host
        self.name = (
            self.label if self.host in account.name else f"{self.label} ({for_display_line(account.name)})"
        )

    async def search(self, query: Query) -> Sequence[Result]:
        """Ask it."""
        try:
            key = await asyncio.to_thread(self._secret, self._account) if self._needs_key else ""
            path, parameters = self._asked(query, key)
            place = WebAddress(
                self._base.scheme,
                self._base.host,
                self._base.port,
                f"{self._base.path.rstrip('/')}{path}?{urlencode(parameters)}",
            )
            answer = await self._fetcher.get(place, accept="application/json", headers=self._headers(key))
        except SecretUnavailable as error:
            raise EngineProblem(str(error)) from error
        except WebProblem as error:
            raise EngineProblem(f"{self.name}: {error}") from error
        self._check(answer)
        try:
            data = json.loads(answer.text)
            return kept(self._results(data, query))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise EngineProblem(f"{self.name} answers in a form that can't be read.") from error

    _needs_key = True

    @abstractmethod
    def _asked(self, query: Query, key: str) -> tuple[str, Mapping[str, str]]:
        """Return the path and the parameters of a search."""

    def _headers(self, key: str) -> Mapping[str, str]:
        return {}

    @abstractmethod
    def _results(self, data: Any, query: Query) -> list[Result | None]:
        """Return the results in an answer; may raise whatever a wrong shape makes it raise."""

    def _check(self, answer: Answer) -> None:
        """Raise `EngineProblem` where the answer is none."""
        if answer.elsewhere is not None:
            raise EngineProblem(f"{self.name} sends on to {for_display_line(answer.elsewhere.host)}.")
        if answer.status in (401, 403, 422):
            raise EngineProblem(f"{self.name} does not take its key ({answer.status}).")
        if answer.status == 429:
            raise EngineProblem(f"{self.name} was asked too often, or its quota is used up.")
        if answer.status != 200:
            raise EngineProblem(f"{self.name} has trouble ({answer.status}).")


class SearxngEngine(ServedEngine):
    """A SearXNG server, by its search API; its settings must have ``json`` among `search.formats`."""

    label = "SearXNG"
    _needs_key = False

    def _asked(self, query: Query, key: str) -> tuple[str, Mapping[str, str]]:
        return "/search", {
            "q": query.words,
            "format": "json",
            "categories": "news" if query.news else "general",
            "language": f"{query.region.language}-{query.region.country.upper()}",
            **({"time_range": query.since} if query.since else {}),
        }

    def _results(self, data: Any, query: Query) -> list[Result | None]:
        results = [result_of(one, "title", "url", "content", date="publishedDate") for one in data["results"]]
        silent = data.get("unresponsive_engines") or ()
        if not results and silent:
            reasons = ", ".join(for_display_line(": ".join(map(str, one)))[:60] for one in silent[:4])
            raise EngineProblem(f"{self.name} got no answer from its engines ({reasons}).")
        return results

    def _check(self, answer: Answer) -> None:
        if answer.status == 403:
            raise EngineProblem(
                f"{self.name} gives no JSON: its settings.yml must have json among search.formats."
            )
        super()._check(answer)


class BraveEngine(ServedEngine):
    """Brave's Search API."""

    label = "Brave"

    def _asked(self, query: Query, key: str) -> tuple[str, Mapping[str, str]]:
        return f"/res/v1/{'news' if query.news else 'web'}/search", {
            "q": query.words,
            "count": str(MOST_RESULTS),
            "country": query.region.country.upper(),
            "search_lang": query.region.language,
            **({"freshness": f"p{query.since[0]}"} if query.since else {}),
        }

    def _headers(self, key: str) -> Mapping[str, str]:
        return {"X-Subscription-Token": key}

    def _results(self, data: Any, query: Query) -> list[Result | None]:
        found = data.get("results") if query.news else (data.get("web") or {}).get("results")
        return [
            result_of({**one, **_flat(one)}, "title", "url", "description", date="age", source="from")
            for one in found or ()
        ]


class MojeekEngine(ServedEngine):
    """Mojeek's Search API."""

    label = "Mojeek"

    def _asked(self, query: Query, key: str) -> tuple[str, Mapping[str, str]]:
        return "/search", {
            "q": query.words,
            "fmt": "json",
            "t": str(MOST_RESULTS),
            "lb": query.region.language,
            "rb": query.region.country.upper(),
            "api_key": key,
            # It knows no week: a month is the next longer span.
            **({"since": "month" if query.since == "week" else query.since} if query.since else {}),
        }

    def _results(self, data: Any, query: Query) -> list[Result | None]:
        response = data["response"]
        if response["status"] != "OK":
            raise EngineProblem(f"{self.name} says: {for_display_line(str(response['status']))[:120]}")
        return [result_of(one, "title", "url", "desc", date="date") for one in response.get("results") or ()]


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return who published a piece of Brave's news, which stands one level down."""
    where = record.get("meta_url")
    return {"from": where.get("hostname") if isinstance(where, dict) else ""}  # pyright: ignore
