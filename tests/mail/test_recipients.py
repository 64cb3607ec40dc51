"""Who a message goes to: what is shown is what is sent, and what can't be read goes to nobody."""

import smtplib

import pytest
from botpsy_mail.addresses import Mailbox, checked_address, envelope_of, parse_recipients
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.plugin import ToolError


def shown(text: str) -> list[str]:
    return [mailbox.shown.text for mailbox in parse_recipients(text)]


def test_one_text_with_two_addresses_is_two_recipients_and_both_are_shown() -> None:
    text = "alice@corp.example, evil@x.example"
    assert shown(text) == ["alice@corp.example", "evil@x.example"]
    assert envelope_of(parse_recipients(text)) == ["alice@corp.example", "evil@x.example"]


def test_a_name_that_is_another_address_is_warned_of_and_the_real_one_is_shown() -> None:
    (mailbox,) = parse_recipients('"alice@corp.example" <evil@x.example>')
    assert mailbox.shown.text == '"alice@corp.example" <evil@x.example>'
    assert mailbox.shown.warnings == (
        "The name “alice@corp.example” is not the address: that is evil@x.example.",
    )
    assert envelope_of([mailbox]) == ["evil@x.example"]


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ('"Müller, Lena" <lena@example.org>', ["lena@example.org"]),
        ("Team: a@b.example, c@d.example;", ["a@b.example", "c@d.example"]),
        ("a@b.example, A@B.example", ["a@b.example"]),
        ("a@bücher.example", ["a@xn--bcher-kva.example"]),
        ("a+tag@b.example (the one at work)", ["a+tag@b.example"]),
    ],
)
def test_the_ways_in_which_people_write_addresses(text: str, addresses: list[str]) -> None:
    assert envelope_of(parse_recipients(text)) == addresses


@pytest.mark.parametrize(
    "text",
    [
        "", "nobody", "a@b>\r\nRCPT TO:<evil@z", "a@b.example, <c", "<a@b.example", "a b@c.example",
        "a@b.example<c@d.example>", "a@b.example c@d.example", "undisclosed-recipients:;", "a@b.example\x00",
        '"a b"@c.example', "a@[127.0.0.1]", "a@-b.example", "((((((((((((a@b.example",
        '"', "<", "a@b.example\u2028c@d.example",
        "a..b@c.example", "a@b..example", "x" * 300 + "@b.example", ", ".join(["a@b.example"] * 501),
    ],
)  # fmt: skip
def test_a_text_that_can_be_read_in_part_only_goes_to_nobody(text: str) -> None:
    with pytest.raises(ToolError):
        parse_recipients(text)


def test_the_library_by_itself_sends_to_what_is_left_of_an_address() -> None:
    evil = "a@b>\r\nRCPT TO:<evil@z"
    assert smtplib.quoteaddr(evil) != f"<{evil}>"  # cut or changed without a word, whatever the version
    with pytest.raises(ToolError, match="can be sent to"):
        checked_address(evil)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('ab@.,;:<>()[]"\\ \r\n\x00é\u202e'), max_size=40))
def test_whatever_is_written_the_server_is_given_whole_plain_addresses(text: str) -> None:
    try:
        envelope = envelope_of(parse_recipients(text))
    except ToolError:
        return
    for address in envelope:
        assert address.isascii()
        assert not set(address) & set('\r\n\x00<>,;:" \\')
        assert smtplib.quoteaddr(address) == f"<{address}>"
        assert address.partition("@")[0] in text


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text())
def test_a_mailbox_of_any_text_can_be_shown(address: str, name: str) -> None:
    assert "\n" not in Mailbox(address, name).shown.text
