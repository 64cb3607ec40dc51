"""Who a message really goes to: the parsed list, which is what is shown and what is sent."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from email import policy
from email.headerregistry import AddressHeader
from typing import Any

from botpsy_mail.limits import check_addresses
from botpsy_tui.plugin import Shown, ToolError, for_display_line, shown_address

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
_LABEL = r"[^\W_](?:[\w-]*[^\W_])?"
_ADDRESS = re.compile(rf"{_LOCAL}@{_LABEL}(?:\.{_LABEL})*")
_LONGEST_ADDRESS = 254


@dataclass(frozen=True)
class Mailbox:
    """One recipient or sender (RFC 5322 §3.4): an address, and the name it is given."""

    address: str
    name: str = ""

    @property
    def shown(self) -> Shown:
        """How it is shown: always with its address, and with a warning where the name pretends."""
        return shown_address(self.address, self.name)


def parse_recipients(text: str) -> tuple[Mailbox, ...]:
    """Return the recipients that a text names, in order, each once; groups become their members.

    Raises `ToolError` where anything of the text would be left out: a list that can be read in
    part only goes to nobody.
    """
    if _CONTROL.search(text):
        raise ToolError(f"{for_display_line(text)!r} holds control characters; write the addresses anew.")
    check_addresses(text)
    try:
        header: Any = policy.default.header_factory("To", text)
    except Exception:  # noqa: BLE001 - Python 3.11 has many ways to stumble over half an address
        header = None
    if header is None or header.defects or not header.addresses:
        raise ToolError(
            f"{for_display_line(text)!r} can't be read as mail addresses; write them as a@b.example."
        )
    found = [Mailbox(checked_address(one.addr_spec), one.display_name) for one in header.addresses]
    return tuple({mailbox.address.lower(): mailbox for mailbox in reversed(found)}.values())[::-1]


def mailboxes_of(header: AddressHeader | None) -> tuple[Mailbox, ...]:
    """Return the mailboxes of a received message's header, for showing."""
    return tuple(Mailbox(one.addr_spec, one.display_name) for one in header.addresses) if header else ()


def checked_address(address: str) -> str:
    """Return an address that can be given to a server as it stands. Raises `ToolError`.

    Only the plain form ``local@domain`` is taken (RFC 5321 §4.1.2, dot-string): `smtplib` before
    Python 3.13 cuts others without a word, and sends to what is left.
    """
    if len(address) > _LONGEST_ADDRESS or not _ADDRESS.fullmatch(address):
        raise ToolError(f"{for_display_line(address)!r} is no mail address that can be sent to; check it.")
    return address


def envelope_of(recipients: Sequence[Mailbox]) -> list[str]:
    """Return the addresses for the server, the domains in their ASCII form (RFC 5890)."""
    found: list[str] = []
    for mailbox in recipients:
        local, _, domain = checked_address(mailbox.address).rpartition("@")
        try:
            found.append(f"{local}@{domain.encode('idna').decode()}")
        except UnicodeError as error:
            raise ToolError(
                f"{for_display_line(domain)!r} is no name that a mail server can have."
            ) from error
    return found
