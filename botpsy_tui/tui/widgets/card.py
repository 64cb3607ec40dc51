"""The card of one call: what it will do, who decides, what came of it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Input, Static

from botpsy_tui.approval import Approve, Decision, Edit, Question, Reject, Stop
from botpsy_tui.plugin import Proposal, Risk, for_display

GRACE_SECONDS = 0.5
"""How long keys decide nothing after the card has taken the focus."""

_RISKS = {
    Risk.READ: ("reads", "green"),
    Risk.WRITE: ("writes", "yellow"),
    Risk.SEND: ("sends", "magenta"),
    Risk.DESTRUCTIVE: ("deletes", "red"),
}


class CardButton(Button, can_focus=False):
    """A button for the mouse: it never has the focus, so Enter and Space press nothing."""


class CallCard(Vertical, can_focus=True):
    """One call, from its proposal to its end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "approve", "Approve once", tooltip="Do exactly what the card says, once"),
        Binding("e", "edit", "Edit", tooltip="Change the arguments; the call is shown again"),
        Binding("n", "reject", "Reject", tooltip="Say no, and why if you like"),
        Binding("d", "details", "Details", tooltip="Show every argument and the payload's hash"),
    ]

    @dataclass
    class EditWanted(Message):
        """The person wants to change the arguments."""

        card: "CallCard"

    def __init__(self, call_id: str, proposal: Proposal) -> None:
        super().__init__(classes="card")
        self.call_id = call_id
        self.proposal = proposal
        self.question: Question | None = None
        self._answer: asyncio.Future[Decision] | None = None
        self._focused_at = 0.0
        self._details = False
        self._result = ""
        self._state = "proposed"
        self._summary = Static(markup=False, classes="card-summary")
        self._footer = Static(markup=False, classes="card-state")

    def compose(self) -> ComposeResult:
        """The preview, a place for a reason, and buttons for the mouse."""
        yield self._summary
        yield Input(placeholder="Why not? Enter sends, also with nothing; Esc goes back", classes="reason")
        with Horizontal(classes="card-buttons"):
            yield CardButton("Approve (y)", name="approve", compact=True)
            yield CardButton("Edit (e)", name="edit", compact=True)
            yield CardButton("Reject (n)", name="reject", compact=True)
            yield CardButton("Details (d)", name="details", compact=True)
        yield self._footer

    def on_mount(self) -> None:
        """Draw it."""
        self._redraw()

    @property
    def waits(self) -> bool:
        """True while the person is asked."""
        return self._answer is not None and not self._answer.done()

    def propose(self, proposal: Proposal) -> None:
        """Show a new proposal, as after an edit."""
        self.proposal = proposal
        self._redraw()

    def ask(self, question: Question, answer: "asyncio.Future[Decision]") -> None:
        """Begin to wait for the person."""
        self.question, self._answer, self.proposal = question, answer, question.proposal
        self.show_state(for_display(question.problem) if question.problem else "waiting for you")

    def show_state(self, state: str, result: str = "") -> None:
        """Show where the call stands, and what came of it."""
        self._state, self._result = state, result
        self._redraw()

    def withdraw(self) -> None:
        """Nobody waits for a decision any more."""
        self._answer = None
        self.show_state("not run")

    # -- deciding

    def on_focus(self) -> None:
        """Begin the time of grace."""
        self._focused_at = time.monotonic()

    def action_approve(self) -> None:
        """Say yes to what is shown."""
        self._decide(Approve(self.proposal.digest))

    def action_edit(self) -> None:
        """Open the form."""
        if self.waits and self._settled:
            self.post_message(self.EditWanted(self))

    def action_reject(self) -> None:
        """Ask for the reason."""
        if self.waits and self._settled:
            self.add_class("-rejecting")
            self.query_one(".reason", Input).focus()

    def action_details(self) -> None:
        """Show or hide everything."""
        self._details = not self._details
        self._redraw()

    def edited(self, arguments: Mapping[str, Any]) -> None:
        """Take what the form gave."""
        self._resolve(Edit(arguments))

    def stop(self) -> None:
        """Say no, and end the turn."""
        self._resolve(Stop())

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
        """Do what the mouse pressed."""
        event.stop()
        self._focused_at = 0.0
        match event.button.name:
            case "approve":
                self.action_approve()
            case "edit":
                self.action_edit()
            case "reject":
                self.action_reject()
            case _:
                self.action_details()

    @property
    def _settled(self) -> bool:
        return time.monotonic() - self._focused_at >= GRACE_SECONDS

    def _decide(self, decision: Decision) -> None:
        if self._settled:
            self._resolve(decision)

    def _resolve(self, decision: Decision) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(decision)

    # -- drawing

    def _redraw(self) -> None:
        self.set_class(self.waits, "-waits")
        self._summary.update(self._preview())
        state = Text(for_display(self._state), style="bold" if self.waits else "dim")
        if self._result:
            state.append("\n" + for_display(self._result), style="not dim not bold")
        self._footer.update(state)

    def _preview(self) -> Table:
        preview = self.proposal.preview
        word, colour = _RISKS[self.proposal.risk]
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(ratio=1, overflow="fold")
        badge = Text(f" {word} ", style=f"not dim bold reverse {colour}")
        table.add_row(badge, Text(preview.title, style="bold"))
        for line in preview.lines:
            value = Text(for_display(line.value))
            if line.before is not None:
                value = Text.assemble((for_display(line.before), "dim strike"), " → ", value)
            table.add_row(Text(line.label), value)
        for warning in preview.warnings:
            table.add_row(
                Text("!", style="bold yellow", justify="right"), Text(for_display(warning), "yellow")
            )
        if self._details:
            self._add_details(table)
        return table

    def _add_details(self, table: Table) -> None:
        table.add_row(Text("tool"), Text(f"{self.proposal.tool}, version {self.proposal.version}"))
        table.add_row(Text("digest"), Text(self.proposal.digest))
        for kind, values in (("argument", self.proposal.arguments), ("payload", self.proposal.payload)):
            for name, value in values.items():
                table.add_row(Text(f"{kind} {name}"), Text(for_display(str(value))))
