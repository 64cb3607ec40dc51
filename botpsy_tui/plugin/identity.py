"""Shows who and where: an address or a link so that it can't pass for another."""

import ipaddress
import re
import socket
import unicodedata
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from botpsy_tui.plugin.text import for_display_line

_LATIN_LOOKALIKES = frozenset("асеорхуіјѕһԁԛԝӏɡⅼ" + "οανικρυχ" + "АВЕЅІЈКМНОРСТХУ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Cyrillic and Greek letters that most fonts draw like Latin ones."""

_WRITTEN_TOGETHER = (
    frozenset(("CJK", "HIRAGANA", "KATAKANA", "LATIN")),
    frozenset(("CJK", "HANGUL", "LATIN")),
    frozenset(("CJK", "BOPOMOFO", "LATIN")),
)
"""Scripts that one word may mix (Unicode Technical Standard 39, "highly restrictive")."""

_ADDRESS_IN_TEXT = re.compile(r"[^\s<>()\[\],;:\"@]+@[^\s<>()\[\],;:\"@]+")
_HOST_IN_TEXT = re.compile(r"\b(?:[\w-]+\.)+[a-z]{2,}\b", re.IGNORECASE)
_WEB = ("http", "https")


@dataclass(frozen=True)
class Shown:
    """What to draw, and what to warn of. Both are safe to draw, in one line."""

    text: str
    warnings: tuple[str, ...] = ()


def shown_address(address: str, name: str = "") -> Shown:
    """Return a mailbox as it is shown: always its address, beside the name that it gives itself.

    `address`: one parsed address, ``local@domain`` (RFC 5322 §3.4.1), never text that may hold
    several. A name that looks like another address or host is quoted and warned of, an
    internationalised domain is shown in both of its forms (RFC 5890 §2.3.2.1).
    """
    local, _, domain = address.rpartition("@") if "@" in address else (address, "", "")
    host = shown_host(domain)
    warnings = list(host.warnings)
    name = for_display_line(name).strip()
    if not local or not domain:
        warnings.append(f"“{for_display_line(address)}” is no mail address.")
    if mixed := _mixed(local):
        warnings.append(f"“{for_display_line(local)}” mixes letters of {mixed}.")
    shown = for_display_line(local) + ("@" if domain else "") + host.text
    if not name or name == address:
        return Shown(shown, tuple(warnings))
    others = [other for other in _ADDRESS_IN_TEXT.findall(name) if other.lower() != address.lower()]
    if not others and domain.lower() not in name.lower():
        others = _HOST_IN_TEXT.findall(name)
    if others:
        warnings.append(f"The name “{name}” is not the address: that is {shown}.")
    if mixed := next((m for word in name.split() if (m := _mixed(word))), ""):
        warnings.append(f"The name “{name}” mixes letters of {mixed}.")
    quoted = f'"{name}"' if others or re.search(r"[<>,;:\"]", name) else name
    return Shown(f"{quoted} <{shown}>", tuple(warnings))


def shown_link(url: str) -> Shown:
    """Return a link as it is shown: its host first, then the whole of it.

    The host is the one that a browser would go to (WHATWG URL §4.4: a backslash is a slash,
    tabs and line ends don't count, what stands before ``@`` is no host).
    """
    shown = for_display_line(url)
    cleaned = re.sub(r"[\t\r\n]", "", url).strip("".join(map(chr, range(0x21))))
    scheme = cleaned.partition(":")[0].lower() if ":" in cleaned else ""
    if scheme == "mailto":
        return Shown(shown)
    if scheme not in _WEB:
        return Shown(
            shown,
            (f"“{for_display_line(scheme)}:” is no web address." if scheme else "It is no web address.",),
        )
    warnings: list[str] = []
    rest = cleaned[len(scheme) + 1 :].replace("\\", "/").lstrip("/")
    if "\\" in cleaned or cleaned != url:
        warnings.append("The link holds characters that hide where it goes.")
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        user, at, authority = parts.netloc.rpartition("@")
        hostname, port = urlsplit(f"//{authority}").hostname or "", parts.port
    except ValueError:
        return Shown(shown, (*warnings, "No host can be read from the link."))
    host = shown_host(unquote(hostname))
    if at:
        warnings.append(
            f"“{for_display_line(user)}” before the @ is a user name: the link goes to {host.text}."
        )
    if not hostname:
        warnings.append("The link names no host.")
    where = host.text + (f":{port}" if port is not None else "")
    return Shown(f"{where} · {shown}", (*warnings, *host.warnings))


def shown_host(host: str) -> Shown:
    """Return a host name with both forms of an internationalised one, and what it might be taken for."""
    host = unicodedata.normalize("NFKC", host).replace("。", ".").rstrip(".")
    if (number := _as_number(host)) is not None:
        return number
    unicode_form = ".".join(map(_decoded, host.split(".")))
    if unicode_form.isascii():
        return Shown(for_display_line(host))
    try:
        ascii_form = unicode_form.encode("idna").decode()
    except UnicodeError:
        ascii_form = ".".join(map(_encoded, host.split(".")))
    warnings: list[str] = []
    for label in unicode_form.split("."):
        if mixed := _mixed(label):
            warnings.append(f"“{for_display_line(label)}” mixes letters of {mixed}.")
        elif (letters := {c for c in label if c.isalpha()}) and letters <= _LATIN_LOOKALIKES:
            warnings.append(f"“{for_display_line(label)}” looks like Latin letters and is not.")
    return Shown(f"{for_display_line(unicode_form)} ({for_display_line(ascii_form)})", tuple(warnings))


def _as_number(host: str) -> Shown | None:
    """Return a host that is an IP address, in whatever form (``2130706433``, ``0x7f.1``), as that address."""
    try:
        return Shown(str(ipaddress.ip_address(host.strip("[]"))))
    except ValueError:
        if not re.fullmatch(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*", host, re.IGNORECASE):
            return None
    try:
        packed = socket.inet_aton(host)
    except OSError:
        return None
    plain = str(ipaddress.IPv4Address(packed))
    return Shown(f"{host} ({plain})", (f"“{host}” is the numeric address {plain}.",))


def _decoded(label: str) -> str:
    if not label.lower().startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _encoded(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode", "replace").decode()


def _mixed(word: str) -> str:
    """Return the scripts that a word mixes and should not, in words; else nothing."""
    scripts = {_script(c) for c in word if c.isalpha()}
    if len(scripts) < 2 or any(scripts <= together for together in _WRITTEN_TOGETHER):
        return ""
    return " and ".join(sorted(script.capitalize() for script in scripts))


def _script(letter: str) -> str:
    """Return a letter's script, as its Unicode name begins with it."""
    return unicodedata.name(letter, "UNKNOWN").split(" ", 1)[0].split("-", 1)[0].replace("FULLWIDTH", "LATIN")
