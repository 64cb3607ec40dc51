"""Which addresses an endpoint may have: a web address, encrypted unless it stays on this machine."""

import ipaddress
from urllib.parse import urlsplit


def checked_endpoint(text: str) -> str:
    """Return an endpoint's address without a slash at its end. Raises `ValueError` saying what is wrong."""
    address = text.strip().rstrip("/")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{text!r} is no address; write one such as http://127.0.0.1:8080/v1") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ValueError(f"{text!r} is no web address; write one such as http://127.0.0.1:8080/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address must hold no password or key; `botpsy model endpoint` keeps it safely")
    if parts.query or parts.fragment:
        raise ValueError("an endpoint's address ends with its path, as in http://127.0.0.1:8080/v1")
    return address


def stays_safe(address: str) -> bool:
    """Say whether nobody else can read what goes there: it is encrypted, or stays on this machine."""
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme == "https" or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
