"""Which server, and who it must prove to be: TLS always, a foreign certificate only by its fingerprint."""

import hashlib
import hmac
import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from botpsy_mail.store import StoreProblem

SECONDS = 30
"""How long a server may say nothing."""

_PORTS = {"imaps": 993, "imap": 143, "smtps": 465, "smtp": 587}


@dataclass(frozen=True)
class Server:
    """A mail server's address."""

    scheme: str
    """``imaps`` and ``smtps`` encrypt from the first byte, ``imap`` and ``smtp`` by STARTTLS."""
    host: str
    port: int
    fingerprint: str = ""
    """SHA-256 of its certificate, lower-case hex; then that is what it is known by, and nothing else."""

    @property
    def starttls(self) -> bool:
        """Whether encryption begins only after a greeting."""
        return not self.scheme.endswith("s")

    @property
    def shown(self) -> str:
        """How it is named in a sentence."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"


def server_of(settings: Mapping[str, str], protocol: str) -> Server:
    """Return the account's server for ``imap`` or ``smtp``. Raises `StoreProblem`."""
    address = settings.get(protocol, "")
    try:
        parts = urlsplit(address if "//" in address else f"{protocol}s://{address}")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in (protocol, f"{protocol}s") or not parts.hostname or parts.path.strip("/"):
        raise StoreProblem(
            f"{address!r} is no address of a mail server; write {protocol}s://HOST, "
            f"or {protocol}://HOST for STARTTLS."
        )
    pinned = re.sub(r"[^0-9a-f]", "", settings.get(f"{protocol}_fingerprint", "").lower())
    if pinned and len(pinned) != 64:
        raise StoreProblem(f"{protocol}_fingerprint must be a SHA-256 fingerprint: 64 hexadecimal digits.")
    return Server(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], pinned)


def tls_context(server: Server) -> ssl.SSLContext:
    """Return how to encrypt. With a fingerprint the certificate is looked at by `check_fingerprint` alone."""
    context = ssl.create_default_context()
    if server.fingerprint:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def check_fingerprint(server: Server, connection: object) -> None:
    """Refuse a server that is not the one whose fingerprint is known. Raises `StoreProblem`.

    To be called before anything is sent through the encrypted connection.
    """
    if not server.fingerprint:
        return
    if not isinstance(connection, ssl.SSLSocket):
        raise StoreProblem(f"The connection to {server.shown} is not encrypted; nothing was sent.")
    found = fingerprint_of(connection)
    if not hmac.compare_digest(found, server.fingerprint):
        raise StoreProblem(
            f"The certificate of {server.shown} is another than the one you trust: its SHA-256 is now "
            f"{found}. Somebody may be in between; nothing was sent."
        )


def fingerprint_of(connection: ssl.SSLSocket) -> str:
    """Return the SHA-256 of the certificate at the other end, lower-case hex."""
    return hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()


def explain(error: BaseException, server: Server, *, changes: bool = False) -> StoreProblem:
    """Return what went wrong on the way to a server as one sentence.

    `changes`: something was sent that changes something, so that a lost answer leaves it unknown.
    """
    where = server.shown
    if isinstance(error, StoreProblem):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        protocol = server.scheme.removesuffix("s")
        return StoreProblem(
            f"The certificate of {where} can't be trusted: {error.verify_message.rstrip('.')}. "
            f"If the server is your own, compare its SHA-256 fingerprint and add it with "
            f"--set {protocol}_fingerprint=…{_presented(server)}"
        )
    if isinstance(error, ssl.SSLError):
        return StoreProblem(f"{where} does not encrypt as it should ({error.reason or 'TLS fails'}).")
    lost = " It is not known whether the change was made: look before you try again." if changes else ""
    if isinstance(error, TimeoutError):
        return StoreProblem(f"{where} said nothing for {SECONDS} s.{lost}", unknown=changes)
    if isinstance(error, socket.gaierror):
        return StoreProblem(f"{where} can't be reached: there is no host of that name.")
    if isinstance(error, ConnectionRefusedError):
        return StoreProblem(f"{where} can't be reached: it refuses connections on port {server.port}.")
    return StoreProblem(f"The connection to {where} broke off.{lost}", unknown=changes)


def _presented(server: Server) -> str:
    """Return the fingerprint that the server shows, as a hint; nothing where it can't be had."""
    if server.starttls:
        return ""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((server.host, server.port), timeout=SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=server.host) as encrypted,
        ):
            return f" It shows {fingerprint_of(encrypted)}."
    except OSError:
        return ""
