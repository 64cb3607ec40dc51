"""Searching: each engine over a server that answers as it does, fall-back in order, refusals in words."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from botpsy_web.fence import Fence
from botpsy_web.problems import Forbidden
from botpsy_web.search.accounts import BraveAccount, SearxngAccount
from botpsy_web.search.engine import EngineProblem, Query, Region, Result, SearchEngine
from botpsy_web.search.keyless import NAMES, KeylessEngine
from botpsy_web.search.searching import search_in_order
from botpsy_web.search.served import MojeekEngine

from botpsy_tui.plugin import Account, AccountProblem, SecretUnavailable, ToolError
from tests.security.hostile import dangers, hostile_strings
from tests.servers.engine_proxy import EngineProxy, engine_proxy
from tests.servers.ports import free_port
from tests.servers.web_site import answer, redirect
from tests.web import pages
from tests.web.world import Web

GERMAN = Region("de", "de")

DUCKDUCKGO = """<html><body><div class="links_main result__body">
<h2><a href="https://a.example/ferry">Ferry &amp; times</a></h2>
<a class="result__snippet" href="https://a.example/ferry">It <b>leaves</b> at noon.</a></div>
<div class="result__body"><h2>Advertisement</h2>
<a href="https://duckduckgo.com/y.js?ad=1">Buy</a></div>
<div class="result__body"><h2>Trap</h2><a href="javascript:alert(1)">Trap</a></div>
<div class="result__body"><h2><a href="https://b.example/">Other</a></h2>
<a href="https://b.example/"></a></div></body></html>"""

DUCKDUCKGO_CAPTCHA = '<html><body><div class="anomaly-modal__title">Select all ducks</div></body></html>'

MOJEEK = """<html><body><ul class="results-standard"><li><h2><a href="https://c.example/x">Ferries</a></h2>
<p class="s">All ferries of the coast.</p></li></ul></body></html>"""


@pytest.fixture
async def engines(tmp_path: Path) -> AsyncIterator[EngineProxy]:
    async with engine_proxy(tmp_path) as proxy:
        yield proxy


def keyless(engines: EngineProxy, name: str = "duckduckgo") -> KeylessEngine:
    return KeylessEngine(name, proxy=engines.url, verify=engines.authority)


async def test_duckduckgo_is_read_as_it_answers(engines: EngineProxy) -> None:
    engines.pages["html.duckduckgo.com/html/"] = answer(DUCKDUCKGO)
    found = await keyless(engines).search(Query("ferry times", since="week", region=GERMAN))
    assert [(one.title, one.url, one.snippet) for one in found] == [
        ("Ferry & times", "https://a.example/ferry", "It leaves at noon."),
        ("Other", "https://b.example/", ""),
    ]
    assert parse_qs(engines.bodies[0]) == {"q": ["ferry times"], "l": ["de-de"], "df": ["w"]}


async def test_mojeek_is_read_as_it_answers(engines: EngineProxy) -> None:
    engines.pages["www.mojeek.com/search"] = answer(MOJEEK)
    found = await keyless(engines, "mojeek").search(Query("ferry"))
    assert found == [Result("Ferries", "https://c.example/x", "All ferries of the coast.")]


async def test_an_engine_that_knows_no_time_is_not_asked_for_what_is_new(engines: EngineProxy) -> None:
    with pytest.raises(EngineProblem, match="no older than a week"):
        await keyless(engines, "mojeek").search(Query("ferry", since="week"))
    with pytest.raises(EngineProblem, match="no search for news"):
        await keyless(engines, "mojeek").search(Query("ferry", news=True))
    assert engines.requests == []


async def test_news_come_with_date_and_publisher(engines: EngineProxy) -> None:
    engines.pages["duckduckgo.com/"] = answer("<script>vqd='4-123456789'</script>")
    story = {
        "date": 1764540000,
        "title": "Harbour <b>closes</b>",
        "excerpt": "In March.",
        "url": "https://news.example/1",
        "source": "The Courier",
    }
    engines.pages["duckduckgo.com/news.js"] = answer(json.dumps({"results": [story]}))
    (found,) = await keyless(engines).search(Query("harbour", news=True, since="day"))
    assert (found.title, found.url, found.snippet, found.source) == (
        "Harbour closes", "https://news.example/1", "In March.", "The Courier",
    )  # fmt: skip
    assert found.date.startswith("2025-11-30")
    asked = parse_qs(urlsplit(engines.requests[-1].split(" ")[1]).query)
    assert (asked["q"], asked["df"]) == (["harbour"], ["d"])


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (answer(DUCKDUCKGO_CAPTCHA), "DuckDuckGo wants to see that a person is asking (a captcha)."),
        (answer(DUCKDUCKGO_CAPTCHA, status="202 Accepted"), "(a captcha)"),
        (answer("", status="202 Accepted"), "was asked too often"),
        (answer("slow down", status="429 Too Many Requests"), "was asked too often"),
        (answer("no", status="403 Forbidden"), "was asked too often"),
        (answer("oops", status="500 Oops"), "has trouble (500)"),
        (b"", "can't be reached"),
    ],
    ids=["captcha", "captcha 202", "202", "429", "403", "500", "gone"],
)
async def test_what_an_engine_refuses_is_said_in_words(engines: EngineProxy, page: bytes, said: str) -> None:
    engines.pages["html.duckduckgo.com/html/"] = page
    with pytest.raises(EngineProblem) as problem:
        await keyless(engines).search(Query("ferry"))
    assert said in str(problem.value)


async def test_an_engine_that_finds_nothing_says_so_and_nothing_else(engines: EngineProxy) -> None:
    engines.pages["html.duckduckgo.com/html/"] = answer("<html><body><p>No results.</p></body></html>")
    assert await keyless(engines).search(Query("ferry")) == []


async def test_a_proxy_that_is_not_there_is_told() -> None:
    engine = KeylessEngine("duckduckgo", proxy=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(EngineProblem, match=r"DuckDuckGo can't be reached\."):
        await engine.search(Query("ferry"))


def test_every_engine_that_may_be_named_is_known_to_the_library() -> None:
    from ddgs.engines import ENGINES

    assert set(NAMES) <= set(ENGINES["text"])


def served(web: Web, kind: str, path: str = "") -> Account:
    account = Account("mine", kind, {"url": web.url(path)})
    web.accounts.append(account)
    return account


def asked(web: Web) -> dict[str, list[str]]:
    return parse_qs(urlsplit(web.site.requests[-1].split(" ")[1]).query)


class Anything(dict[str, Any]):
    """Pages by path alone, whatever the query is."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(key.partition("?")[0], default)


@pytest.fixture
def answers(web: Web) -> dict[str, Any]:
    web.site.pages = Anything()
    return web.site.pages


SEARXNG = {
    "results": [
        {"title": "Ferry", "url": "https://a.example/", "content": "At noon.", "publishedDate": None},
        {"title": "Twice", "url": "https://a.example/", "content": ""},
        {"title": "Inner", "url": "file:///etc/passwd", "content": ""},
        {
            "title": "News",
            "url": "https://b.example/",
            "content": "x",
            "publishedDate": "2026-11-30",
        },
    ],
    "unresponsive_engines": [["google", "CAPTCHA"]],
}


async def test_searxng_is_asked_in_its_own_words(web: Web, answers: dict[str, Any]) -> None:
    served(web, "searxng", "/searx/")
    web.settings["region"] = "de-AT"
    answers["/searx/search"] = answer(json.dumps(SEARXNG), content_type="application/json")
    got = await web.search("ferry times", since="month", news=True)
    assert asked(web) == {
        "q": ["ferry times"],
        "format": ["json"],
        "categories": ["news"],
        "language": ["de-AT"],
        "time_range": ["month"],
    }
    assert got.text.split("\n") == [
        "SearXNG (mine) finds in the news for “ferry times”:",
        "1. [p1] Ferry (a.example): At noon.",
        "2. [p2] News (b.example, 2026-11-30): x",
    ]
    assert got.sources == ("search results of SearXNG (mine) for “ferry times”",)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (answer("no", status="403 Forbidden"), "must have json among search.formats"),
        (answer("<html>", content_type="text/html"), "in a form that can't be read"),
        (answer("[1]"), "in a form that can't be read"),
        (answer('{"results": 7}'), "in a form that can't be read"),
        (answer("[" * 99_999), "in a form that can't be read"),
        (answer("x", status="429 Slow"), "asked too often"),
        (answer("x", status="502 Bad"), "has trouble (502)"),
        (redirect("https://elsewhere.example/"), "sends on to elsewhere.example"),
        (
            answer(json.dumps({"results": [], "unresponsive_engines": [["google", "CAPTCHA"]]})),
            "no answer from its engines (google: CAPTCHA)",
        ),
    ],
    ids=["no JSON", "page", "list", "number", "deep", "often", "trouble", "elsewhere", "engines"],
)
async def test_what_searxng_refuses_is_said(
    web: Web, answers: dict[str, Any], page: bytes, said: str
) -> None:
    served(web, "searxng")
    answers["/search"] = page
    with pytest.raises(EngineProblem) as problem:
        await web.search("ferry")
    assert said in str(problem.value)


async def test_brave_is_asked_with_its_key_and_no_one_else_is(web: Web, answers: dict[str, Any]) -> None:
    served(web, "brave")
    results = [
        {"title": "<strong>Ferry</strong>", "url": "https://a.example/", "description": "At&nbsp;noon"}
    ]
    answers["/res/v1/web/search"] = answer(json.dumps({"web": {"results": results}}))
    got = await web.search("ferry", since="day")
    assert "1. [p1] Ferry (a.example): At noon" in got.text
    assert "\r\nX-Subscription-Token: key of mine\r\n" in web.site.heads[-1]
    assert asked(web) == {
        "q": ["ferry"],
        "count": ["10"],
        "country": ["US"],
        "search_lang": ["en"],
        "freshness": ["pd"],
    }
    story = {**results[0], "age": "2 hours ago", "meta_url": {"hostname": "courier.example"}}
    answers["/res/v1/news/search"] = answer(json.dumps({"results": [story]}))
    assert "(a.example, courier.example, 2 hours ago)" in (await web.search("ferry", news=True)).text
    answers["/res/v1/web/search"] = redirect(f"http://site.example:{web.site.plain_port}/")
    with pytest.raises((EngineProblem, Forbidden)):
        await web.search("ferry")
    assert "key of mine" not in "".join(head for head in web.site.heads if "GET /res" not in head)


async def test_mojeek_with_a_key(web: Web, answers: dict[str, Any]) -> None:
    served(web, "mojeek")
    results = [{"title": "Ferry", "url": "https://a.example/", "desc": "At noon", "date": "2026-11-30"}]
    answers["/search"] = answer(json.dumps({"response": {"status": "OK", "results": results}}))
    got = await web.search("ferry", since="week")
    assert "1. [p1] Ferry (a.example, 2026-11-30): At noon" in got.text
    assert (asked(web)["api_key"], asked(web)["since"]) == (["key of mine"], ["month"])
    answers["/search"] = answer(json.dumps({"response": {"status": "ERROR: Daily Limit Reached"}}))
    with pytest.raises(EngineProblem, match="Daily Limit Reached"):
        await web.search("ferry")


@pytest.mark.parametrize("kind", ["brave", "mojeek"])
async def test_a_key_that_is_not_taken_is_told_and_not_shown(
    web: Web, answers: dict[str, Any], kind: str
) -> None:
    served(web, kind)
    for path in ("/search", "/res/v1/web/search"):
        answers[path] = answer("bad key of mine", status="401 Unauthorized")
    with pytest.raises(EngineProblem) as problem:
        await web.search("ferry")
    assert "does not take its key (401)" in str(problem.value)
    assert "key of mine" not in str(problem.value)


async def test_a_key_that_is_nowhere_is_told(web: Web) -> None:
    def nowhere(account: Account) -> str:
        raise SecretUnavailable("The keyring holds no password for mine.")

    engine = MojeekEngine(served(web, "mojeek"), web.fetcher(), nowhere)
    with pytest.raises(EngineProblem, match="keyring"):
        await engine.search(Query("ferry"))
    assert web.site.requests == []


class FakeEngine(SearchEngine):
    """An engine with an answer, or none."""

    def __init__(self, name: str, *results: Result, problem: str = "") -> None:
        self.name, self.host = name, f"{name}.example"
        self._results, self._problem = results, problem
        self.asked: list[Query] = []

    async def search(self, query: Query) -> tuple[Result, ...]:
        self.asked.append(query)
        if self._problem:
            raise EngineProblem(self._problem)
        return self._results


FERRY = Result("Ferry", "https://a.example/")


async def test_engines_are_asked_in_order_until_one_answers_and_the_others_are_not() -> None:
    broken, empty = FakeEngine("one", problem="One is away."), FakeEngine("two")
    good, last = FakeEngine("three", FERRY), FakeEngine("four", FERRY)
    found = await search_in_order([broken, empty, good, last], Query("ferry"))
    assert (found.engine, found.results, found.problems) == ("three", (FERRY,), ["One is away."])
    assert last.asked == []


async def test_nothing_found_is_no_problem_where_one_engine_has_looked() -> None:
    found = await search_in_order([FakeEngine("one"), FakeEngine("two", problem="Away.")], Query("ferry"))
    assert (found.engine, found.results, found.problems) == ("one", (), ["Away."])


async def test_where_no_engine_answers_each_is_told() -> None:
    with pytest.raises(EngineProblem, match=r"^One is away\. Two wants a captcha\.$"):
        await search_in_order(
            [FakeEngine("1", problem="One is away."), FakeEngine("2", problem="Two wants a captcha.")],
            Query("ferry"),
        )


async def test_the_card_says_who_is_asked_and_what_the_person_has_not_said(web: Web) -> None:
    tool = web.tool("search_web")
    said = web.context("When does the ferry to Kiel leave?")
    proposal = await tool.propose(tool.arguments(query="ferry Kiel timetable", since="week"), said)
    assert {line.label: line.value for line in proposal.preview.lines} == {
        "Words": "ferry Kiel timetable",
        "Asks": "DuckDuckGo; if it does not answer: Mojeek, Brave",
        "Not older than": "a week",
        "Not in your words": "timetable",
    }
    assert proposal.risk == "read"
    assert proposal.facts == {
        "query": "ferry Kiel timetable",
        "engines": ["duckduckgo.com", "www.mojeek.com", "search.brave.com"],
        "outbound_data": True,
    }
    proposal = await tool.propose(tool.arguments(query="FERRY to kiel"), said)
    assert proposal.facts["outbound_data"] is False


async def test_whoever_asks_for_news_gets_news(web: Web) -> None:
    tool = web.tool("search_web")
    proposal = await tool.propose(tool.arguments(query="Kiel"), web.context("Any news from Kiel?"))
    assert proposal.payload["news"] is True


async def test_with_an_account_no_other_engine_is_asked_unless_it_is_named(web: Web) -> None:
    served(web, "searxng")
    tool = web.tool("search_web")
    proposal = await tool.propose(tool.arguments(query="x"), web.context("x"))
    assert proposal.facts["engines"] == ["site.example"]
    web.settings["engines"] = ["mine", "mojeek"]
    tool = web.tool("search_web")
    proposal = await tool.propose(tool.arguments(query="x"), web.context("x"))
    assert proposal.facts["engines"] == ["site.example", "www.mojeek.com"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engines": ["altavista"]}, "there is no 'altavista', but duckduckgo"),
        ({"region": "Atlantis"}, "is no region; write a language and a country, such as en-GB"),
        ({"open_to": ["127.0.0.1"]}, "plugins.web.open_to"),
    ],
)
async def test_settings_that_are_wrong_are_told(web: Web, settings: dict[str, object], said: str) -> None:
    web.settings.update(settings)
    with pytest.raises(ToolError) as problem:
        web.tool("search_web")
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("text", "region"),
    [
        ("de-AT", Region("at", "de")),
        ("de_DE.UTF-8", Region("de", "de")),
        ("en", Region("us", "en")),
        ("fr", Region("fr", "fr")),
    ],
)
def test_regions_are_written_as_languages_are(text: str, region: Region) -> None:
    assert Region.parse(text) == region


async def test_a_result_can_be_read_by_its_id(web: Web, answers: dict[str, Any]) -> None:
    served(web, "searxng")
    results = [{"title": "Harbour", "url": web.url("/news"), "content": ""}]
    answers["/search"] = answer(json.dumps({"results": results}))
    answers["/news"] = answer(pages.NEWS)
    assert "[p1] Harbour" in (await web.search("harbour")).text
    tool = web.tool("read_page")
    proposal = await tool.propose(tool.arguments(page="p1"), web.context("read the first"))
    assert "Harbour closes" in (await tool.commit(proposal, web.context("read the first"))).text


async def test_hostile_results_draw_nothing(web: Web, answers: dict[str, Any]) -> None:
    served(web, "searxng")
    results = [
        {"title": text, "url": f"https://a.example/{n}", "content": text, "publishedDate": text}
        for n, text in enumerate(hostile_strings(60))
    ]
    for start in range(0, 60, 6):
        answers["/search"] = answer(json.dumps({"results": results[start : start + 6]}))
        got = await web.search("ferry")
        assert not dangers(got.view)
        assert len(got.view.split("\n")) == 7, "no result draws a line of its own"
        assert len(got.text) < 3000


async def test_an_account_is_tried_with_one_search(web: Web, answers: dict[str, Any]) -> None:
    answers["/search"] = answer(json.dumps(SEARXNG))
    settings, found = await SearxngAccount(web.fetcher()).connect({"url": web.url("")}, None)
    assert settings == {"url": web.url("/")}
    assert found == "searches with it (2 results to a first question)"
    assert len(web.site.requests) == 1
    answers["/res/v1/web/search"] = answer("{}", status="401 Unauthorized")
    with pytest.raises(AccountProblem, match="does not take its key"):
        await BraveAccount(web.fetcher()).connect({"url": web.url("")}, "wrong")


async def test_a_server_of_the_persons_own_may_be_anywhere_and_nothing_else_is_opened_by_it(web: Web) -> None:
    kind = SearxngAccount(web.fetcher())
    with pytest.raises(AccountProblem, match="use https"):
        await kind.connect({"url": "http://searx.example.org/"}, None)
    port = free_port()
    with pytest.raises(AccountProblem, match="can't be reached"):
        await SearxngAccount().connect({"url": f"http://127.0.0.1:{port}"}, None)
    opened = Fence().opened_to("127.0.0.1", port)
    opened.check_name("127.0.0.1", port)
    for host, other in (("127.0.0.1", 80), ("127.0.0.2", port), ("localhost", port)):
        with pytest.raises(Forbidden):
            opened.check_name(host, other)
    with pytest.raises(Forbidden):
        await web.propose("read_page", page=f"http://127.0.0.1:{port}/")
