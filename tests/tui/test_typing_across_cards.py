"""Who goes on typing or pasting while cards appear has decided nothing: in a real terminal, byte by byte."""

import time
from pathlib import Path

import pexpect
import pytest

from tests.tui.in_a_terminal import committed, open_chat

DECIDING_KEYS = "ynesd? yYNESDaA1" * 13
"""More than 200 characters, each a key that a card or a question somewhere takes."""
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"


def type_slowly(chat: "pexpect.spawn[str]", text: str) -> None:
    """Type as fast as a good typist does, the screen keeping up or not."""
    for key in text:
        chat.send(key)
        time.sleep(0.012)


def leave(chat: "pexpect.spawn[str]") -> None:
    chat.send("\x11")
    chat.expect(pexpect.EOF)


def let_it_settle(chat: "pexpect.spawn[str]", seconds: float) -> str:
    """Read what the chat draws for so long."""
    drawn, end = "", time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            drawn += chat.read_nonblocking(65_536, timeout=0.1)
        except pexpect.TIMEOUT:
            continue
    return drawn


@pytest.fixture(params=[1, 3], ids=["one call", "three calls of one step"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> "pexpect.spawn[str]":
    """A chat to which something was just said; its cards have not appeared yet."""
    chat = open_chat(tmp_path, request.param)
    chat.delaybeforesend = None
    chat.expect("What shall I do")
    time.sleep(0.3)
    chat.send("Note it\r")
    return chat


def test_two_hundred_characters_typed(asked: "pexpect.spawn[str]", tmp_path: Path) -> None:
    type_slowly(asked, DECIDING_KEYS)
    drawn = let_it_settle(asked, 2.5)
    assert "waiting for you" in drawn, "the card did appear"
    assert committed(tmp_path) == []
    leave(asked)
    assert committed(tmp_path) == []


def test_two_hundred_characters_pasted(asked: "pexpect.spawn[str]", tmp_path: Path) -> None:
    pasted = "\r".join(["y", "yes", "n", "approve", DECIDING_KEYS])
    for _ in range(8):
        asked.send(PASTE_BEGINS + pasted + PASTE_ENDS)
        time.sleep(0.15)
    drawn = let_it_settle(asked, 2.5)
    assert "waiting for you" in drawn
    assert committed(tmp_path) == []
    leave(asked)
    assert committed(tmp_path) == []


def test_a_paste_into_a_card_that_has_the_focus(asked: "pexpect.spawn[str]", tmp_path: Path) -> None:
    asked.expect("waiting for you")
    let_it_settle(asked, 2.5)  # quiet for a second: the card takes the focus, and its grace ends
    asked.send(PASTE_BEGINS + "\r".join(["y", "yes", DECIDING_KEYS]) + PASTE_ENDS)
    let_it_settle(asked, 1)
    assert committed(tmp_path) == []
    leave(asked)
    assert committed(tmp_path) == []


def test_the_same_key_on_purpose_does_decide(asked: "pexpect.spawn[str]", tmp_path: Path) -> None:
    """Proves that the tests above bite."""
    asked.expect("waiting for you")
    for _ in range(20):
        asked.send("\x07")  # Ctrl+G goes to the card
        let_it_settle(asked, 1)
        asked.send("y")
        if committed(tmp_path):
            break
    assert committed(tmp_path)[:1] == ["note 0"]
    leave(asked)
