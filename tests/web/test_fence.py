"""The fence: whatever an address looks like, wherever a name leads, only public sites are reached."""

import asyncio
import ipaddress
import socket

import botpsy_web.fence
import pytest
from botpsy_web.addresses import is_near, why_not_public
from botpsy_web.fence import Fence, system_resolver
from botpsy_web.fetcher import Fetcher
from botpsy_web.problems import Forbidden, WebProblem
from botpsy_web.urls import web_address
from hypothesis import given
from hypothesis import strategies as st

from tests.servers.web_site import answer, redirect
from tests.web.world import Web

# Each leads to this machine, its networks or a cloud's secrets, in some reader's eyes.
INWARD = [
    # plain
    "http://127.0.0.1/", "http://127.0.0.1:8080/", "http://127.255.255.254/", "http://0.0.0.0/",
    "http://10.0.0.1/", "http://10.255.255.255/", "http://172.16.0.1/", "http://172.31.255.255/",
    "http://192.168.0.1/", "http://192.168.178.1/", "http://100.64.0.1/", "http://169.254.1.1/",
    "http://192.0.0.1/", "http://198.18.0.1/", "http://224.0.0.1/", "http://240.0.0.1/",
    "http://255.255.255.255/", "http://192.0.2.1/", "http://203.0.113.9/", "http://192.88.99.1/",
    # metadata of clouds
    "http://169.254.169.254/latest/meta-data/", "http://169.254.170.2/", "http://100.100.100.200/",
    "http://192.0.0.192/", "http://168.63.129.16/", "http://[fd00:ec2::254]/", "http://[fd20:ce::254]/",
    "http://metadata.google.internal/",
    # numbers: decimal, octal, hexadecimal, short
    "http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0x7f.0x0.0x0.0x1/",
    "http://0177.0.0.1/", "http://0177.0.0.01/", "http://127.1/", "http://127.0.1/", "http://0/", "http://0x0/",
    "http://10.1/", "http://3232235777/", "http://0xc0a80101/", "http://127.0.0.1./", "http://127.000.000.001/",
    "http://425.510.425.510/", "http://4294967297/", "http://1.2.3/", "http://8.8.2056/", "http://0x7f.1/",
    # letters that become digits or dots
    "http://１２７.0.0.1/", "http://127。0。0。1/", "http://127．0．0．1/", "http://①②⑦.⓪.⓪.①/",
    "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    # IPv6
    "http://[::]/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::127.0.0.1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:a9fe:a9fe]/", "http://[::ffff:0:127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::]/", "http://[fe80::1]/", "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/", "http://[fc00::1]/", "http://[fd12:3456::1]/", "http://[ff02::1]/", "http://[100::1]/",
    "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[5f00::1]/", "http://[2001:10::1]/",
    "http://[::ffff:192.168.1.1]/", "http://[::ffff:2130706433]/", "http://[v1.127]/", "http://[127.0.0.1]/",
    # names
    "http://localhost/", "http://LOCALHOST:631/", "http://localhost./", "http://a.localhost/", "http://router/",
    "http://fritz.box.local/", "http://printer.lan/", "http://nas.home/", "http://x.home.arpa/", "http://db.corp/",
    "http://wiki.intranet/", "http://service.internal/", "http://1.0.0.127.in-addr.arpa/", "http://x.onion/",
    # a name before the host, and what cuts a host short
    "http://example.com@127.0.0.1/", "http://127.0.0.1@example.com/", "http://user:pw@example.com/",
    "http://example.com\\@127.0.0.1/", "http:\\\\127.0.0.1/", "http://example.com%00.127.0.0.1/",
    "http://%31%32%37.0.0.1/", "http://127.0.0.1%2f.example.com/", "http://exa mple.com/", "http://exam\tple.com/",
    "http://example.com\r\nHost: localhost/", "http://example.com\x00/", "http://example.com:80:80/",
    "http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example..com/",
    "http:///127.0.0.1/", "http:127.0.0.1", "//127.0.0.1/", "http://", "http://./", "http://-/",
    # other services and other schemes
    "http://example.com:22/", "http://example.com:25/", "http://example.com:6667/", "https://example.com:993/",
    "file:///etc/passwd", "ftp://example.com/", "gopher://example.com:70/_x", "dict://example.com/",
    "data:text/html,x",    "javascript:alert(1)", "ldap://example.com/", "unix:///run/docker.sock", "http+unix://%2Frun%2Fx/",
    "ws://example.com/",    "blob:https://example.com/x", "view-source:http://example.com/", "jar:http://example.com!/",
    "http\u200b://example.com/",
]  # fmt: skip


@pytest.mark.parametrize("url", INWARD, ids=[ascii(url)[1:-1] for url in INWARD])
async def test_an_address_that_leads_inward_is_refused_before_anything_goes_over_the_network(
    url: str,
) -> None:
    asked: list[str] = []

    async def resolver(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    with pytest.raises(Forbidden) as refused:
        await Fetcher(Fence(resolver)).get(web_address(url))
    assert asked == []
    assert "\n" not in str(refused.value)
    assert "\x00" not in str(refused.value)


async def test_what_the_tables_call_inward_is_what_this_machine_would_connect_to() -> None:
    """The guard bites: the system takes these short forms for loopback, as other programs do."""
    assert socket.inet_aton("127.1") == socket.inet_aton("0x7f.1") == socket.inet_aton("2130706433")
    assert socket.inet_aton("017700000001") == b"\x7f\0\0\1"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://example.com", "https://example.com/"),
        (" HTTPS://Example.COM:443/A?b=C#d ", "https://example.com/A?b=C"),
        ("http://example.com:8080/", "http://example.com:8080/"),
        ("https://münchen.de/straße?q=grün", "https://xn--mnchen-3ya.de/stra%C3%9Fe?q=gr%C3%BCn"),
        ("https://faß.de/", "https://xn--fa-hia.de/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("https://[2606:4700:0:0:0::1111]/", "https://[2606:4700::1111]/"),
        ("https://example.com./x", "https://example.com/x"),
        ("https://example.com/a%20b?c=%26&d=/?", "https://example.com/a%20b?c=%26&d=/?"),
        ("https://example.com?x=1", "https://example.com/?x=1"),
    ],
)
def test_a_public_address_is_read_in_one_form(written: str, read: str) -> None:
    address = web_address(written)
    assert str(address) == read
    Fence().check_name(address.host, address.port)
    assert str(web_address(str(address))) == read


TRAPS = {
    "loopback": ["127.0.0.1"], "loopback 6": ["::1"], "unspecified": ["0.0.0.0"], "private": ["10.1.2.3"],
    "metadata": ["169.254.169.254"], "unique local": ["fd00::1"], "link local": ["fe80::1"],
    "mapped": ["::ffff:127.0.0.1"], "translated": ["64:ff9b::7f00:1"], "6to4": ["2002:7f00:1::1"],
    "provider": ["100.64.3.4"], "multicast": ["224.0.0.251"],
    "public and private": ["93.184.215.14", "192.168.0.1"],
    "public and private 6": ["2606:4700::1111", "::1"],
}  # fmt: skip


@pytest.mark.parametrize("answers", TRAPS.values(), ids=TRAPS)
async def test_a_name_that_leads_inward_is_refused_after_it_was_looked_up(
    web: Web, answers: list[str]
) -> None:
    web.names.names["trap.example"] = [answers]
    with pytest.raises(Forbidden, match=r"trap\.example leads to"):
        await Fetcher(Fence(web.names.resolve)).get(web_address("https://trap.example/"))
    assert web.names.asked == ["trap.example"]


async def test_a_name_that_turns_inward_after_it_was_checked_is_not_followed(web: Web) -> None:
    """Rebinding: the first look-up is public, the next is loopback, where a server waits."""
    web.site.pages["/"] = answer("secret")
    web.names.names["rebinding.example"] = [["198.41.0.4"], ["127.0.0.1"]]
    fence = Fence(web.names.resolve)
    address = web_address(f"https://rebinding.example:{web.site.port}/")
    assert await fence.addresses(address.host, address.port) == ["198.41.0.4"]
    with pytest.raises(Forbidden, match=r"rebinding\.example leads to 127\.0\.0\.1"):
        await Fetcher(fence, tls=web.site.tls).get(address)
    assert web.site.requests == []


async def test_one_look_up_is_made_for_a_connection_and_what_it_gave_is_connected_to(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rebinding within one fetch: checked and connected is one look-up, so there is no moment between."""
    connected: list[str] = []
    real = botpsy_web.fence.httpcore.AnyIOBackend.connect_tcp

    async def connect(self: object, host: str, *rest: object) -> object:
        connected.append(host)
        return await real(self, host, *rest)  # pyright: ignore

    monkeypatch.setattr(botpsy_web.fence.httpcore.AnyIOBackend, "connect_tcp", connect)
    web.names.names["rebinding.example"] = [["127.0.0.1"], ["10.0.0.1"]]
    web.site.pages["/"] = answer("hello")
    got = await web.fetcher().get(web.address("/", "rebinding.example"))
    assert got.text == "hello"
    assert web.names.asked == ["rebinding.example"]
    assert connected == ["127.0.0.1"], "an address, never the name"


async def test_a_host_that_rebinds_between_two_redirects_is_looked_at_again(web: Web) -> None:
    web.names.names["rebinding.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    web.site.pages["/"] = redirect(f"https://rebinding.example:{web.site.port}/in")
    web.site.pages["/in"] = answer("secret")
    open_to = [("127.0.0.1", web.site.port), ("127.0.0.1", 80)]
    fetcher = Fetcher(Fence(web.names.resolve, open_to=open_to), tls=web.site.tls)
    with pytest.raises(Forbidden, match=r"127\.0\.0\.2"):
        await fetcher.get(web.address("/", "rebinding.example"))
    assert web.site.paths == ["/"]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/",
        "//localhost/",
        "file:///etc/passwd", "https://2130706433/", "https://a@site.example/", "https://site.example:22/",
        "https://router/", "gopher://x/", "https:\\\\127.0.0.1\\", "https://[::ffff:10.0.0.1]/",
        "http://site.example/",
    ],
)  # fmt: skip
async def test_a_redirect_that_leads_inward_is_refused(web: Web, location: str) -> None:
    web.site.pages["/"] = redirect(location)
    with pytest.raises(Forbidden):
        await web.get("/")
    assert web.site.paths == ["/"]


async def test_a_redirect_to_another_host_is_told_and_not_followed(web: Web) -> None:
    web.site.pages["/"] = redirect(web.url("/there", "other.example"))
    got = await web.get("/")
    assert str(got.elsewhere) == web.url("/there", "other.example")
    assert web.site.paths == ["/"]


async def test_a_redirect_within_the_site_is_followed_and_its_page_is_what_came(web: Web) -> None:
    web.site.pages["/old"] = redirect("/new?x=1", "301 Moved Permanently")
    web.site.pages["/new?x=1"] = redirect(web.url("/newest", "www.site.example"), "308 Permanent Redirect")
    web.site.pages["/newest"] = answer("hello")
    got = await web.get("/old")
    assert (got.text, str(got.address)) == ("hello", web.url("/newest", "www.site.example"))


@pytest.mark.parametrize("path", ["/round", "/on?0"])
async def test_redirects_that_go_round_or_on_for_ever_end(web: Web, path: str) -> None:
    web.site.pages["/round"] = redirect("/and")
    web.site.pages["/and"] = redirect("/round")
    web.site.pages.update({f"/on?{n}": redirect(f"/on?{n + 1}") for n in range(50)})
    with pytest.raises(WebProblem, match="circle"):
        await web.get(path)
    assert len(web.site.paths) < 10


async def test_a_certificate_for_another_name_is_not_believed(web: Web) -> None:
    web.names.names["stranger.example"] = [["127.0.0.1"]]
    with pytest.raises(WebProblem, match="can't prove that it is stranger"):
        await web.fetcher().get(web.address("/", "stranger.example"))
    with pytest.raises(WebProblem, match="can't prove"):
        await Fetcher(web.fence).get(web.address("/"))
    assert web.site.requests == []


async def test_a_site_with_two_addresses_is_reached_at_the_one_that_answers(web: Web) -> None:
    web.names.names["site.example"] = [["127.0.0.9", "127.0.0.1"]]
    web.site.pages["/"] = answer("hello")
    fence = Fence(web.names.resolve, open_to=[(ip, web.site.port) for ip in ("127.0.0.9", "127.0.0.1")])
    assert (await Fetcher(fence, tls=web.site.tls).get(web.address("/"))).text == "hello"


async def test_a_host_that_is_not_there_is_told(web: Web) -> None:
    with pytest.raises(WebProblem, match=r"There is no site nowhere\.example"):
        await web.fetcher().get(web_address("https://nowhere.example/"))


async def test_the_system_is_asked_for_the_name_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trailing dot: no suffix of the local network is tried."""
    asked: list[str] = []

    async def getaddrinfo(host: str, *rest: object, **more: object) -> list[object]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("198.41.0.4", 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    assert await system_resolver("example.com") == ["198.41.0.4"]
    assert asked == ["example.com."]


@pytest.mark.parametrize(
    ("address", "source", "near"),
    [
        ("198.41.0.4", "198.41.0.4", True),
        ("198.41.0.4", "192.168.0.7", False),
        ("2a02:8109:1:2::9", "2a02:8109:1:2:aa:bb:cc:dd", True),
        ("2a02:8109:1:3::9", "2a02:8109:1:2:aa:bb:cc:dd", False),
    ],
)
async def test_the_machines_own_public_addresses_and_those_of_its_link_are_near(
    monkeypatch: pytest.MonkeyPatch, address: str, source: str, near: bool
) -> None:
    theirs, ours = ipaddress.ip_address(address), ipaddress.ip_address(source)
    assert is_near(theirs, ours) is near
    monkeypatch.setattr(botpsy_web.fence, "source_towards", lambda *_: ours)
    if near:
        with pytest.raises(Forbidden, match="its own network"):
            Fence().check_name(address, 443)
    else:
        Fence().check_name(address, 443)


@given(st.ip_addresses())
def test_nothing_is_public_that_python_knows_to_be_special(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    inner = getattr(address, "ipv4_mapped", None) or address
    if not why_not_public(address):
        special = ("private", "loopback", "link_local", "multicast", "unspecified")
        assert not [kind for kind in special if getattr(inner, f"is_{kind}")]


@pytest.mark.parametrize("network", ["0.0.0.0/0", "2000::/3"])
@given(data=st.data())
def test_most_of_the_internet_is_public(network: str, data: st.DataObject) -> None:
    address = data.draw(st.ip_addresses(network=network))
    if address.is_global and not address.is_multicast:
        special = [
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.175.48.0/24",
            "168.63.129.16/32",
        ]
        special += ["2001::/23", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "192.0.0.0/24"]
        if not any(address in ipaddress.ip_network(one) for one in special):
            assert why_not_public(address) == ""
