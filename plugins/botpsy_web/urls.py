"""Web addresses, read strictly: what two programs could read in two ways is refused."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

import idna

from botpsy_tui.plugin import for_display_line
from botpsy_web.problems import Forbidden

_LONGEST = 4000
_USUAL_PORTS = {"http": 80, "https": 443}
_HIDES = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
_PLAIN_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
_KEPT = "!#$%&'()*+,/:;=?@[]~"
_OTHER_SERVICES = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161),
        *(179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563),
        *(587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061),
        *(6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    )
)
"""Ports on which something else than the web answers (WHATWG Fetch §2.8, "bad port")."""


@dataclass(frozen=True)
class WebAddress:
    """One http or https address, taken apart once: what is shown is what is connected to."""

    scheme: str
    host: str
    """In ASCII form and lower case; an IPv6 address without brackets."""
    port: int
    target: str
    """Path and query, ASCII (RFC 9112 §3.2.1)."""

    @property
    def origin(self) -> str:
        """Scheme, host and port, as a URL begins with them (RFC 6454)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _USUAL_PORTS[self.scheme] else f":{self.port}")

    @property
    def path(self) -> str:
        """What stands before the query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """What stands after the question mark."""
        return self.target.partition("?")[2]

    def __str__(self) -> str:
        return self.origin + self.target

    def joined(self, reference: str) -> "WebAddress":
        """Return where a link on the page of this address leads. Raises `Forbidden`."""
        try:
            return web_address(urljoin(str(self), reference))
        except ValueError as error:
            raise Forbidden(f"{_quoted(reference)} is no web address.") from error


def web_address(text: str) -> WebAddress:
    """Read an address. Raises `Forbidden` where it is none, or hides where it goes."""
    text = text.strip()
    if len(text) > _LONGEST:
        raise Forbidden(f"The address is longer than {_LONGEST} characters; use a shorter one.")
    if _HIDES.search(text):
        raise Forbidden(f"{_quoted(text)} holds characters that no web address has; write it anew.")
    try:
        parts = urlsplit(text)
        scheme, netloc, port = parts.scheme.lower(), parts.netloc, parts.port
        host = parts.hostname or ""
    except ValueError as error:
        raise Forbidden(f"{_quoted(text)} can't be read as a web address; write it anew.") from error
    if scheme not in _USUAL_PORTS:
        raise Forbidden(f"{_quoted(text)} is no web address: only http and https are read.")
    if "@" in netloc:
        raise Forbidden(f"{_quoted(text)} has a name before an @; write the address without it.")
    port = _USUAL_PORTS[scheme] if port is None else port
    if port in _OTHER_SERVICES or port == 0:
        raise Forbidden(f"Port {port} is not for web pages.")
    path = quote(parts.path or "/", safe=_KEPT.replace("?", "").replace("#", ""))
    query = f"?{quote(parts.query, safe=_KEPT)}" if parts.query else ""
    return WebAddress(scheme, _host(host, bracketed="[" in netloc), port, path + query)


def _host(host: str, *, bracketed: bool) -> str:
    """Return a host in the one form it is connected to. Raises `Forbidden`."""
    if bracketed:
        if "%" in host:
            raise Forbidden(f"{_quoted(host)} is an address on a local link.")
        try:
            return str(ipaddress.IPv6Address(host))
        except ValueError as error:
            raise Forbidden(f"{_quoted(host)} is no IPv6 address.") from error
    ascii_host = host.lower().removesuffix(".")
    if not ascii_host.isascii() or "xn--" in ascii_host:
        try:
            ascii_host = idna.encode(ascii_host, uts46=True).decode("ascii").removesuffix(".")
        except (UnicodeError, IndexError) as error:
            raise Forbidden(f"{_quoted(host)} can't be the name of a web site.") from error
    if len(ascii_host) > 253 or not _PLAIN_HOST.fullmatch(ascii_host):
        raise Forbidden(f"{_quoted(host)} can't be the name of a web site.")
    if _NUMBER.fullmatch(ascii_host.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(ascii_host))
        except ValueError as error:
            raise Forbidden(f"{_quoted(host)} is a number that hides where it goes.") from error
    return ascii_host


def _quoted(text: str) -> str:
    shown = for_display_line(text)
    return f"“{shown if len(shown) <= 120 else shown[:119] + '…'}”"
