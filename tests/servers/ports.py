"""A port on loopback that nobody listens on."""

import socket


def free_port() -> int:
    """Return it; the one who asks is to take it soon."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
