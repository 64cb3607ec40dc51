"""What is said: the person's words, the answer as it streams, reasoning, notices."""

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Collapsible, Markdown, Static
from textual.widgets.markdown import MarkdownStream

from botpsy_tui.plugin import DisplayStream, for_display
from botpsy_tui.tui.markdown import inert_parser, still_markdown
from botpsy_tui.tui.widgets.log import WAITING


class PersonMessage(Static):
    """What the person said."""

    def __init__(self, words: str, *, waiting: bool = False) -> None:
        super().__init__(Text(for_display(words)), markup=False, classes="person")
        self.words = words
        self.set_class(waiting, WAITING)

    def begin(self) -> None:
        """Its turn has come."""
        self.remove_class(WAITING)


def sentence_of(error: Exception) -> str:
    """Return what to tell the person of an error: its own words, or at least its kind."""
    return str(error).strip() or f"Something went wrong ({type(error).__name__})."


class Notice(Static):
    """A sentence from the house itself: what went wrong, what to do."""

    def __init__(self, text: str, *, error: bool = False) -> None:
        super().__init__(Text(for_display(text)), markup=False, classes="notice")
        self.set_class(error, "-error")


class Reasoning(Vertical):
    """The model's reasoning, folded to one line until it is opened."""

    def __init__(self) -> None:
        super().__init__(classes="reasoning")
        self._text = ""
        self._body = Static(markup=False)

    def compose(self) -> ComposeResult:
        """One foldable block."""
        with Collapsible(title="Reasoning", collapsed=True):
            yield self._body

    def on_collapsible_expanded(self) -> None:
        """Draw what there is so far."""
        self._draw()

    def add(self, text: str) -> None:
        """Take more reasoning; while it is folded nothing is drawn."""
        self._text += text
        if self.query("Collapsible") and not self.query_one(Collapsible).collapsed:
            self._draw()

    def _draw(self) -> None:
        self._body.update(Text(for_display(self._text.strip())))


class AnswerMessage(Vertical):
    """An answer: Markdown while it streams, one still widget after."""

    def __init__(self) -> None:
        super().__init__(classes="answer")
        self.text = ""
        self._shown = DisplayStream()
        self._live: Markdown | None = None
        self._stream: MarkdownStream | None = None

    async def add(self, text: str) -> None:
        """Take more of the answer."""
        self.text += text
        if self._live is None:
            self._live = Markdown(parser_factory=inert_parser, open_links=False)
            await self.mount(self._live)
            self._stream = Markdown.get_stream(self._live)
        if self._stream is not None:
            await self._stream.write(self._shown.add(text))

    async def freeze(self) -> None:
        """The answer is complete: draw it whole, as one widget."""
        if self._stream is not None:
            await self._stream.stop()
            self._stream = None
        if self._live is not None:
            still = Static(still_markdown(self.text), markup=False)
            await self.mount(still)
            await self._live.remove()
            self._live = None
