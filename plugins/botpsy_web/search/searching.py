"""Asks the engines in order until one answers, and says which did and why others did not."""

from collections.abc import Sequence
from dataclasses import dataclass

from botpsy_web.search.engine import EngineProblem, Query, Result, SearchEngine


@dataclass(frozen=True)
class Found:
    """What a search has brought."""

    engine: str
    results: Sequence[Result]
    problems: Sequence[str] = ()
    """A sentence for each engine that was asked before and gave nothing."""


async def search_in_order(engines: Sequence[SearchEngine], query: Query) -> Found:
    """Return the first answer that has results; else the last that has none. Raises `EngineProblem`."""
    problems: list[str] = []
    empty = ""
    for engine in engines:
        try:
            results = await engine.search(query)
        except EngineProblem as problem:
            problems.append(str(problem))
            continue
        if results:
            return Found(engine.name, results, problems)
        empty = engine.name
    if empty:
        return Found(empty, (), problems)
    raise EngineProblem(" ".join(problems) or "No search engine is named in the settings.")
