"""The first start: choose a model, watch it come, go on."""
# pyright: reportUnknownMemberType=false
# (Textual leaves the type argument of `app` open.)

import time
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from botpsy_tui.plugin import for_display
from botpsy_tui.tui.ports import House, ModelOption
from botpsy_tui.tui.theme import GOOD
from botpsy_tui.tui.widgets.messages import sentence_of

_WELCOME = (
    "BotPsy thinks on your own computer, with a small language model.\n"
    "There is none here yet. Choose one to fetch; it is kept for the next time."
)

_LOOKING = "Looking which models can be had …"


class FirstRunScreen(Screen[bool]):
    """Ends with True once a model is there, with False where the person leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", tooltip="Stop the download, or leave"),
        Binding("r", "look", "Look again", tooltip="Ask again which models there are"),
    ]

    def __init__(self, house: House) -> None:
        super().__init__()
        self._house = house
        self._pulling = False
        self._stopped = False

    def compose(self) -> ComposeResult:
        """A welcome, the options, the progress."""
        with Vertical(id="first-run"):
            yield Static(Text("Welcome to BotPsy", style="bold"), markup=False)
            yield Static(Text(_WELCOME), markup=False, classes="welcome")
            yield OptionList(id="models", markup=False)
            yield ProgressBar(id="progress", show_eta=True)
            yield Static(Text(_LOOKING), markup=False, id="message")

    def on_mount(self) -> None:
        """Ask what there is."""
        self.query_one(ProgressBar).display = False
        self._look()

    def action_look(self) -> None:
        """Ask again."""
        if not self._pulling and not self.query_one(OptionList).option_count:
            self._say(_LOOKING)
            self._look()

    @work(thread=True, exclusive=True, group="models", exit_on_error=False)
    def _look(self) -> None:
        """Ask the house, which may ask the network."""
        try:
            options = self._house.model_options()
        except Exception as error:  # noqa: BLE001 - whatever it is, the person gets its sentence
            self.app.call_from_thread(self._say, f"{sentence_of(error)} R asks again, Esc leaves.")
        else:
            self.app.call_from_thread(self._offer, options)

    def _offer(self, options: Sequence[ModelOption]) -> None:
        models = self.query_one("#models", OptionList)
        for option in options:
            text = Text.assemble((for_display(option.title), "bold"))
            if option.recommended and len(options) > 1:
                text.append("  recommended", style=GOOD)
            text.append(f"\n{for_display(option.description)}", style="dim")
            models.add_option(Option(text, id=option.spec))
        models.highlighted = next((i for i, o in enumerate(options) if o.recommended), 0)
        models.focus()
        self._say("Enter fetches the model, Esc leaves.")
        if len(options) == 1:  # nothing to choose: the option's own words say why
            self._pull(options[0].spec)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Fetch what was chosen."""
        if not self._pulling and event.option.id is not None:
            self._pull(event.option.id)

    @work(exclusive=True, group="pull", exit_on_error=False)
    async def _pull(self, spec: str) -> None:
        self._pulling, self._stopped = True, False
        bar = self.query_one(ProgressBar)
        bar.display = True
        drawn = 0.0

        def progress(stage: str, done: int, total: int) -> None:
            nonlocal drawn
            if time.monotonic() - drawn < 0.2 and done < total:
                return
            drawn = time.monotonic()
            self.app.call_later(self._progress, stage, done, total)

        try:
            await self._house.pull_model(spec, progress)
        except Exception as error:  # noqa: BLE001 - whatever it is, the person gets its sentence
            self._say(f"{sentence_of(error)} Enter tries again, Esc leaves.")
        else:
            self.dismiss(True)
        finally:
            self._pulling = False
            bar.display = False

    def _progress(self, stage: str, done: int, total: int) -> None:
        if not self._pulling or self._stopped:
            return  # it was on its way when the download ended
        self.query_one(ProgressBar).update(total=total or None, progress=done)
        size = f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB" if total else f"{done / 1e6:,.0f} MB"
        self._say(f"{stage} · {size} · Esc stops; what came is kept")

    def action_leave(self) -> None:
        """Stop the download; a second time, leave."""
        if self._pulling and not self._stopped:
            self._stopped = True
            self.workers.cancel_group(self, "pull")
            self._say("Stopped. Enter goes on where it stopped, Esc leaves.")
        else:
            self.dismiss(False)

    def _say(self, text: str) -> None:
        self.query_one("#message", Static).update(Text(for_display(text)))
