"""Messages that break or block Python's own parser: each is refused in a moment, with one sentence."""

import email
import time
from email import policy

import pytest
from botpsy_mail.addresses import mailboxes_of
from botpsy_mail.limits import MessageUnsafe, read_message
from hypothesis import given, settings
from hypothesis import strategies as st


def nested(levels: int) -> bytes:
    head = b"Content-Type: multipart/mixed; boundary=b0\r\n\r\n"
    return head + b"".join(
        b"--b%d\r\nContent-Type:\r\n multipart/mixed; boundary=b%d\r\n\r\n" % (level - 1, level)
        for level in range(1, levels)
    )


def forwarded(levels: int) -> bytes:
    return b"Content-Type: message/rfc822\r\n\r\n" * levels + b"Subject: x\r\n\r\nx"


ATTACKS = {
    "3,000 nested multiparts": nested(3000),
    "3,000 nested attached messages": forwarded(3000),
    "comments in comments": b"To: " + b"(" * 3000 + b"\r\n\r\nx",
    "comments in comments in a part": b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nTo: "
    + b"(" * 3000
    + b"\r\n\r\nx\r\n--b--\r\n",
    "50,000 recipients": b"To: " + b", ".join(b"a%d@b.example" % i for i in range(50_000)) + b"\r\n\r\nx",
    "20,000 encoded words": b"Subject: " + b"\r\n ".join([b"=?utf-8?q?a?="] * 20_000) + b"\r\n\r\nx",
    "20,000 encoded words of a name": b"From: " + b" ".join([b"=?utf-8?q?a?="] * 20_000) + b" <a@b>\r\n\r\nx",
    "a header without an end": b"Subject: " + b"x" * 1_000_000,
    "100,000 headers": b"X: y\r\n" * 100_000 + b"\r\nx",
    "angle brackets": b"To: " + b"<" * 5000 + b"\r\n\r\nx",
    "square brackets": b"To: a@" + b"[" * 5000 + b"\r\n\r\nx",
}


@pytest.mark.parametrize("raw", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_attack_is_one_sentence_in_a_moment(raw: bytes) -> None:
    started = time.monotonic()
    with pytest.raises(MessageUnsafe, match="The message cannot be shown safely: "):
        read_message(raw)
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("name", ["3,000 nested multiparts", "comments in comments"])
def test_the_library_by_itself_is_broken_by_it(name: str) -> None:
    with pytest.raises(RecursionError):
        print(email.message_from_bytes(ATTACKS[name], policy=policy.default)["To"])


def test_the_library_by_itself_takes_ever_longer_over_more_encoded_words() -> None:
    def seconds(words: int) -> float:
        started = time.process_time()
        raw = b"Subject: " + b"\r\n ".join([b"=?utf-8?q?a?="] * words) + b"\r\n\r\nx"
        str(email.message_from_bytes(raw, policy=policy.default)["Subject"])
        return time.process_time() - started

    assert seconds(2000) > 5 * seconds(500)  # four times the words, sixteen times the time


def test_what_is_just_within_the_limits_is_read_in_a_moment() -> None:
    started = time.monotonic()
    read_message(nested(100))
    recipients = ", ".join(f"Name {i} <a{i}@b.example>" for i in range(500))
    message = read_message(f"To: {recipients}\r\nSubject: x\r\n\r\nhello".encode())
    assert len(mailboxes_of(message["To"])) == 500
    read_message(b"Subject: " + b"\r\n ".join([b"=?utf-8?q?a?="] * 500) + b"\r\n\r\nx")
    read_message(b"To: " + b"(" * 10 + b")" * 10 + b" a@b.example\r\n\r\nx")
    assert time.monotonic() - started < 5


def test_an_ordinary_mail_is_read() -> None:
    message = read_message(
        b"From: =?utf-8?q?Lena_M=C3=BCller?= <lena@example.org>\r\nTo: nia@example.org\r\n"
        b"Subject: Lunch\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nAt noon?\r\n"
    )
    assert message["Subject"] == "Lunch"
    assert mailboxes_of(message["From"])[0].shown.text == "Lena Müller <lena@example.org>"
    assert message.get_content().strip() == "At noon?"


PIECES = st.sampled_from(
    [
        *(
            b"To: ",
            b"From: ",
            b"Subject: ",
            b"Content-Type: ",
            b"multipart/mixed; boundary=b",
            b"message/rfc822",
        ),
        *(
            b"\r\n",
            b"\n",
            b"\r\n\r\n",
            b"--b",
            b"=?utf-8?q?=0D=0A?=",
            b"=?utf-8?b?",
            b"(",
            b")",
            b"<",
            b">",
            b"@",
        ),
        *(
            b"a@b",
            b"\x00",
            b"\xff",
            b'"',
            b";",
            b":",
            b",",
            b"[",
            b"\\",
            b"Content-Transfer-Encoding: base64",
        ),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=8), max_size=60))
def test_any_bytes_are_read_or_refused_in_one_sentence(pieces: list[bytes]) -> None:
    try:
        message = read_message(b"".join(pieces))
    except MessageUnsafe:
        return
    for part in message.walk():
        assert all(isinstance(str(value), str) for value in part.values())
