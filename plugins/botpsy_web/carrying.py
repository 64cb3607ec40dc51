"""What an address carries to the site beside the name of a page: where data could leave in a URL."""

import re
from urllib.parse import parse_qsl, unquote

from botpsy_web.urls import WebAddress

_MOST_SHOWN = 12
_OPAQUE = re.compile(r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[A-Za-z0-9_=+~%-]{24,}")
_LONGEST_NAME = 80
_LONG_LABEL = 24
_MOST_LABELS = 5


def carried(address: WebAddress) -> list[tuple[str, str]]:
    """Return what the address carries, as labels and values; nothing for the plain name of a page.

    That is all of its query, and parts of its path and host that are no words: long mixtures of
    letters and digits, or longer than titles are.
    """
    pairs = parse_qsl(address.query, keep_blank_values=True, errors="replace")
    found = [(name, value) if value else ("query", name) for name, value in pairs]
    for part in unquote(address.path, errors="replace").split("/"):
        opaque = _OPAQUE.fullmatch(part) and "-" not in part
        if opaque or len(part) > _LONGEST_NAME:
            found.append(("path", part))
    labels = address.host.split(".")
    found += [("host", label) for label in labels if len(label) >= _LONG_LABEL and "-" not in label]
    if len(labels) > _MOST_LABELS and ":" not in address.host:
        found.append(("host", address.host))
    return found[:_MOST_SHOWN]
