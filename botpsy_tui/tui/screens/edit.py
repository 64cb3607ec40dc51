"""The form in which a call's arguments are changed, made from the tool's schema."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static, Switch

from botpsy_tui.approval import Question
from botpsy_tui.plugin import for_display


class EditScreen(ModalScreen[Mapping[str, Any] | None]):
    """One field for each argument; gives the new arguments, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Use these", tooltip="Show the call again with these arguments"),
        Binding("escape", "dismiss(None)", "Back", tooltip="Leave the call as it is"),
    ]

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._question = question
        properties: Mapping[str, Mapping[str, Any]] = question.schema.get("properties", {})
        required = set(question.schema.get("required", ()))
        self._fields = sorted(properties.items(), key=lambda item: item[0] not in required)
        self._required = required

    def compose(self) -> ComposeResult:
        """A title, the last problem, the fields, and what the keys do."""
        with Vertical(id="edit"):
            yield Static(Text(f"Edit: {self._question.proposal.preview.title}", style="bold"), markup=False)
            if self._question.problem:
                yield Static(Text(for_display(self._question.problem)), markup=False, classes="problem")
            with VerticalScroll(can_focus=False):
                for name, schema in self._fields:
                    yield from self._field(name, schema)
            yield Static(Text("Enter or Ctrl+S: show the call again · Tab: next · Esc: back"), classes="hint")

    def on_mount(self) -> None:
        """Begin in the first field."""
        self.query(Input).first().focus()

    def on_input_submitted(self) -> None:
        """Enter in any field uses the form."""
        self.action_save()

    def action_save(self) -> None:
        """Give the new arguments; an optional one that is empty is left out."""
        values: dict[str, Any] = {}
        for name, _ in self._fields:
            field = self.query_one(f"#field-{name}")
            if isinstance(field, Switch):
                values[name] = field.value
            elif isinstance(field, Input) and (field.value.strip() or name in self._required):
                values[name] = field.value.strip()
        self.dismiss(values)

    def _field(self, name: str, schema: Mapping[str, Any]) -> ComposeResult:
        value = self._question.proposal.arguments.get(name)
        label = Text(name.replace("_", " ").capitalize())
        if hint := schema.get("description"):
            label.append(f"  {hint}", style="dim")
        yield Static(label, markup=False, classes="label")
        if schema.get("type") == "boolean":
            yield Switch(bool(value), id=f"field-{name}")
        else:
            yield Input("" if value is None else for_display(str(value)), id=f"field-{name}", compact=True)
