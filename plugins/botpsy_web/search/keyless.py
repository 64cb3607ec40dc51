"""Engines that need no key, read as `ddgs` reads them; which of them answered, and how, is seen here."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, cast

from botpsy_web.search.engine import EngineProblem, Query, Result, SearchEngine, kept, result_of

NAMES = {
    "duckduckgo": ("DuckDuckGo", "duckduckgo.com"),
    "mojeek": ("Mojeek", "www.mojeek.com"),
    "brave": ("Brave", "search.brave.com"),
    "yahoo": ("Yahoo", "search.yahoo.com"),
    "wikipedia": ("Wikipedia", "wikipedia.org"),
}
"""Of the engines that `ddgs` knows, those that may be named: their names and who is asked."""

USUAL = ("duckduckgo", "mojeek", "brave")

_SECONDS = 10
_TIMELESS = ("mojeek", "wikipedia")
"""Those that can't be asked for what is new."""
_TOO_OFTEN = (202, 403, 418, 429, 503)
_CAPTCHA = re.compile(
    rb"captcha|anomaly-modal|unusual traffic|are you (?:a robot|not a robot|human)|challenge-form",
    re.IGNORECASE,
)


class KeylessEngine(SearchEngine):
    """One of `NAMES`."""

    def __init__(self, key: str, *, proxy: str | None = None, verify: bool | str = True) -> None:
        """`proxy` and `verify` (a file of certificates) are given by code alone."""
        self.name, self.host = NAMES[key]
        self._key = key
        self._proxy = proxy
        self._verify = verify

    async def search(self, query: Query) -> Sequence[Result]:
        """Ask in a thread of its own: the library blocks."""
        return await asyncio.to_thread(self._search, query)

    def _search(self, query: Query) -> Sequence[Result]:
        from ddgs.engines import ENGINES  # slow to import, and not needed to start
        from ddgs.exceptions import DDGSException, TimeoutException

        kind = "news" if query.news else "text"
        known = cast(dict[str, Any], ENGINES[kind])
        if self._key not in known:
            raise EngineProblem(
                f"{self.name} has no search for news here." if query.news else f"{self.name} is off."
            )
        if query.since and self._key in _TIMELESS:
            raise EngineProblem(f"{self.name} can't be asked for what is no older than a {query.since}.")
        engine = known[self._key](proxy=self._proxy, timeout=_SECONDS, verify=self._verify)
        answers = _watched(engine)
        country = "uk" if query.region.country == "gb" else query.region.country
        try:
            found: list[Any] | None = engine.search(
                query.words,
                region=f"{country}-{query.region.language}",
                timelimit=query.since[0] if query.since else None,
            )
        except TimeoutException as error:
            raise EngineProblem(f"{self.name} took longer than {_SECONDS} seconds.") from error
        except DDGSException as error:
            raise EngineProblem(f"{self.name} can't be reached.") from error
        except Exception as error:  # the library reads pages that change without notice
            raise EngineProblem(f"{self.name} answers in a form that can't be read.") from error
        results = kept([_result(vars(one), news=query.news) for one in found or ()])
        if not results:
            self._explain(answers)
        return results

    def _explain(self, answers: Sequence[tuple[int, bytes]]) -> None:
        """Raise `EngineProblem` where an empty list does not mean that there is nothing."""
        for status, body in answers:
            if _CAPTCHA.search(body[:200_000]):
                raise EngineProblem(f"{self.name} wants to see that a person is asking (a captcha).")
            if status in _TOO_OFTEN:
                raise EngineProblem(
                    f"{self.name} was asked too often and wants to be left alone for a while."
                )
            if status != 200:
                raise EngineProblem(f"{self.name} has trouble ({status}).")


def _watched(engine: Any) -> list[tuple[int, bytes]]:
    """Have an engine's client note the status and body of each answer: the library keeps them to itself."""
    answers: list[tuple[int, bytes]] = []
    request = engine.http_client.request

    def noting(*arguments: Any, **options: Any) -> Any:
        response = request(*arguments, **options)
        answers.append((int(response.status_code), bytes(response.content)))
        return response

    engine.http_client.request = noting
    return answers


def _result(record: dict[str, Any], *, news: bool) -> Result | None:
    if news:
        return result_of(record, "title", "url", "body", date="date", source="source")
    return result_of(record, "title", "href", "body")
