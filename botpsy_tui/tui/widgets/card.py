"""The card of one call: what it will do, who decides, what came of it."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Input, Static

from botpsy_tui.approval import Approve, Decision, Edit, Question, Reject
from botpsy_tui.plugin import Proposal, Risk, for_display
from botpsy_tui.tui.theme import AWAY, BAD, CAREFUL, GOOD

GRACE_SECONDS = 0.5
"""How long keys decide nothing after the card has taken the focus."""

_LINES_TOLD, _MOST_TOLD = 8, 4000
"""Lines, and characters, of what a running call tells that are on its card."""

_RISKS = {
    Risk.READ: ("reads", GOOD),
    Risk.WRITE: ("writes", CAREFUL),
    Risk.SEND: ("sends", AWAY),
    Risk.DESTRUCTIVE: ("deletes", BAD),
}

_STATE_STYLES = {"✓": f"bold {GOOD}", "✗": f"bold {BAD}", "?": f"bold {CAREFUL}"}


class CardButton(Button, can_focus=False):
    """A button for the mouse: it never has the focus, so Enter and Space press nothing."""


class CallCard(Vertical, can_focus=True):
    """One call, from its proposal to its end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "approve", "Approve once", tooltip="Do exactly what the card says, once"),
        Binding("e", "edit", "Edit", tooltip="Change the arguments; the call is shown again"),
        Binding("n", "reject", "Reject", tooltip="Say no, and why if you like"),
        Binding("d", "details", "Details", tooltip="Show every argument and the payload's hash"),
        Binding("u", "take_back", "Take back", tooltip="Take the call out of the outbox: it is not done"),
    ]

    @dataclass
    class EditWanted(Message):
        """The person wants to change the arguments."""

        card: "CallCard"

    @dataclass
    class TakeBackWanted(Message):
        """The person wants a call of the outbox not to be done."""

        card: "CallCard"

    def __init__(self, call_id: str, proposal: Proposal) -> None:
        super().__init__(classes="card")
        self.call_id = call_id
        self.proposal = proposal
        self.question: Question | None = None
        self._answer: asyncio.Future[Decision] | None = None
        self.draft: Mapping[str, Any] | None = None
        """What the person last put into the form, where it could not be taken."""
        self._focused_at = 0.0
        self._asked_at = 0.0
        self.decided_at = 0.0
        """When the person last decided, by the monotonic clock."""
        self.number: int | None = None
        """The call's number in the journal, once it is in the outbox."""
        self.fetched = False
        """True while the person has gone to a card in the outbox: it keeps the focus."""
        self._until: datetime | None = None
        self._details = False
        self._result = ""
        self._told = ""
        self._state = "proposed"
        self._summary = Static(markup=False, classes="card-summary")
        self._footer = Static(markup=False, classes="card-state")

    def compose(self) -> ComposeResult:
        """The preview, a place for a reason, and buttons for the mouse."""
        yield self._summary
        yield self._footer
        yield Input(placeholder="Why not? Enter sends, also with nothing; Esc goes back", classes="reason")
        with Horizontal(classes="card-buttons"):
            yield CardButton("Approve (y)", name="approve", compact=True)
            yield CardButton("Edit (e)", name="edit", compact=True)
            yield CardButton("Reject (n)", name="reject", compact=True)
            yield CardButton("Details (d)", name="details", compact=True)
            yield CardButton("Take back (u)", name="take-back", classes="take-back", compact=True)

    def on_mount(self) -> None:
        """Draw it."""
        self._redraw()
        self.set_interval(0.5, self._count_down)

    @property
    def waits(self) -> bool:
        """True while the person is asked."""
        return self._answer is not None and not self._answer.done()

    def propose(self, proposal: Proposal) -> None:
        """Show a new proposal, as after an edit."""
        self.proposal = proposal
        self._redraw()

    def ask(self, question: Question, answer: "asyncio.Future[Decision]") -> None:
        """Begin to wait for the person; the grace begins anew, since what is shown may have changed."""
        self.question, self._answer, self.proposal = question, answer, question.proposal
        self._asked_at = time.monotonic()
        if not question.problem:
            self.draft = None
        self.show_state("waiting for you", question.problem)

    def show_state(self, state: str, result: str = "") -> None:
        """Show where the call stands, and what came of it."""
        self._state, self._result = state, result
        self._redraw()

    def show_progress(self, text: str) -> None:
        """Show the last lines of what a running call tells."""
        self._told = (self._told + text)[-_MOST_TOLD:]
        self.show_state(self._state, "\n".join(self._told.splitlines()[-_LINES_TOLD:]))

    @property
    def held(self) -> bool:
        """True while the call is in the outbox."""
        return self._until is not None

    def hold(self, number: int, until: datetime) -> None:
        """Count down to the moment when the call leaves the outbox."""
        self.number, self._until = number, until
        self._count_down()

    def left(self, state: str, result: str) -> None:
        """Show what became of a call that was in the outbox."""
        self._until = None
        self.show_state(state, result)

    def withdraw(self) -> None:
        """Nobody waits for a decision any more."""
        self._answer = None
        self.remove_class("-rejecting")
        self.show_state("not run")

    def _count_down(self) -> None:
        if self._until is not None:
            rest = max(0.0, (self._until - datetime.now(UTC)).total_seconds())
            self.show_state(f"in the outbox, leaves in {rest:.0f} s · Ctrl+G, then u takes it back")

    # -- deciding

    def on_blur(self) -> None:
        """The person has gone elsewhere."""
        self.fetched = False

    def on_focus(self) -> None:
        """Begin the time of grace."""
        self.begin_grace()

    def begin_grace(self) -> None:
        """For a moment keys decide nothing."""
        self._focused_at = time.monotonic()

    def action_approve(self) -> None:
        """Say yes to what is shown."""
        if self._settled:
            self._approve()

    def action_edit(self) -> None:
        """Open the form."""
        if self._settled:
            self._edit()

    def action_reject(self) -> None:
        """Ask for the reason."""
        if self._settled:
            self._reject()

    def action_details(self) -> None:
        """Show or hide everything."""
        self._details = not self._details
        self._redraw()

    def action_take_back(self) -> None:
        """Have the call not be done, where it is in the outbox."""
        if self.held:
            self.post_message(self.TakeBackWanted(self))

    def edited(self, arguments: Mapping[str, Any]) -> None:
        """Take what the form gave."""
        self.draft = arguments
        self._resolve(Edit(arguments))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send the rejection with its reason."""
        event.stop()
        self.remove_class("-rejecting")
        self._resolve(Reject(event.value.strip()))

    def on_key(self, event: events.Key) -> None:
        """Esc in the reason goes back to the card, and decides nothing."""
        if event.key == "escape" and self.has_class("-rejecting"):
            event.stop()
            self.remove_class("-rejecting")
            self.focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Do what the mouse pressed; a card that has only just appeared under it decides nothing."""
        event.stop()
        if event.button.name == "details":
            self.action_details()
        elif event.button.name == "take-back":
            self.action_take_back()
        elif time.monotonic() - self._asked_at >= GRACE_SECONDS:
            match event.button.name:
                case "approve":
                    self._approve()
                case "edit":
                    self._edit()
                case _:
                    self._reject()

    @property
    def _settled(self) -> bool:
        """True where a key can be meant for what is shown now."""
        since = max(self._focused_at, self._asked_at)
        return self.waits and time.monotonic() - since >= GRACE_SECONDS and not self.has_class("-rejecting")

    def _approve(self) -> None:
        self._resolve(Approve(self.proposal.digest))

    def _edit(self) -> None:
        self.begin_grace()  # the form takes a moment to open, and the keys until then are meant for it
        if self.waits:
            self.post_message(self.EditWanted(self))

    def _reject(self) -> None:
        if self.waits:
            self.add_class("-rejecting")
            self.query_one(".reason", Input).focus()

    def _resolve(self, decision: Decision) -> None:
        if self._answer is not None and not self._answer.done():
            self.decided_at = time.monotonic()
            self._answer.set_result(decision)

    # -- drawing

    def _redraw(self) -> None:
        self.set_class(self.waits, "-waits")
        self.set_class(self.held, "-held")
        self._summary.update(self._preview())
        state = Text.assemble((for_display(self._state), self._state_style()))
        if self._result:
            state.append("\n" + for_display(self._result))
        self._footer.update(state)

    def _state_style(self) -> str:
        if self.waits:
            return "bold"
        return next((style for mark, style in _STATE_STYLES.items() if self._state.startswith(mark)), "dim")

    def _preview(self) -> Table:
        preview = self.proposal.preview
        word, colour = _RISKS[self.proposal.risk]
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(ratio=1, overflow="fold")
        badge = Text.assemble((f" {for_display(word)} ", f"not dim bold reverse {colour}"))
        table.add_row(badge, Text(for_display(preview.title), style="bold"))
        for line in preview.lines:
            value = Text(for_display(line.value))
            if line.before is None:
                table.add_row(Text(for_display(line.label)), value)
            else:
                before = (for_display(line.before), "dim strike")
                table.add_row(Text(for_display(line.label)), Text.assemble(before, " → ", value))
        reasons = self.question.reasons if self.question is not None and self.waits else ()
        for warning in (*preview.warnings, *reasons):
            table.add_row(
                Text.assemble(("!", f"not dim bold {CAREFUL}")), Text(for_display(warning), CAREFUL)
            )
        if self._details:
            self._add_details(table)
        return table

    def _add_details(self, table: Table) -> None:
        table.add_row(
            Text("tool"), Text(for_display(f"{self.proposal.tool}, version {self.proposal.version}"))
        )
        table.add_row(Text("digest"), Text(for_display(self.proposal.digest)))
        for kind, values in (("argument", self.proposal.arguments), ("payload", self.proposal.payload)):
            for name, value in values.items():
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                table.add_row(Text(for_display(f"{kind} {name}")), Text(for_display(shown)))
