"""One encrypted, logged-in connection to an IMAP server (RFC 3501), and what its failures mean."""

import contextlib
import imaplib
from typing import Any

from imapclient import IMAPClient
from imapclient.exceptions import CapabilityError, LoginError, ProtocolError

from botpsy_mail.limits import MOST_BYTES
from botpsy_mail.servers import SECONDS, Server, check_fingerprint, explain, tls_context
from botpsy_mail.store import StoreProblem
from botpsy_tui.plugin import for_display_line

_LONGEST_LINE = 20_000_000
"""Bytes of one answer line: a search's answer over millions of messages."""


class ConnectionLost(Exception):
    """The connection is of no use any more; whether the last command was done is not known."""


def open_connection(server: Server, user: str, secret: str) -> IMAPClient:
    """Connect, encrypt, prove who is there, log in. Raises `StoreProblem`; may block."""
    try:
        client = IMAPClient(
            server.host,
            server.port,
            ssl=not server.starttls,
            ssl_context=tls_context(server),
            timeout=SECONDS,
        )
    except (imaplib.IMAP4.abort, imaplib.IMAP4.error) as error:
        raise StoreProblem(f"{server.shown} does not answer as an IMAP server does.") from error
    except OSError as error:
        raise explain(error, server) from error
    try:
        _bound(client)
        if server.starttls:
            _encrypt(client, server)
        check_fingerprint(server, client.socket())
        _log_in(client, server, user, secret)
    except BaseException:
        close(client)
        raise
    return client


def close(client: IMAPClient) -> None:
    """Say good-bye where somebody still listens, and close."""
    with contextlib.suppress(Exception):
        client.socket().settimeout(2)
        client.logout()
    with contextlib.suppress(Exception):
        client.shutdown()


def _encrypt(client: IMAPClient, server: Server) -> None:
    """Begin TLS (RFC 3501 §6.2.1). A server, or someone in between, that does not offer it is refused."""
    try:
        client.starttls(tls_context(server))
    except CapabilityError:
        raise StoreProblem(
            f"{server.shown} offers no encryption (STARTTLS), or somebody on the way hides it; "
            "nothing was sent. Use an imaps:// address."
        ) from None
    except (imaplib.IMAP4.error, ProtocolError) as error:
        raise StoreProblem(f"{server.shown} refuses to encrypt (STARTTLS); nothing was sent.") from error
    except OSError as error:
        raise explain(error, server) from error


def _log_in(client: IMAPClient, server: Server, user: str, secret: str) -> None:
    try:
        if client.has_capability("AUTH=PLAIN"):
            client.plain_login(user, secret)
        elif client.has_capability("LOGINDISABLED"):
            raise StoreProblem(f"{server.shown} allows no log-in with a password.")
        else:
            client.login(user, secret)
    except LoginError:
        # What the server says is not repeated: some send the password back.
        raise StoreProblem(
            f"{server.shown} does not accept the user name or password of {for_display_line(user)}; many "
            "providers want an app password here."
        ) from None
    except (imaplib.IMAP4.error, ProtocolError) as error:
        raise StoreProblem(f"{server.shown} broke off the log-in.") from error
    except OSError as error:
        raise explain(error, server) from error


def _bound(client: IMAPClient) -> None:
    """Hold the server to lines and literals (RFC 3501 §4.3) of a size that can be kept in memory."""
    connection: Any = client._imap  # pyright: ignore[reportPrivateUsage]
    read = connection.read

    def bounded_read(size: int) -> bytes:
        if size > MOST_BYTES + 1_000_000:
            raise ConnectionLost(f"a literal of {size} bytes")
        data: bytes = read(size)
        if len(data) < size:
            raise ConnectionLost("the end in the middle of a literal")
        return data

    def bounded_line() -> bytes:
        line: bytes = connection.file.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            raise ConnectionLost("a line without an end")
        return line

    connection.read, connection.readline = bounded_read, bounded_line
