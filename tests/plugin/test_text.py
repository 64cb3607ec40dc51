"""The sanitiser: nothing hidden, nothing that a terminal would act on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from botpsy_tui.plugin import for_display, for_model


@pytest.mark.parametrize(
    ("text", "shown", "model"),
    [
        ("plain", "plain", "plain"),
        ("a\tb\nc", "a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb", "a\nb"),
        ("\x1b[31mred", "␛[31mred", "[31mred"),
        ("\x9b31m", "⟨U+009B⟩31m", "31m"),
        ("a\u202egnp.exe", "a⟨U+202E⟩gnp.exe", "agnp.exe"),
        ("pay\u200bpal", "pay⟨U+200B⟩pal", "paypal"),
        ("x\U000e0041", "x⟨U+E0041⟩", "x"),
        ("Zoë 日本 👩‍💻", "Zoë 日本 👩‍💻", "Zoë 日本 👩‍💻"),
        ("\ud800", "\ufffd", ""),
        ("a\x7f", "a␡", "a"),
    ],
)
def test_what_is_shown_and_what_the_model_reads(text: str, shown: str, model: str) -> None:
    assert for_display(text) == shown
    assert for_model(text) == model


@given(st.text())
def test_no_control_character_gets_through(text: str) -> None:
    for cleaned in (for_display(text), for_model(text)):
        assert not [c for c in cleaned if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0]
        assert not set(cleaned) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2028\u2029")


@given(st.text())
def test_showing_twice_shows_the_same(text: str) -> None:
    assert for_display(for_display(text)) == for_display(text)
