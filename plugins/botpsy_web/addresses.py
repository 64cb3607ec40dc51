"""Which network addresses are the public internet: all others are behind the fence."""

import ipaddress
import socket

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NOT_PUBLIC_4 = tuple(
    (ipaddress.IPv4Network(network), what)
    for network, what in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "a provider's inner network"),
        ("127.0.0.0/8", "this machine"),
        ("169.254.0.0/16", "the local link, where cloud machines keep their secrets"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved for documentation"),
        ("192.31.196.0/24", "reserved"),
        ("192.52.193.0/24", "reserved"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "a private network"),
        ("192.175.48.0/24", "reserved"),
        ("198.18.0.0/15", "reserved for measurements"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("168.63.129.16/32", "where a cloud keeps its machines' secrets"),
    )
)
"""IANA's registry of special IPv4 addresses (RFC 6890), multicast, and one cloud's public exception."""

_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
"""All that has been given out for the public internet (RFC 4291 §2.4); the rest is not reached."""

_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""An IPv4 address as a network without IPv4 names it (RFC 6052): judged by what it holds."""

_NOT_PUBLIC_6 = tuple(
    (ipaddress.IPv6Network(network), what)
    for network, what in (
        ("2001::/23", "reserved or a tunnel"),
        ("2001:db8::/32", "reserved for documentation"),
        ("2002::/16", "a tunnel"),
        ("2620:4f:8000::/48", "reserved"),
        ("3fff::/20", "reserved for documentation"),
    )
)
"""What is special inside of it (RFC 6890, RFC 9637)."""


def why_not_public(address: Address) -> str:
    """Return what an address is where it is not public, in a few words; else nothing."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return why_not_public(address.ipv4_mapped)
        if address in _TRANSLATED:
            return why_not_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address == ipaddress.IPv6Address("::1") or int(address) == 0:
            return "this machine"
        if address not in _PUBLIC_6:
            return "a private network" if address.is_private else "reserved"
        return next((what for network, what in _NOT_PUBLIC_6 if address in network), "")
    return next((what for network, what in _NOT_PUBLIC_4 if address in network), "")


def is_near(address: Address, source: Address | None) -> bool:
    """Say whether a public address is this machine's own, or on its own link.

    `source` is the address from which this machine would send to it. A home's devices have public
    IPv6 addresses too: those of the same /64.
    """
    if source is None or source.version != address.version:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        return int(address) >> 64 == int(source) >> 64
    return address == source


def source_towards(address: Address, port: int) -> Address | None:
    """Return the address that this machine would send from, or None where there is no way. Sends nothing."""
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), port))
            return ipaddress.ip_address(probe.getsockname()[0].partition("%")[0])
    except OSError:
        return None
