"""The form in which a call's arguments are changed, made from the tool's schema."""

import json
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

_LINE_END = "↵"
"""How a line end is shown, and typed, in a field of one line."""


class EditScreen(ModalScreen[Mapping[str, Any] | None]):
    """One field for each argument; gives the new arguments, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Use these", tooltip="Show the call again with these arguments"),
        Binding("escape", "dismiss(None)", "Back", tooltip="Leave the call as it is"),
    ]

    def __init__(self, question: Question, draft: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._question = question
        self._values: Mapping[str, Any] = question.proposal.arguments if draft is None else draft
        properties: Mapping[str, Mapping[str, Any]] = question.schema.get("properties", {})
        required = set(question.schema.get("required", ()))
        self._fields = sorted(
            ((name, _plain(schema)) for name, schema in properties.items()),
            key=lambda item: item[0] not in required,
        )
        self._required = required

    def compose(self) -> ComposeResult:
        """A title, the last problem, the fields, and what the keys do."""
        title = for_display(self._question.proposal.preview.title)
        with Vertical(id="edit"):
            yield Static(Text(f"Edit: {title}", style="bold"), markup=False)
            if self._question.problem:
                yield Static(Text(for_display(self._question.problem)), markup=False, classes="problem")
            with VerticalScroll(can_focus=False):
                for name, schema in self._fields:
                    yield from self._field(name, schema)
            yield Static(
                Text("Enter or Ctrl+S shows the call again · Tab next · Esc back"),
                markup=False,
                classes="hint",
            )

    def on_mount(self) -> None:
        """Begin in the first field."""
        if fields := self.query("Input, Switch"):
            fields.first().focus()

    def on_input_submitted(self) -> None:
        """Enter in any field uses the form."""
        self.action_save()

    def action_save(self) -> None:
        """Give the new arguments; an optional one that is empty is left out."""
        values: dict[str, Any] = {}
        for name, schema in self._fields:
            field = self.query_one(f"#field-{name}")
            old = self._values.get(name)
            if isinstance(field, Switch):
                if field.value or name in self._values or name in self._required:
                    values[name] = field.value
            elif isinstance(field, Input):
                if old is not None and field.value == _shown(old):
                    values[name] = old  # untouched: exactly as it was, hidden characters and all
                elif field.value.strip() or name in self._required:
                    values[name] = _read(field.value.strip(), schema)
        self.dismiss(values)

    def _field(self, name: str, schema: Mapping[str, Any]) -> ComposeResult:
        value = self._values.get(name)
        label = Text.assemble((for_display(name.replace("_", " ").capitalize()), "bold"))
        if name not in self._required:
            label.append(" (optional)", style="dim")
        if hint := schema.get("description"):
            label.append(f" · {for_display(str(hint))}", style="dim")
        yield Static(label, markup=False, classes="label")
        if schema.get("type") == "boolean":
            yield Switch(bool(value), id=f"field-{name}")
        else:
            yield Input("" if value is None else _shown(value), id=f"field-{name}", compact=True)


def _plain(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an optional value as that of the value."""
    given: list[Mapping[str, Any]] = [
        option for option in schema.get("anyOf", ()) if option.get("type") != "null"
    ]
    return {**given[0], **schema} if len(given) == 1 else schema


def _shown(value: Any) -> str:
    """Return a value as the one line of a field."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return for_display(text).replace("\n", _LINE_END).replace("\t", " ")


def _read(text: str, schema: Mapping[str, Any]) -> Any:
    """Return what was typed as the schema wants it; what it is not, the tool will say."""
    if schema.get("type") in ("integer", "number", "array", "object"):
        try:
            return json.loads(text)
        except ValueError:
            return [part.strip() for part in text.split(",")] if schema.get("type") == "array" else text
    return text.replace(_LINE_END, "\n")
