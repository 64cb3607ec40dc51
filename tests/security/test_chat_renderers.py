"""Whatever is said, the chat draws it: no crash, no escape sequence, nothing hidden, no action."""

from pathlib import Path

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Collapsible, Static

from botpsy_tui.approval import Question
from botpsy_tui.engine.types import ModelInfo
from botpsy_tui.plugin import Line, Preview, Proposal, Risk
from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.screens.edit import EditScreen
from botpsy_tui.tui.widgets.card import CallCard
from botpsy_tui.tui.widgets.composer import Composer
from botpsy_tui.tui.widgets.log import ConversationLog
from botpsy_tui.tui.widgets.messages import AnswerMessage, Notice, PersonMessage, Reasoning
from botpsy_tui.tui.widgets.status import StatusLine
from tests.agent.fakes import FakeSession
from tests.security.hostile import batches, dangers, hostile_strings, without_own_sequences
from tests.tui.fakes import FakeHouse

BATCHES = batches(hostile_strings(10_000), 1000)
TALL = (200, 2000)
"""High enough that all of a batch is on the screen, and so is drawn."""


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))


def written_to_the_terminal(pilot: Pilot[None]) -> str:
    """Return the very bytes that the driver would be given for the whole screen, as text."""
    update = pilot.app.screen._compositor.render_update(full=True)
    return update.render_segments(pilot.app.console)  # type: ignore[union-attr]


def check(pilot: Pilot[None], *drawn: str) -> None:
    written = written_to_the_terminal(pilot)
    assert all(word in written for word in drawn)
    assert not dangers(without_own_sequences(written))
    written.encode()
    actions = [
        action
        for strip in pilot.app.screen._compositor.render_strips()
        for segment in strip
        if segment.style
        for action in (segment.style.link, (segment.style.meta or {}).get("@click"))
        if action
    ]
    assert not actions


async def shown(pilot: Pilot[None], *widgets: object) -> None:
    log = pilot.app.screen.query_one(ConversationLog)
    await log.remove_children()
    await log.mount(*widgets)  # type: ignore[arg-type]
    await pilot.pause()


def hostile_proposal(batch: list[str]) -> Proposal:
    text = " ".join(batch)
    lines = tuple(Line(one[:20], one, other) for one, other in zip(batch[:100], batch[100:200], strict=True))
    return Proposal(
        tool="write_note",
        version="1",
        risk=Risk.SEND,
        preview=Preview(" ".join(batch[:20]), lines, tuple(batch[200:250])),
        payload={"text": text, "deep": {"er": batch[:50]}},
        arguments={"text": text},
    )


async def test_ten_thousand_hostile_strings_in_every_widget_of_the_chat(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=TALL) as pilot:
        await pilot.pause(0.3)
        for batch in BATCHES:
            text = " ".join(batch)
            card = CallCard("call-1", hostile_proposal(batch))
            card.action_details()
            card.show_state(batch[0], text)
            reasoning = Reasoning()
            reasoning.add("Because " + text)
            await shown(pilot, PersonMessage("Hello " + text), Notice("Look " + text), card, reasoning)
            reasoning.query_one(Collapsible).collapsed = False
            await pilot.pause()
            check(pilot, "Hello", "Look", "payload", "Because")
            status = pilot.app.screen.query_one(StatusLine)
            for name in batch[:30]:
                status.show_model(ModelInfo(name, name, name, 1, "hermes", True))
                status.state = name
                assert not dangers(str(status.content))


async def test_ten_thousand_hostile_strings_as_an_answer(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=TALL) as pilot:
        await pilot.pause(0.3)
        for batch in BATCHES:
            answer = AnswerMessage()
            await shown(pilot, answer)
            await answer.add("Hello\n\n")
            for piece in batches(batch[:60], 4):  # while it streams
                await answer.add(" ".join(piece))
            await pilot.pause()
            check(pilot)
            answer.text = "Hello\n\n" + " ".join(batch)
            await answer.freeze()
            await pilot.pause()
            check(pilot, "Hello")


async def say_again(pilot: Pilot[None], batch: list[str]) -> None:
    """Go back to the last of the words that an earlier session has kept."""
    composer = pilot.app.screen.query_one(Composer)
    composer._history.add(" ".join(batch))
    composer.focus()
    await pilot.press("up")
    assert composer.text
    assert not dangers(composer.text)
    check(pilot)
    composer.clear()


async def test_hostile_strings_in_the_form_and_in_the_composer(tmp_path: Path) -> None:
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=(120, 300)) as pilot:
        await pilot.pause(0.3)
        composer = pilot.app.screen.query_one(Composer)
        for batch in BATCHES:
            pilot.app.post_message(Paste("\r".join(batch)))
            await pilot.pause()
            check(pilot)
            assert not dangers(composer.text)
            composer.clear()
            await say_again(pilot, batch)
            properties = {
                f"field{i}": {"type": "string", "description": text} for i, text in enumerate(batch[:40])
            }
            arguments = dict(zip(properties, batch[40:80], strict=True))
            proposal = Proposal("write_note", "1", Risk.SEND, Preview(batch[0]), {}, arguments)  # type: ignore[arg-type]
            question = Question("c", proposal, {"properties": properties}, batch[1])
            pilot.app.push_screen(EditScreen(question))
            await pilot.pause()
            check(pilot, "Edit")
            pilot.app.pop_screen()
            await pilot.pause()


async def test_the_check_bites(tmp_path: Path) -> None:
    """Without the sanitiser, the same check finds what is wrong."""
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=(120, 40)) as pilot:
        for text in ("\x1b]52;c;aGk=\x07", "a\u202eb", "\x9b31m"):
            await shown(pilot, Static(text, markup=False))
            with pytest.raises(AssertionError):
                check(pilot)
        await shown(pilot, Static("[@click=app.quit]press[/]"))
        with pytest.raises(AssertionError):
            check(pilot)
