"""Faults of the terminal library that are known, and what the chat does about each."""

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.markup import MarkupError
from textual.screen import Screen
from textual.widgets import Static

from botpsy_tui.tui import BotPsyApp
from botpsy_tui.tui.widgets.log import ConversationLog
from botpsy_tui.tui.widgets.messages import AnswerMessage, Notice
from tests.agent.fakes import FakeSession
from tests.tui.fakes import FakeHouse


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))


async def test_an_unquoted_link_takes_the_library_down_and_is_only_text_in_the_chat(tmp_path: Path) -> None:
    text = "[link=http://evil.example]x[/link]"

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Static(text)

    async def run_bare() -> None:
        async with Bare().run_test() as pilot:
            await pilot.pause()

    with pytest.raises(MarkupError):
        await run_bare()
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test() as pilot:
        await pilot.pause()
        notice = Notice(text)
        await pilot.app.screen.query_one(ConversationLog).mount(notice)
        await pilot.pause()
        assert text in str(notice.content)


async def test_a_click_on_a_link_that_streams_opens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(BotPsyApp, "open_url", lambda _app, url, **_options: opened.append(url))
    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        answer = AnswerMessage()
        await pilot.app.screen.query_one(ConversationLog).mount(answer)
        await answer.add("[press](http://evil.example) <http://evil.example>\n\n")
        await pilot.pause(0.2)
        for x in range(0, 40, 3):
            await pilot.click(answer, offset=(x, 0))
        assert opened == []


async def test_a_mouse_press_on_a_half_built_widget_does_not_end_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_built(_screen: Screen[None], _x: int, _y: int) -> None:
        raise IndexError("the block is not there any more")

    async with BotPsyApp(FakeHouse(tmp_path, FakeSession())).run_test() as pilot:
        await pilot.pause()
        monkeypatch.setattr(Screen, "get_widget_and_offset_at", half_built)
        await pilot.click(offset=(5, 5))
        await pilot.pause()
        assert pilot.app.is_running
