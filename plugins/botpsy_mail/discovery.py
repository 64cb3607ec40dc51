"""Finds a mail provider's servers from an address: autoconfig, SRV records, and the usual names.

Only what is encrypted is taken. The password goes to none of them before the server's certificate is
right for its name.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

_SECONDS = 8
_LARGEST = 200_000


@dataclass(frozen=True)
class Found:
    """Where a provider's servers are, and who the person is there."""

    imap: str
    smtp: str
    username: str


Fetch = Callable[[str], bytes | None]
"""Returns what lies at a web address, or None."""
Records = Callable[[str], list[tuple[str, int]]]
"""Returns the hosts and ports of an SRV name (RFC 2782), the preferred first."""


def candidates(email: str, fetch: Fetch, records: Records) -> Iterator[Found]:
    """Yield where the servers may be, the likeliest first; each is looked up only when it is asked for."""
    domain = email.rpartition("@")[2]
    for url in (
        f"https://autoconfig.{domain}/mail/config-v1.1.xml?emailaddress={email}",
        f"https://{domain}/.well-known/autoconfig/mail/config-v1.1.xml",
        f"https://autoconfig.thunderbird.net/v1.1/{domain}",
    ):
        page = fetch(url)
        if page and (found := read_autoconfig(page, email)):
            yield found
    if found := _from_records(email, domain, records):
        yield found
    for host in ("imap", "mail"):
        smtp = "smtp" if host == "imap" else "mail"
        yield Found(f"imaps://{host}.{domain}", f"smtps://{smtp}.{domain}", email)


def read_autoconfig(page: bytes, email: str) -> Found | None:
    """Return the servers that a Mozilla autoconfig file names, or None where it names none of use."""
    if len(page) > _LARGEST or b"<!DOCTYPE" in page or b"<!ENTITY" in page:
        return None
    try:
        root = ElementTree.fromstring(page)
    except ElementTree.ParseError:
        return None
    imap = _first_server(root, "incomingServer", "imap", email)
    smtp = _first_server(root, "outgoingServer", "smtp", email)
    return Found(imap[0], smtp[0] if smtp else "", imap[1]) if imap else None


def fetch_page(url: str) -> bytes | None:
    """Return a page over HTTPS; redirects that leave HTTPS are not followed. May block."""
    try:
        with httpx.Client(timeout=_SECONDS, follow_redirects=False, trust_env=True) as client:
            for _ in range(3):
                answer = client.get(url)
                if answer.has_redirect_location:
                    url = str(answer.url.join(answer.headers["location"]))
                    if not url.startswith("https://"):
                        return None
                    continue
                return answer.content if answer.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None
    return None


def service_records(name: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of an SRV name; none where there is no such name. May block."""
    from dns.exception import DNSException
    from dns.resolver import resolve

    try:
        answers = resolve(name, "SRV", lifetime=_SECONDS)
    except DNSException:
        return []
    found = sorted((a.priority, -a.weight, str(a.target).rstrip("."), int(a.port)) for a in answers)
    return [(host, port) for _, _, host, port in found if host]


def _first_server(
    root: ElementTree.Element, element: str, protocol: str, email: str
) -> tuple[str, str] | None:
    """Return the first encrypted server's address, and the user name there."""
    for server in root.iter(element):
        host = (server.findtext("hostname") or "").strip()
        port = (server.findtext("port") or "").strip()
        socket = (server.findtext("socketType") or "").strip().upper()
        if server.get("type") != protocol or socket not in ("SSL", "STARTTLS") or not port.isdigit():
            continue
        user = (server.findtext("username") or "%EMAILADDRESS%").strip()
        for name, value in (
            ("%EMAILADDRESS%", email),
            ("%EMAILLOCALPART%", email.rpartition("@")[0]),
            ("%EMAILDOMAIN%", email.rpartition("@")[2]),
        ):
            host, user = host.replace(name, value), user.replace(name, value)
        return f"{protocol}{'s' * (socket == 'SSL')}://{host}:{port}", user
    return None


def _from_records(email: str, domain: str, records: Records) -> Found | None:
    """Return what the SRV records say (RFC 6186, RFC 8314)."""
    imap = _service(records, domain, (("_imaps", "imaps"), ("_imap", "imap")))
    smtp = _service(records, domain, (("_submissions", "smtps"), ("_submission", "smtp")))
    return Found(imap, smtp, email) if imap else None


def _service(records: Records, domain: str, names: tuple[tuple[str, str], ...]) -> str:
    for service, scheme in names:
        for host, port in records(f"{service}._tcp.{domain}")[:1]:
            return f"{scheme}://{host}:{port}"
    return ""
