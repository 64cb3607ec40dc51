"""No value, whoever wrote it, becomes a header of its own."""

import email
from email import policy
from email.message import EmailMessage

import pytest
from botpsy_mail.addresses import Mailbox
from botpsy_mail.headers import header_value, new_message, references_of, reply_subject
from botpsy_mail.limits import read_message
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.plugin import ToolError

HIDDEN_BCC = b"From: evil@x.example\r\nSubject: =?utf-8?q?hi=0D=0ABcc=3A_evil=40x=2Eexample?=\r\n\r\nx"
NIA, LENA = Mailbox("nia@example.org", "Nia"), Mailbox("lena@example.org", "Lena Müller")


def headers_of(message: EmailMessage) -> dict[str, str]:
    """Return the headers that a server would read, from the very bytes."""
    read = email.message_from_bytes(message.as_bytes(), policy=policy.default)
    return {name: str(value) for name, value in read.items()}


def written(subject: str, *, to: Mailbox = LENA, body: str = "Hello", references: str = "") -> EmailMessage:
    return new_message(sender=NIA, to=[to], subject=subject, body=body, references=references)


def test_a_subject_that_hides_a_blind_copy_gives_a_reply_without_one() -> None:
    original = read_message(HIDDEN_BCC)
    reply = written(reply_subject(str(original["Subject"])))
    assert headers_of(reply)["Subject"] == "Re: hi Bcc: evil@x.example"
    assert "Bcc" not in headers_of(reply)


def test_the_library_by_itself_lets_the_line_end_through() -> None:
    subject = email.message_from_bytes(HIDDEN_BCC, policy=policy.default)["Subject"]
    assert "\r\nBcc: evil@x.example" in str(subject)
    with pytest.raises(ToolError, match="holds a line end"):
        written(str(subject))


@pytest.mark.parametrize("character", ["\r", "\n", "\x00", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_no_header_value_holds_a_line_end(character: str) -> None:
    value = f"hi{character}Bcc: evil@x.example"
    with pytest.raises(ToolError, match="line end"):
        header_value("subject", value)
    with pytest.raises(ToolError, match="line end"):
        written("hi", to=Mailbox("lena@example.org", value))
    with pytest.raises(ToolError):
        written("hi", to=Mailbox(f"lena@example.org{character}", ""))


@pytest.mark.parametrize(
    ("original", "reply"),
    [
        ("Lunch", "Re: Lunch"),
        ("Re: Lunch", "Re: Lunch"),
        ("RE: AW: Re[2]: Lunch", "Re: Lunch"),
        ("", "Re:"),
        ("a\r\n b", "Re: a b"),
        ("x\u202ey\u200b", "Re: xy"),
    ],
)
def test_the_subject_of_an_answer(original: str, reply: str) -> None:
    assert reply_subject(original) == reply


def test_only_message_ids_are_taken_over_into_an_answer() -> None:
    original = read_message(
        b"References: <one@a.example> junk <two@a.example>\r\n"
        b"Message-ID: <three@a.example>\r\nFrom: a@b.example\r\n\r\nx"
    )
    reply = written("Re: x", references=references_of(original))
    assert headers_of(reply)["In-Reply-To"] == "<three@a.example>"
    assert headers_of(reply)["References"] == "<one@a.example> <two@a.example> <three@a.example>"


@settings(max_examples=200, deadline=None)
@given(st.text(), st.text(), st.text())
def test_whatever_is_written_there_are_these_headers_and_no_others(
    subject: str, name: str, body: str
) -> None:
    try:
        message = written(subject, to=Mailbox("lena@example.org", name), body=body)
    except (ToolError, UnicodeEncodeError):
        return
    assert set(headers_of(message)) <= {
        *("From", "To", "Subject", "Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
    }


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_an_answer_to_any_subject_can_be_written(subject: str) -> None:
    assert set(headers_of(written(reply_subject(subject)))) >= {"From", "To", "Subject"}
