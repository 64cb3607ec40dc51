"""The chat: the conversation above, the composer below, a status line at the bottom."""
# pyright: reportUnknownMemberType=false
# (Textual leaves the type argument of `app` open.)

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from botpsy_tui.agent.events import Event
from botpsy_tui.approval import Decision, Question
from botpsy_tui.config import data_folder
from botpsy_tui.engine.types import Session
from botpsy_tui.tui.approver import ChatApprover
from botpsy_tui.tui.commands import COMMANDS, Command, command_of, number_of
from botpsy_tui.tui.conversation import Conversation
from botpsy_tui.tui.history import History
from botpsy_tui.tui.outbox import MOST_ENTRIES, OutboxDesk, audit_text
from botpsy_tui.tui.ports import House
from botpsy_tui.tui.screens.edit import EditScreen
from botpsy_tui.tui.screens.permissions import PermissionsScreen
from botpsy_tui.tui.widgets.card import GRACE_SECONDS, CallCard
from botpsy_tui.tui.widgets.composer import Composer
from botpsy_tui.tui.widgets.log import ConversationLog
from botpsy_tui.tui.widgets.messages import Notice, PersonMessage, sentence_of
from botpsy_tui.tui.widgets.status import StatusLine

Asked = Callable[[asyncio.Event], AsyncGenerator[Event, None]]
"""Has a call decided on, from its card to its end, or until the event is set."""

QUIET_SECONDS = 1.0
"""A card takes the focus only where no key came for this long."""

_GREETING = """Say what you want, in your own words. For example:

  What's on tomorrow?
  Book 30 minutes tomorrow afternoon when I'm free, call it Review
  Am I free on Friday?

Nothing happens before you have seen it and said yes.
Enter sends · Ctrl+J new line · Esc stops · Ctrl+P commands · F1 keys · Ctrl+Q ends"""


def _greeting() -> Static:
    return Static(Text(_GREETING), markup=False, id="greeting")


class ChatScreen(Screen[None]):
    """The conversation with the assistant."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", tooltip="Stop the model; what was said stays"),
        Binding(
            "ctrl+g", "decide", "Decide", tooltip="Go to the call that waits, or the outbox", priority=True
        ),
        Binding("ctrl+y", "copy", "Copy answer", tooltip="Copy the last answer", priority=True),
        Binding("ctrl+c", "interrupt", "Stop or copy", tooltip="Stop, or copy the selection", priority=True),
        Binding("pageup", "page(-1)", "Page up", tooltip="Scroll the conversation", priority=True),
        Binding("pagedown", "page(1)", "Page down", tooltip="Scroll the conversation", priority=True),
    ]

    @dataclass
    class Waits(Message):
        """A call has begun to wait for the person, or none waits any more."""

        begun: bool

    def __init__(self, house: House) -> None:
        super().__init__()
        self._house = house
        self._session: Session | None = None
        self._last_key_at = -1000.0
        self._call_waits = False
        self._waiting: list[PersonMessage] = []
        self.conversation: Conversation | None = None

    def compose(self) -> ComposeResult:
        """Log, composer, status."""
        with ConversationLog(id="log"):
            yield _greeting()
        yield Composer(History(data_folder() / "history"))
        yield StatusLine()

    def on_mount(self) -> None:
        """Begin to load the model; the person can type already."""
        self.query_one(Composer).focus()
        for notice in self._house.notices:
            self.query_one(ConversationLog).mount(Notice(notice))
        self.set_interval(0.25, self._offer_focus)
        # The first frame comes before the model: even importing the engine takes a moment.
        self.call_after_refresh(self._load)

    @property
    def _log(self) -> ConversationLog:
        return self.query_one(ConversationLog)

    @property
    def _status(self) -> StatusLine:
        return self.query_one(StatusLine)

    # -- the model

    @work(exclusive=True, group="model", exit_on_error=False)
    async def _load(self) -> None:
        for sentence in await self._house.interrupted_calls():
            await self._log.add(Notice(sentence, error=True))
        await self._outbox.greet()
        self._follow_outbox()
        self._status.state = f"loading {self._house.installed_model() or 'the model'} …"
        try:
            self._session = await self._house.load_session()
        except Exception as error:  # noqa: BLE001 - whatever it is, the person gets its sentence
            self._status.state = "no model; /new tries again"
            await self._log.add(Notice(sentence_of(error), error=True))
            return
        self._status.show_model(self._session.info)
        if not self._session.info.calls_tools:
            await self._log.add(Notice("This model's template knows no tools: it can talk, not act."))
        self._begin_conversation(self._session)

    @cached_property
    def _outbox(self) -> OutboxDesk:
        return OutboxDesk(waiting=self._house.waiting, log=self._log, cards=lambda: self.query(CallCard))

    @work(exclusive=True, group="outbox", exit_on_error=False)
    async def _follow_outbox(self) -> None:
        await self._outbox.follow()

    def _begin_conversation(self, session: Session) -> None:
        assistant = self._house.new_assistant(session, ChatApprover(self))
        self._status.show_trimmed(0)
        self.conversation = Conversation(assistant, self._log, self._status)
        self._run_turns(self.conversation)

    @work(exclusive=True, group="turns", exit_on_error=False)
    async def _run_turns(self, conversation: Conversation) -> None:
        """Prepare, then answer what was said, one after the other."""
        if not self._waiting:
            self._status.state = "getting ready …"
            await conversation.prepare()
            self._status.state = "ready"
        await self._answer_waiting(conversation)

    async def _answer_waiting(self, conversation: Conversation) -> None:
        while self._waiting:
            message = self._waiting.pop(0)
            message.begin()
            await conversation.answer(message.words)
        if conversation is self.conversation:
            self._settle(conversation)

    @work(exclusive=True, group="settling", exit_on_error=False)
    async def _settle(self, conversation: Conversation) -> None:
        """While nobody waits: what the next turn needs is made ready. It ends when one begins."""
        await conversation.settle()

    # -- what the person says

    async def on_composer_sent(self, event: Composer.Sent) -> None:
        """Run a command, or answer."""
        if event.words.startswith("/"):
            await self.run_command(event.words)
            return
        self.query("#greeting").remove()
        message = PersonMessage(event.words, waiting=self.conversation is None or self._turns_running)
        self._waiting.append(message)
        await self._log.add(message)
        if self.conversation is not None and not self._turns_running:
            self._run_turns(self.conversation)

    @property
    def _turns_running(self) -> bool:
        return any(worker.group == "turns" and worker.is_running for worker in self.workers)

    async def run_command(self, words: str) -> None:
        """Do what a slash command says."""
        command = command_of(words)
        if command is None:
            known = ", ".join(f"/{c.name}" for c in COMMANDS)
            await self._log.add(
                Notice(f"There is no command {words.split()[0]}; there are {known}.", error=True)
            )
            return
        await self._do(command, number_of(words))

    async def _do(self, command: Command, number: int | None = None) -> None:
        match command.name:
            case "help":
                width = max(len(c.name) for c in COMMANDS)
                rows = [f"/{c.name:<{width}}  {c.description}" for c in COMMANDS]
                await self._log.add(Notice("\n".join([*rows, "F1 shows all keys."])))
            case "new":
                self._new()
            case "copy":
                self.action_copy()
            case "pending":
                await self._ask_about([self._asked_later(call.number) for call in await self._outbox.waits()])
            case "undo":
                await self._ask_about(
                    [lambda stop: self._house.undoing.undo(number, ChatApprover(self), stop)]
                )
            case "audit":
                await self._log.add(Notice(audit_text(await self._house.audit(MOST_ENTRIES))))
            case "outbox":
                await self._outbox.list()
            case "permissions":
                self.app.push_screen(PermissionsScreen(self._house))
            case _:
                self.app.exit()

    def _asked_later(self, number: int) -> Asked:
        return lambda stop: self._house.waiting.decide(number, ChatApprover(self), stop)

    async def _ask_about(self, asked: Sequence[Asked]) -> None:
        """Ask about calls that no model has just made, where nothing else is being asked."""
        if not asked:
            await self._log.add(Notice("Nothing waits for you."))
        elif self.conversation is None or self._turns_running:
            await self._log.add(Notice("Not now: wait until the model is ready and its turn has ended."))
        else:
            self._run_asked(self.conversation, asked)

    @work(exclusive=True, group="turns", exit_on_error=False)
    async def _run_asked(self, conversation: Conversation, asked: Sequence[Asked]) -> None:
        stopping = asyncio.Event()
        for events in asked:
            if not stopping.is_set():
                await conversation.decide_later(events(stopping), stopping)
        await self._answer_waiting(conversation)

    @work(exclusive=True, group="new", exit_on_error=False)
    async def _new(self) -> None:
        """Begin anew, once the running turn has ended: a model does one thing at a time."""
        self._waiting.clear()
        self.workers.cancel_group(self, "settling")
        self.action_stop()
        self.conversation = None  # what is said from here on belongs to the new one
        turns = [worker.wait() for worker in self.workers if worker.group == "turns" and worker.is_running]
        await asyncio.gather(*turns, return_exceptions=True)
        for child in list(self._log.children):
            if child not in self._waiting and not (isinstance(child, CallCard) and child.held):
                await child.remove()
        if not self._waiting:
            await self._log.add(_greeting())
        await self._log.add(Notice("A new conversation."))
        if self._session is not None:
            self._begin_conversation(self._session)
        elif not any(worker.group == "model" and worker.is_running for worker in self.workers):
            self._load()

    def palette_commands(self) -> Iterator[SystemCommand]:
        """Give the slash commands to the palette."""
        for command in COMMANDS:
            yield SystemCommand(
                command.title, command.description, lambda c=command: self.call_later(self._do, c)
            )

    # -- deciding: the desk of `ChatApprover`

    async def ask(self, question: Question, answer: "asyncio.Future[Decision]") -> None:
        """Put a question on its card."""
        assert self.conversation is not None
        card = await self.conversation.card(question.call_id, question.proposal)
        card.ask(question, answer)
        self._log.follow()
        self._status.state = "waiting for you"
        self._call_waits = True
        self.post_message(self.Waits(begun=True))
        self._offer_focus()

    def withdraw(self, question: Question) -> None:
        """Show that a question is not asked any more."""
        if self.conversation is not None:
            self.conversation.withdraw(question.call_id)
        if _card_of(self.focused) is not None:
            self.query_one(Composer).focus()

    def _waiting_card(self) -> CallCard | None:
        return next((card for card in self.query(CallCard) if card.waits), None)

    def _offer_focus(self) -> None:
        """Give the focus to a waiting card, where that can't catch a key meant for the composer."""
        card = self._waiting_card()
        composer = self.query_one(Composer)
        quiet = time.monotonic() - max(composer.last_key_at, self._last_key_at) >= QUIET_SECONDS
        if self.focused is None or _let_go(self.focused):
            composer.focus()
        elif card and quiet and self._on_top and self.focused is composer and not composer.text:
            card.focus()
        if self._call_waits and card is None:
            self._call_waits = False
            self.post_message(self.Waits(begun=False))
        self._status.waiting = card is not None and _card_of(self.focused) is not card

    @property
    def _on_top(self) -> bool:
        """True where keys come to this screen. (`is_current` holds below a see-through palette too.)"""
        return self.app.screen is self

    def action_decide(self) -> None:
        """Go to the call that waits."""
        card = self._waiting_card() or next((card for card in self.query(CallCard) if card.held), None)
        if card is not None and self._on_top and _card_of(self.focused) is not card:
            card.focus()
            card.fetched = card.held
            card.scroll_visible()

    async def on_call_card_take_back_wanted(self, event: CallCard.TakeBackWanted) -> None:
        """Take a call out of the outbox."""
        await self._outbox.take_back(event.card)

    def on_call_card_edit_wanted(self, event: CallCard.EditWanted) -> None:
        """Open the form."""
        card = event.card
        if card.question is None:
            return

        def take(arguments: Any) -> None:
            if arguments is not None:
                card.edited(arguments)
            card.begin_grace()

        self.app.push_screen(EditScreen(card.question, card.draft), take)

    def on_screen_resume(self) -> None:
        """Back from the form or the palette: keys meant for those decide nothing here."""
        if isinstance(self.focused, CallCard):
            self.focused.begin_grace()

    # -- keys

    def on_key(self) -> None:
        """Note when a key came that the composer did not take."""
        self._last_key_at = time.monotonic()

    def action_page(self, direction: int) -> None:
        """Scroll the conversation by a page."""
        if direction < 0:
            self._log.scroll_page_up()
        else:
            self._log.scroll_page_down()

    def action_stop(self) -> None:
        """Stop the running turn."""
        if self.conversation is not None:
            self.conversation.stop()

    def action_interrupt(self) -> None:
        """Ctrl+C: stop the turn, else copy what is selected, else say how to leave."""
        if self.conversation is not None and self.conversation.running:
            self.action_stop()
        elif selected := self.get_selected_text() or self.query_one(Composer).selected_text:
            self.app.copy_to_clipboard(selected)
        else:
            self.notify("Ctrl+Q ends BotPsy.", markup=False)

    def action_copy(self) -> None:
        """Copy the last answer."""
        if self.conversation is not None and self.conversation.last_answer:
            self.app.copy_to_clipboard(self.conversation.last_answer)
            self.notify("The last answer is copied.", markup=False)
        else:
            self.notify("There is no answer to copy yet.", markup=False)

    async def on_unmount(self) -> None:
        """Free the model."""
        self.workers.cancel_group(self, "settling")
        if self.conversation is not None:
            self.conversation.stop()
        if self._session is not None:
            await self._session.close()

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """Look up what lies under the mouse; a press while Markdown is rebuilt finds nothing."""
        try:
            return super().get_widget_and_offset_at(x, y)
        except Exception:  # noqa: BLE001 - Textual 8.2.8 lets any error of a half-built widget through
            return None, None


def _card_of(widget: Widget | None) -> CallCard | None:
    """Return the card that a widget is, or is part of."""
    while widget is not None and not isinstance(widget, CallCard):
        widget = widget.parent if isinstance(widget.parent, Widget) else None
    return widget


def _let_go(widget: Widget | None) -> bool:
    """Return whether a widget belongs to a card that has been decided, and long enough ago.

    Such a card keeps the focus for a moment: the second half of a double key press falls on it,
    where it means nothing, and not into the composer.
    """
    card = _card_of(widget)
    if card is None or card.waits or (card.held and card.fetched):
        return False
    return time.monotonic() - card.decided_at >= GRACE_SECONDS
