"""Fetching a page: limits, encodings, manners, and one clear sentence where no page came."""

import asyncio
import gzip
import zlib
from encodings.aliases import aliases

import pytest
from botpsy_web.bodies import Unpacker, decoded
from botpsy_web.fence import Fence
from botpsy_web.fetcher import Fetcher, Limits, user_agent
from botpsy_web.problems import Forbidden, TookTooLong, WebProblem
from botpsy_web.robots import Robots
from botpsy_web.urls import web_address
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.ports import free_port
from tests.servers.web_site import answer, redirect
from tests.web.world import Web

GERMAN = "Größe: 5 € für Österreich"


async def test_a_page_comes_with_its_type_and_text(web: Web) -> None:
    web.site.pages["/"] = answer(GERMAN)
    got = await web.get("/")
    assert (got.status, got.content_type, got.text) == (200, "text/html", GERMAN)


async def test_a_request_says_who_asks_and_carries_nothing_else(web: Web) -> None:
    web.site.pages["/"] = answer("", "Set-Cookie: id=1", "Location: /no")
    await web.get("/")
    await web.get("/")
    names = [line.partition(":")[0] for line in web.site.heads[1].split("\r\n")[1:] if line]
    assert names == ["Host", "User-Agent", "Accept", "Accept-Encoding"]
    assert f"User-Agent: {user_agent()}\r\n" in web.site.heads[1]
    assert f"Host: site.example:{web.site.port}\r\n" in web.site.heads[1]


async def test_a_huge_page_is_cut_at_the_limit(web: Web) -> None:
    async def for_ever(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"a" * 65_536)
            await writer.drain()

    web.site.pages["/"] = for_ever
    got = await web.get("/", limits=Limits(bytes=100_000))
    assert got.cut
    assert len(got.body) == 100_000


@pytest.mark.parametrize("layers", [1, 2])
async def test_a_bomb_costs_no_more_than_the_limit(web: Web, layers: int) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    coding = "gzip"
    if layers == 2:
        bomb, coding = gzip.compress(bomb), "gzip, gzip"
    web.site.pages["/"] = answer(bomb, f"Content-Encoding: {coding}")
    if layers == 2:
        with pytest.raises(WebProblem, match="not asked for"):
            await web.get("/")
    else:
        got = await web.get("/", limits=Limits(bytes=1_000_000))
        assert got.cut
        assert len(got.body) == 1_000_000


def test_a_bomb_unpacks_to_no_byte_more_than_the_limit_at_any_moment() -> None:
    unpacker = Unpacker("gzip", 1000)
    bomb = gzip.compress(b"\0" * 50_000_000)
    pieces = [unpacker.add(bomb[i : i + 100]) for i in range(0, 1000, 100)]
    assert max(map(len, pieces)) <= 1000
    assert unpacker.full


RAW_DEFLATE = zlib.compressobj(wbits=-15)
PACKED = {
    "gzip": gzip.compress(GERMAN.encode()),
    "x-gzip": gzip.compress(GERMAN.encode()),
    "deflate": zlib.compress(GERMAN.encode()),
    "deflate without its frame": RAW_DEFLATE.compress(GERMAN.encode()) + RAW_DEFLATE.flush(),
    "identity": GERMAN.encode(),
}


@pytest.mark.parametrize(("coding", "body"), PACKED.items(), ids=PACKED)
async def test_packed_pages_are_unpacked(web: Web, coding: str, body: bytes) -> None:
    web.site.pages["/"] = answer(body, f"Content-Encoding: {coding.split()[0]}")
    assert (await web.get("/")).text == GERMAN


@given(st.binary(max_size=2000), st.integers(1, 300))
def test_unpacking_in_pieces_gives_the_whole(body: bytes, size: int) -> None:
    for coding, packed in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body)), ("", body)):
        unpacker = Unpacker(coding, 10_000)
        pieces = [packed[i : i + size] for i in range(0, len(packed), size)]
        assert b"".join(unpacker.add(piece) for piece in pieces) == body


@pytest.mark.parametrize(
    "body", [b"not gzip at all", gzip.compress(b"x")[:10] + b"\xff" * 40], ids=["plain", "broken"]
)
async def test_a_damaged_page_is_told(web: Web, body: bytes) -> None:
    web.site.pages["/"] = answer(body, "Content-Encoding: gzip")
    with pytest.raises(WebProblem, match="damaged"):
        await web.get("/")


async def test_a_site_that_drips_is_given_up_when_its_time_is_over(web: Web) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.02)

    web.site.pages["/"] = drip
    with pytest.raises(TookTooLong, match=r"site\.example took longer"):
        await web.get("/", limits=Limits(seconds=0.3))


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


async def test_a_site_that_says_nothing_is_given_up(web: Web) -> None:
    web.site.pages["/"] = silence
    with pytest.raises(TookTooLong):
        await web.get("/", limits=Limits(seconds=0.3))


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 999999 What\r\n\r\n",
        b"",
    ],
)
async def test_a_server_that_speaks_no_http_is_told(web: Web, raw: bytes) -> None:
    web.site.pages["/"] = raw
    with pytest.raises(WebProblem, match="web site does"):
        await web.get("/")


async def test_nobody_at_the_port_is_told(web: Web) -> None:
    port = free_port()
    fetcher = Fetcher(Fence(web.names.resolve, open_to=[("127.0.0.1", port)]))
    with pytest.raises(WebProblem, match=r"site\.example can't be reached"):
        await fetcher.get(web_address(f"https://site.example:{port}/"))


CHARSETS = {
    "header": ("text/html; charset=iso-8859-15", GERMAN.encode("iso-8859-15")),
    "quoted header": ('text/html; charset="UTF-8"', GERMAN.encode()),
    "latin-1 that is windows": ("text/html; charset=iso-8859-1", GERMAN.encode("cp1252")),
    "meta": ("text/html", b'<meta charset="windows-1252">' + GERMAN.encode("cp1252")),
    "old meta": (
        "text/html",
        b'<meta http-equiv=content-type content="text/html; charset=windows-1252">' + GERMAN.encode("cp1252"),
    ),
    "xml": ("text/xml", b'<?xml version="1.0" encoding="windows-1252"?>' + GERMAN.encode("cp1252")),
    "mark of UTF-16": ("text/html", b"\xff\xfe" + GERMAN.encode("utf-16-le")),
    "mark of UTF-16 big": ("text/html; charset=utf-8", b"\xfe\xff" + GERMAN.encode("utf-16-be")),
    "mark of UTF-8": ("text/html; charset=iso-8859-1", b"\xef\xbb\xbf" + GERMAN.encode()),
    "nothing said": ("text/html", GERMAN.encode()),
    "a name that is none": ("text/html; charset=nonsense", GERMAN.encode()),
    "a codec that is no charset": ("text/html; charset=base64", GERMAN.encode()),
    "meta says UTF-16, and can't": ("text/html", b'<meta charset="utf-16">' + GERMAN.encode()),
}


@pytest.mark.parametrize(("content_type", "body"), CHARSETS.values(), ids=CHARSETS)
async def test_letters_are_read_as_they_are_meant(web: Web, content_type: str, body: bytes) -> None:
    web.site.pages["/"] = answer(body, content_type=content_type)
    assert (await web.get("/")).text.endswith(GERMAN)


@pytest.mark.parametrize(
    ("charset", "codec", "text"),
    [
        ("gb2312", "gb18030", "天气预报：今天晴"),
        ("Shift_JIS", "cp932", "①営業時間"),
        ("euc-kr", "cp949", "영업시간 똠방각하"),
        ("big5", "big5hkscs", "營業時間"),
        ("windows-1251", "cp1251", "Часы работы"),
        ("koi8-r", "koi8-r", "Часы работы"),
    ],
)
def test_names_of_charsets_mean_what_pages_mean_by_them(charset: str, codec: str, text: str) -> None:
    assert decoded(text.encode(codec), charset) == text


def test_letters_of_a_page_that_says_nothing_are_guessed() -> None:
    text = "Часы работы магазина: с понедельника по пятницу, без перерыва на обед. " * 5
    assert decoded(text.encode("cp1251")) == text


@given(st.binary(max_size=300), st.text(max_size=12) | st.sampled_from(sorted(set(aliases.values()))))
def test_any_bytes_become_text(body: bytes, charset: str) -> None:
    assert isinstance(decoded(body, charset), str)


async def test_what_robots_txt_asks_for_is_kept_to(web: Web) -> None:
    web.site.pages["/robots.txt"] = answer(
        "User-agent: *\nDisallow: /all\n\n"
        "User-agent: BotPsy\nDisallow: /*.pdf$\nAllow: /open\nDisallow: /op\n",
        content_type="text/plain",
    )
    robots = Robots(web.fetcher())
    for path in ("/", "/all", "/open/1", "/x.pdf?a"):
        await robots.check(web.address(path))
    for path in ("/x.pdf", "/opera"):
        with pytest.raises(Forbidden, match=r"robots\.txt"):
            await robots.check(web.address(path))
    assert web.site.requests == ["GET /robots.txt HTTP/1.1"], "asked once"


async def test_a_site_without_robots_txt_may_be_read(web: Web) -> None:
    await Robots(web.fetcher()).check(web.address("/x"))
    web.site.pages["/robots.txt"] = redirect(web.url("/robots.txt", "other.example"))
    await Robots(web.fetcher()).check(web.address("/x"))
    assert len(web.site.requests) == 2


@pytest.mark.parametrize("status", ["500 Internal Server Error", "503 Busy", "429 Too Many Requests"])
async def test_a_site_that_has_trouble_saying_what_it_allows_is_left_alone(web: Web, status: str) -> None:
    web.site.pages["/robots.txt"] = answer("", status=status)
    with pytest.raises(WebProblem, match="try later"):
        await Robots(web.fetcher()).check(web.address("/x"))
