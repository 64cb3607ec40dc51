"""Addresses and links as a person sees them: none passes for another."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.plugin import shown_address, shown_host, shown_link

PAYPAL_IN_CYRILLIC = "раураӏ.example"


@pytest.mark.parametrize(
    ("address", "name", "shown", "warns"),
    [
        ("lena@example.org", "", "lena@example.org", ""),
        ("lena@example.org", "Lena Müller", "Lena Müller <lena@example.org>", ""),
        ("lena@example.org", "lena@example.org", "lena@example.org", ""),
        (
            "evil@x.example",
            "alice@corp.example",
            '"alice@corp.example" <evil@x.example>',
            "is not the address",
        ),
        (
            "evil@x.example",
            "corp.example Support",
            '"corp.example Support" <evil@x.example>',
            "not the address",
        ),
        ("a@corp.example", "corp.example Support", "corp.example Support <a@corp.example>", ""),
        ("a@xn--bcher-kva.example", "", "a@bücher.example (xn--bcher-kva.example)", ""),
        ("a@bücher.example", "", "a@bücher.example (xn--bcher-kva.example)", ""),
        (
            "a@pаypal.example",
            "",
            "a@pаypal.example (xn--pypal-4ve.example)",
            "mixes letters of Cyrillic and Latin",
        ),
        ("аlice@corp.example", "", "аlice@corp.example", "mixes letters of Cyrillic and Latin"),
        ("a@corp.example", "Аlice", "Аlice <a@corp.example>", "mixes letters of Cyrillic and Latin"),
        (
            "a@b.example",
            "x\r\nBcc: evil@x.example",
            '"x↵Bcc: evil@x.example" <a@b.example>',
            "not the address",
        ),
        ("a@b.example", "\u202egro", "⟨U+202E⟩gro <a@b.example>", ""),
        ("nobody", "", "nobody", "no mail address"),
    ],
)
def test_a_mailbox_shows_its_address_and_what_its_name_pretends(
    address: str, name: str, shown: str, warns: str
) -> None:
    got = shown_address(address, name)
    assert warns in " ".join(got.warnings)
    assert bool(got.warnings) == bool(warns)
    assert got.text == shown


@pytest.mark.parametrize(
    ("url", "host", "warns"),
    [
        ("https://example.org/a?b=c", "example.org", ""),
        ("https://example.org:8443/", "example.org:8443", ""),
        ("https://paypal.example@evil.example/login", "evil.example", "is a user name"),
        ("https://evil.example\\@paypal.example/", "evil.example", "hide where it goes"),
        ("https:evil.example", "evil.example", ""),
        ("ht\ntps://evil.example/", "evil.example", "hide where it goes"),
        ("https://%65vil.example/", "evil.example", ""),
        ("https://xn--bcher-kva.example/", "bücher.example (xn--bcher-kva.example)", ""),
        ("https://" + PAYPAL_IN_CYRILLIC, PAYPAL_IN_CYRILLIC, "looks like Latin letters"),
        ("https://evil。example/", "evil.example", ""),
        ("http://2130706433/", "2130706433 (127.0.0.1)", "numeric address"),
        ("http://0x7f.1/", "0x7f.1 (127.0.0.1)", "numeric address"),
        ("http://[::1]/", "::1", ""),
        ("http://10.0.0.1/", "10.0.0.1", ""),
        ("https://corp.example.evil.example/", "corp.example.evil.example", ""),
    ],
)
def test_a_link_shows_the_host_that_it_goes_to(url: str, host: str, warns: str) -> None:
    shown = shown_link(url)
    assert shown.text.split(" · ")[0].split(" (xn--80aa")[0] == host
    assert warns in " ".join(shown.warnings)
    assert bool(shown.warnings) == bool(warns)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "/relative", ""]
)
def test_what_is_no_web_address_is_called_that(url: str) -> None:
    assert "no web address" in shown_link(url).warnings[0]


@settings(deadline=None)
@given(st.text(), st.text(), st.sampled_from(["", "https://", "http://[", "http:", "xn--"]))
def test_whatever_comes_is_shown_in_one_clean_line(one: str, two: str, prefix: str) -> None:
    for shown in (shown_address(prefix + one, two), shown_link(prefix + one), shown_host(prefix + one)):
        for text in (shown.text, *shown.warnings):
            assert not [c for c in text if ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c == "\u202e"]


@settings(deadline=None)
@given(st.text("xn-0189azé.а", max_size=30))
def test_any_host_can_be_shown(host: str) -> None:
    shown_host(f"xn--{host}.example")
