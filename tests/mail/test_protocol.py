"""What is sent to an IMAP server is one argument, whatever it holds."""

import contextlib
import imaplib
import re
import socket
import threading
from collections.abc import Iterator

import pytest
from botpsy_mail.protocol import id_set, mailbox_argument, search_argument
from hypothesis import given
from hypothesis import strategies as st

from botpsy_tui.plugin import ToolError

SMUGGLED = '"x"\r\nA99 DELETE INBOX'


class Recorder:
    """Answers OK to every IMAP command, and keeps the lines that came."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection, connection.makefile("rwb") as stream:
            stream.write(b"* PREAUTH IMAP4rev1 ready\r\n")
            stream.flush()
            for line in stream:
                self.lines.append(line.rstrip(b"\r\n"))
                tag = line.split(b" ", 1)[0]
                if b"CAPABILITY" in line:
                    stream.write(b"* CAPABILITY IMAP4rev1\r\n")
                stream.write(tag + b" OK done\r\n")
                stream.flush()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.close()


def test_the_library_by_itself_sends_a_second_command(recorder: Recorder) -> None:
    client = imaplib.IMAP4("127.0.0.1", recorder.port, timeout=10)
    try:
        client.select(SMUGGLED)
    except (ValueError, imaplib.IMAP4.error):
        pytest.skip("this Python's imaplib refuses control characters itself")
    with contextlib.suppress(imaplib.IMAP4.error, OSError):
        client.logout()
    assert b"A99 DELETE INBOX" in recorder.lines


def test_a_name_that_smuggles_a_command_is_refused_and_a_quoted_one_stays_one_argument(
    recorder: Recorder,
) -> None:
    with pytest.raises(ToolError, match="control characters"):
        mailbox_argument(SMUGGLED)
    client = imaplib.IMAP4("127.0.0.1", recorder.port, timeout=10)
    client.select(mailbox_argument('x" (DELETE) "y\\'))
    client.logout()
    sent = [line.partition(b" ")[2] for line in recorder.lines]
    assert b'SELECT "x\\" (DELETE) \\"y\\\\"' in sent


@pytest.mark.parametrize("character", ["\r", "\n", "\x00", "\x1b", "\x7f", "\x85", "\t"])
def test_control_characters_are_refused_everywhere(character: str) -> None:
    for make in (mailbox_argument, search_argument, lambda text: id_set([text])):
        with pytest.raises(ToolError):
            make(f"1{character}2")


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("INBOX", '"INBOX"'),
        ("Tom & Jerry", '"Tom &- Jerry"'),
        ("~peter/mail/台北/日本語", '"~peter/mail/&U,BTFw-/&ZeVnLIqe-"'),  # the example of RFC 3501 §5.1.3
        ("Entwürfe", '"Entw&APw-rfe"'),
    ],
)
def test_mailbox_names_are_written_as_servers_expect_them(name: str, argument: str) -> None:
    assert mailbox_argument(name) == argument


@pytest.mark.parametrize("bad", ["", "0", "-1", "1:*", "*", "1,2", "1 2", "99999999999", "٣"])
def test_an_id_is_a_number_and_nothing_else(bad: str) -> None:
    with pytest.raises(ToolError):
        id_set([bad])


def test_ids_are_joined() -> None:
    assert id_set([3, "7"]) == "3,7"


@given(st.text())
def test_any_text_is_one_argument_or_refused(text: str) -> None:
    for make in (mailbox_argument, search_argument):
        try:
            argument = make(text)
        except ToolError:
            continue
        if isinstance(argument, bytes):
            assert not re.search(rb"[\x00-\x1f\x7f]", argument)
        else:
            assert argument.isascii()
            assert re.fullmatch(r'"(?:[^"\\\x00-\x1f\x7f]|\\["\\])*"', argument)
