"""While a decision waits the person is called; time alone decides nothing."""

import time
from itertools import product
from pathlib import Path

import pexpect
import pytest

from botpsy_tui.approval import Approve, Decision, Question
from botpsy_tui.attention import Attention
from botpsy_tui.cli.deciding import CallsAttention
from botpsy_tui.config import NoticeSettings
from botpsy_tui.journal import CallState, Journal
from botpsy_tui.plugin import Preview, Proposal, Risk
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.widgets import card as card_module
from tests.agent.fakes import FakeSession
from tests.tui.fakes import FakeHouse
from tests.tui.in_a_terminal import committed, open_chat
from tests.tui.test_chat import MILK, home, say, until, waiting_card  # noqa: F401

BELL, DESKTOP = "\x07", "\x1b]9;BotPsy waits for your decision\x1b\\"
TITLE = "\x1b]2;● BotPsy waits for you\x1b\\"
XTERM = {"TERM": "xterm-256color"}


def test_one_who_looks_elsewhere_hears_a_bell_and_sees_a_title_and_a_notification() -> None:
    attention = Attention(NoticeSettings(), XTERM)
    assert attention.waiting(looked_at=False) == BELL + DESKTOP + "\x1b[22;2t" + TITLE
    assert attention.waiting(looked_at=False) == BELL + DESKTOP, "the title stands already"
    assert attention.done().endswith("\x1b[23;2t")
    assert attention.done() == ""


def test_one_who_looks_at_the_card_gets_no_notification() -> None:
    assert DESKTOP not in Attention(NoticeSettings(), XTERM).waiting(looked_at=True)


@pytest.mark.parametrize("term", ["", "dumb", "linux", None])
def test_a_terminal_without_titles_only_rings(term: str | None) -> None:
    attention = Attention(NoticeSettings(), {} if term is None else {"TERM": term})
    assert attention.waiting(looked_at=False) == BELL
    assert attention.done() == ""


@pytest.mark.parametrize(("bell", "desktop", "title"), list(product([True, False], repeat=3)))
def test_each_way_can_be_turned_off(*, bell: bool, desktop: bool, title: bool) -> None:
    attention = Attention(NoticeSettings(bell=bell, desktop=desktop, title=title), XTERM)
    called = attention.waiting(looked_at=False)
    assert called.replace(DESKTOP, "").startswith(BELL) is bell
    assert (DESKTOP in called) is desktop
    assert (TITLE in called) is title
    assert bool(attention.done()) is title


def test_a_real_terminal_is_told_and_gets_its_title_back(tmp_path: Path) -> None:
    chat = open_chat(tmp_path)
    chat.expect("What shall I do")
    chat.send("Note it\r\x1b[O")  # the terminal says that its window has lost the focus
    chat.expect_exact(DESKTOP)
    chat.expect_exact(TITLE)
    chat.expect("waiting for you")
    chat.send("\x03")  # stops the turn
    chat.expect_exact("\x1b[23;2t")
    chat.send("\x11")
    chat.expect(pexpect.EOF)
    assert committed(tmp_path) == []


def test_who_leaves_while_a_call_waits_has_decided_nothing_and_gets_the_title_back(tmp_path: Path) -> None:
    chat = open_chat(tmp_path)
    chat.expect("What shall I do")
    chat.send("Note it\r")
    chat.expect_exact(TITLE)
    chat.send("\x11")
    chat.expect_exact("\x1b[23;2t")
    chat.expect(pexpect.EOF)
    assert committed(tmp_path) == []


@pytest.mark.parametrize("decision", [Approve("x"), KeyboardInterrupt()])
async def test_the_command_line_calls_too_and_gives_the_title_back_however_it_ends(
    capsys: pytest.CaptureFixture[str], decision: Approve | KeyboardInterrupt
) -> None:
    class Asked:
        async def decide(self, _question: Question) -> Decision:
            assert capsys.readouterr().err.endswith(TITLE)
            if isinstance(decision, KeyboardInterrupt):
                raise decision
            return decision

    proposal = Proposal("t", "1", Risk.WRITE, Preview("Do it"), {}, {})
    asking = CallsAttention(Asked(), Attention(NoticeSettings(), XTERM)).decide(Question("c", proposal, {}))
    if isinstance(decision, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            await asking
    else:
        assert await asking is decision
    assert capsys.readouterr().err.endswith("\x1b[23;2t")


async def test_a_card_that_nobody_answers_for_a_day_still_waits_and_nothing_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = FakeHouse(tmp_path, FakeSession(MILK, "Hm."))
    async with BotPsyApp(house).run_test(size=(90, 30)) as pilot:
        await say(pilot, "Note milk")
        await until(pilot, lambda: pilot.app.screen.query(card_module.CallCard))
        card = waiting_card(pilot)
        now = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: now() + 86_400)
        await pilot.pause(0.6)
        assert card.waits
        assert house.tools[0].committed == []
    journal = Journal(tmp_path / "journal.sqlite")
    states = [call.state for call in await journal.calls()]
    journal.close()
    assert len(states) == 1
    assert states[0] not in (CallState.APPROVED, CallState.STARTED, CallState.DONE)
