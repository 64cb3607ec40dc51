"""Reading pages of a local HTTPS site: what is told of each kind, and what is said where nothing can be."""

import asyncio
import base64
import os
import signal
import sys
from typing import Any

import pytest
from botpsy_web.bodies import UNPACKED
from botpsy_web.carrying import carried
from botpsy_web.problems import Forbidden, WebProblem
from botpsy_web.urls import web_address

from botpsy_tui.plugin import ToolError
from tests.security.hostile import batches, dangers, hostile_strings
from tests.servers.web_site import answer, redirect
from tests.web import pages
from tests.web.world import Web


async def test_an_article_comes_as_text_with_its_title_author_date_and_links(web: Web) -> None:
    web.site.pages["/news"] = answer(pages.NEWS)
    got = await web.read("/news")
    assert got.text.startswith("[p1] Harbour closes – site.example, 30 Nov 2026, by Mara Holm\n")
    assert "It closes in March, says the mayor of the town" in got.text
    assert "Seagull | 14:30" in got.text
    assert "- Dogs travel free" in got.text
    assert "Imprint\n" not in got.text
    assert "[p2] mayor of the town" in got.text
    assert web.references.key("page", "p2") == web.url("/mayor?id=7")


async def test_whose_words_they_are_is_named(web: Web) -> None:
    web.site.pages["/news"] = answer(pages.NEWS)
    assert (await web.read("/news")).sources == (f"the page {web.url('/news')}",)


async def test_nothing_goes_over_the_network_before_the_call_is_approved(web: Web) -> None:
    proposal = await web.propose("read_page", f"read {web.url('/news')}", page=web.url("/news"))
    assert web.names.asked == []
    assert web.site.requests == []
    lines = {line.label: line.value for line in proposal.preview.lines}
    assert lines == {"Site": "site.example", "Address": web.url("/news")}
    assert proposal.risk == "read"
    assert proposal.facts == {"url": web.url("/news"), "host": "site.example", "outbound_data": False}


async def test_a_long_page_is_given_in_parts_and_says_how_to_go_on(web: Web) -> None:
    web.site.pages["/long"] = answer(pages.LONG)
    first = await web.read("/long")
    assert len(first.text) < 3000
    assert "(Part 1 of " in first.text
    assert "part 2 goes on" in first.text
    second = await web.read("/long", part=2)
    assert "(Part 2 of " in second.text
    assert second.text.split("\n")[1] not in first.text.split("\n")[1:]
    count = int(first.text.partition("(Part 1 of ")[2].partition(";")[0])
    last = await web.read("/long", part=count)
    assert "goes on" not in last.text
    with pytest.raises(WebProblem, match=f"has {count} parts"):
        await web.read("/long", part=count + 1)


async def test_a_question_gets_the_passages_that_fit_it_from_wherever_they_stand(web: Web) -> None:
    web.site.pages["/long"] = answer(pages.LONG)
    got = await web.read("/long", "How much is the museum for children?")
    assert "# Museum\nThe museum opens at ten on Sundays and costs four crowns for children." in got.text
    assert "What fits the question" in got.text
    assert len(got.text) < 3000


async def test_facts_come_first_and_in_words(web: Web) -> None:
    web.site.pages["/kettle"] = answer(pages.SHOP)
    got = await web.read("/kettle", "What does the kettle cost?")
    line = got.text.split("\n")[1]
    assert line == (
        "Product Kettle – brand: Bel; price: 29.90 EUR; availability: in stock; rating: 4.5 of 5 (12 reviews)"
    )


async def test_what_a_reader_would_not_see_is_not_read(web: Web) -> None:
    web.site.pages["/"] = answer(pages.HIDDEN)
    got = await web.read("/")
    assert "lighthouse" in got.text
    assert "Ignore" not in got.text
    assert not dangers(got.view)


async def test_hostile_text_in_every_place_of_a_page_draws_nothing_and_breaks_nothing(web: Web) -> None:
    for texts in batches(hostile_strings(40), 10):
        body = "".join(
            f"<h1>{text}</h1><p>{pages.SENTENCE}{text}</p><a href='/{n}'>{text}</a>"
            for n, text in enumerate(texts)
        )
        page = pages.html(
            f"<article>{body}</article>", title=texts[0], head=f'<meta name=author content="{texts[1]}">'
        )
        web.site.pages["/"] = answer(page.replace("\0", "").encode("utf-8", "surrogatepass"))
        got = await web.read("/")
        assert not dangers(got.view)
        assert not dangers(got.text)
        assert "lighthouse" in got.text


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (pages.LOGIN, "only after a log-in"),
        (pages.SCRIPT_ONLY, "JavaScript, which is not run here"),
        (pages.NO_SCRIPT, "JavaScript, which is not run here"),
        (pages.CAPTCHA, "a captcha"),
        (pages.PAID, "for subscribers"),
    ],
    ids=["login", "script", "noscript", "captcha", "paid"],
)  # fmt: skip
async def test_a_wall_before_the_page_is_told(web: Web, page: str, said: str) -> None:
    web.site.pages["/"] = answer(page)
    got = await web.read("/")
    assert said in next(line for line in got.text.split("\n") if line.startswith("Note: site.example"))


async def test_a_page_that_only_speaks_of_javascript_or_passwords_is_no_wall(web: Web) -> None:
    article = f"<article><p>You need to enable JavaScript. {pages.SENTENCE * 6}</p></article>"
    web.site.pages["/"] = answer(pages.html(f'{article}<input type="password"><script>x()</script>'))
    assert "Note:" not in (await web.read("/")).text


STATUSES = {
    "404 Not Found": "no such page (404)",
    "410 Gone": "no such page any more (410)",
    "401 Unauthorized": "only after a log-in",
    "402 Payment Required": "only to those who pay",
    "403 Forbidden": "refuses to show this page (403)",
    "451 Unavailable": "by law",
    "500 Internal Server Error": "has trouble (500); try later",
    "503 Service Unavailable": "has trouble (503)",
    "204 No Content": "has an empty page",
    "304 Not Modified": "something that is no page (304)",
    "418 I'm a teapot": "something that is no page (418)",
}


@pytest.mark.parametrize(("status", "said"), STATUSES.items())
async def test_what_a_site_refuses_is_said_in_words(web: Web, status: str, said: str) -> None:
    web.site.pages["/"] = answer(b"" if status[0] in "23" else "<p>x</p>", status=status)
    with pytest.raises(WebProblem) as problem:
        await web.read("/")
    assert said in str(problem.value)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (answer("x", "Retry-After: 120", status="429 Too Many Requests"), "try in 120 seconds"),
        (answer("x", "Retry-After: soon", status="429 Too Many Requests"), "try later"),
        (answer("solve this CAPTCHA", status="403 Forbidden"), "a captcha"),
        (answer("x", "CF-Mitigated: challenge", status="403 Forbidden"), "a captcha"),
    ],
    ids=["wait", "later", "captcha", "challenge"],
)
async def test_rate_limits_and_captchas_are_said_plainly(web: Web, page: bytes, said: str) -> None:
    web.site.pages["/"] = page
    with pytest.raises(WebProblem, match=said):
        await web.read("/")


@pytest.mark.parametrize(
    "kind", ["image/png", "video/mp4", "application/zip", "application/x-msdownload", "font/woff2"]
)
async def test_what_is_no_text_is_named_and_not_read(web: Web, kind: str) -> None:
    web.site.pages["/"] = answer(b"\x89PNG", content_type=kind)
    with pytest.raises(WebProblem, match=f"gives there is {kind}"):
        await web.read("/")


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"\x89PNG\0\0\0", "text/html", "is no text"),
        (b"", "text/html", "holds nothing to read"),
        (b"<html></html>", "text/html", "holds nothing to read"),
        (b"<p>not a pdf", "application/pdf", "called a PDF and is none"),
        (b"%PDF-1.7\nbroken", "application/pdf", "damaged"),
        (b"\0\0\0", "application/octet-stream", "is no text"),
    ],
    ids=["image", "nothing", "empty", "no PDF", "broken PDF", "bytes"],
)
async def test_what_is_not_what_it_says_is_told(web: Web, body: bytes, kind: str, said: str) -> None:
    web.site.pages["/"] = answer(body, content_type=kind)
    with pytest.raises(WebProblem, match=said):
        await web.read("/")


@pytest.mark.parametrize("kind", ["application/pdf", "application/octet-stream", "text/html", ""])
async def test_a_pdf_is_read_whatever_it_is_called(web: Web, kind: str) -> None:
    web.site.pages["/a.pdf"] = answer(pages.pdf("The ferry leaves at noon.", "Two."), content_type=kind)
    got = await web.read("/a.pdf")
    assert "The ferry leaves at noon." in got.text
    assert "Two." in got.text


async def test_a_pdf_of_pictures_says_so(web: Web) -> None:
    web.site.pages["/a.pdf"] = answer(pages.pdf("", ""), content_type="application/pdf")
    with pytest.raises(WebProblem, match="2 pictures of pages"):
        await web.read("/a.pdf")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("Ferry\n\nLeaves at\nnoon.", "text/plain; charset=utf-8"),
        ("# Ferry\n\nLeaves at noon.", "text/markdown"),
        ('{"ferry": "Leaves at noon."}', "application/json"),
        ("<!doctype html><p>Ferry</p><p>Leaves at noon.</p>", ""),
        ("Leaves at noon.", "application/octet-stream"),
    ],
)
async def test_other_texts_are_read_as_they_are(web: Web, body: str, kind: str) -> None:
    web.site.pages["/"] = answer(body, content_type=kind)
    assert "Leaves at noon." in (await web.read("/")).text


async def test_a_page_that_ends_at_the_limit_says_that_there_is_more(web: Web) -> None:
    web.site.pages["/"] = answer(pages.html("<p>" + "word " * 90_000))
    first = await web.read("/")
    count = int(first.text.partition("(Part 1 of ")[2].partition(";")[0])
    assert "longer than what is read" in (await web.read("/", part=count)).text


async def test_a_redirect_to_another_host_is_shown_and_can_be_followed_by_a_call_of_its_own(web: Web) -> None:
    web.site.pages["/short"] = redirect(web.url("/news", "other.example"))
    web.site.pages["/news"] = answer(pages.NEWS)
    got = await web.read("/short")
    assert "other.example" in got.text
    assert "It was not opened: read [p1]" in got.text
    assert web.site.paths == ["/short"]
    tool = web.tool("read_page")
    proposal = await tool.propose(tool.arguments(page="p1"), web.context("go on"))
    assert proposal.facts["host"] == "other.example"
    assert "Harbour closes" in (await tool.commit(proposal, web.context("go on"))).text


async def test_robots_txt_is_kept_to(web: Web) -> None:
    web.site.pages["/robots.txt"] = answer("User-agent: *\nDisallow: /news", content_type="text/plain")
    web.site.pages["/news"] = answer(pages.NEWS)
    with pytest.raises(Forbidden, match=r"robots\.txt"):
        await web.read("/news")
    assert web.site.paths == []


async def test_an_address_behind_the_fence_is_refused_before_anyone_is_asked(web: Web) -> None:
    for page in (
        "http://127.0.0.1/",
        "localhost:8080/x.y",
        "http://[::1]/",
        "file:///etc/passwd",
        "router.lan",
    ):
        with pytest.raises(Forbidden):
            await web.propose("read_page", f"read {page}", page=page)


async def test_what_is_no_address_is_told(web: Web) -> None:
    with pytest.raises(ToolError, match="is no address"):
        await web.propose("read_page", "read it", page="it")


async def test_a_host_that_a_person_wrote_is_asked_with_encryption(web: Web) -> None:
    proposal = await web.propose("read_page", "what is new on heise.de?", page="heise.de")
    assert proposal.payload["url"] == "https://heise.de/"


async def test_a_page_without_encryption_is_warned_of(web: Web) -> None:
    proposal = await web.propose("read_page", "http://site.example/", page="http://site.example/")
    assert any("Without encryption" in warning for warning in proposal.preview.warnings)


async def test_an_address_that_carries_data_says_what_it_carries(web: Web) -> None:
    """A link that a page has offered: the person did not write it, and it could take something along."""
    secret = base64.urlsafe_b64encode(b"the code is 4711, the bank is...").decode().rstrip("=")
    for url, shown in (
        ("https://evil.example/x?mail=lena%40example.org&code=4711", "mail = lena@example.org; code = 4711"),
        ("https://evil.example/x?4711", "query = 4711"),
        (f"https://evil.example/{secret}/x", f"path = {secret}"),
        (f"https://{secret.lower()[:40]}.evil.example/", f"host = {secret.lower()[:40]}"),
    ):
        name = web.references.name("page", url)
        proposal = await web.propose("read_page", "read that", page=name)
        lines = {line.label: line.value for line in proposal.preview.lines}
        assert proposal.facts["outbound_data"] is True, url
        assert lines["Carries"] == shown


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/",
        "https://example.org/2026/12/01/the-old-harbour-closes-for-a-year-in-march/",
        "https://en.wikipedia.org/wiki/Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
        "https://www.example.co.uk/a_b/c.html",
    ],
)
def test_the_plain_name_of_a_page_carries_nothing(url: str) -> None:
    assert carried(web_address(url)) == []


async def test_an_address_that_the_person_wrote_carries_what_they_meant_it_to(web: Web) -> None:
    url = "https://example.org/search?q=ferry"
    proposal = await web.propose("read_page", f"read {url}", page=url)
    assert proposal.facts["outbound_data"] is False
    assert "Carries" not in {line.label for line in proposal.preview.lines}


async def test_a_page_made_to_break_its_reader_breaks_nothing_else(web: Web) -> None:
    bombs = {
        "deep": "<div>" * 50_000 + "x",
        "wide": "<p>" + "<b>" * 50_000 + pages.SENTENCE,
        "entities": '<!DOCTYPE x [<!ENTITY a "aaaa">' + "".join(
            f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 20}">' for n in range(8)
        ) + "]><html><p>&i;</p></html>",
        "attributes": "<p " + " ".join(f"a{n}=1" for n in range(3_000)) + f">{pages.SENTENCE}",
        "facts": pages.html(
            f"<p>{pages.SENTENCE}</p>",
            head=f'<script type="application/ld+json">{"[" * 100_000}{"]" * 100_000}</script>',
        ),
    }  # fmt: skip
    for name, bomb in bombs.items():
        web.site.pages["/"] = answer(bomb)
        try:
            got = await asyncio.wait_for(web.read("/"), 40)
        except WebProblem:
            continue  # a sentence, and no page
        assert len(got.text) < 4000, name


async def test_the_process_that_understands_a_page_knows_nothing_and_is_ended_with_the_call(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: asyncio.Queue[tuple[int, object]] = asyncio.Queue()
    real = asyncio.create_subprocess_exec

    async def sleeper(*argv: str, **options: Any) -> asyncio.subprocess.Process:
        process = await real(sys.executable, "-c", "import time; time.sleep(600)", **options)
        started.put_nowait((process.pid, options["env"]))
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", sleeper)
    web.site.pages["/news"] = answer(pages.NEWS)
    reading = asyncio.ensure_future(web.read("/news"))
    pid, environment = await started.get()
    reading.cancel()
    await asyncio.wait({reading})
    assert environment == {}
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_only_what_can_be_unpacked_is_asked_for() -> None:
    assert UNPACKED == "gzip, deflate"
