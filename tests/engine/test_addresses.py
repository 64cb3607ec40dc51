"""The addresses that a person wrote, and no others, can be pointed at."""

import pytest

from botpsy_tui.engine.addresses import addresses_in


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Read https://example.org/a?b=c&d=e#f.", ["https://example.org/a?b=c&d=e#f"]),
        ("what's on heise.de?", ["heise.de"]),
        (
            "see (https://en.wikipedia.org/wiki/Kiel_(town)), please",
            ["https://en.wikipedia.org/wiki/Kiel_(town)"],
        ),
        ("“https://example.org/x” or <http://b.example/>", ["https://example.org/x", "http://b.example/"]),
        ("compare a.example/x and b.example:8443/y!", ["a.example/x", "b.example:8443/y"]),
        ("HTTPS://EXAMPLE.ORG twice: HTTPS://EXAMPLE.ORG", ["HTTPS://EXAMPLE.ORG"]),
        ("münchen.de/straße", ["münchen.de/straße"]),
        ("http://192.168.0.1/admin", ["http://192.168.0.1/admin"]),
        ("write to lena@example.org", []),
        ("open report.pdf and notes.txt", []),
        ("e.g. at 3.30 on 12.12.2026, version 1.2.3", []),
        ("no address here", []),
        ("", []),
    ],
)
def test_addresses_are_found_as_people_write_them(said: str, found: list[str]) -> None:
    assert addresses_in(said) == found
