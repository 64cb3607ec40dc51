"""The rules in force: what each says, where it stands, what it decided lately; and a key to take one back."""

from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from botpsy_tui.approval.permissions import NO_RULES, WITH_PROBLEMS, Permission, Permissions
from botpsy_tui.plugin import for_display, for_display_line
from botpsy_tui.tui.ports import House
from botpsy_tui.tui.theme import BAD, CAREFUL, GOOD
from botpsy_tui.tui.widgets.messages import sentence_of

_COLOURS = {"allow": GOOD, "ask": CAREFUL, "deny": BAD}
_KEYS = "R takes the rule back · Esc back"
_HOW_TO_ADD = "Add one with `botpsy policy add`. Esc back"


class PermissionsScreen(ModalScreen[None]):
    """What `botpsy policy list` shows, and `botpsy policy revoke`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "revoke", "Take back", tooltip="Take the rule out of the file; asks once more"),
        Binding("escape", "dismiss", "Back", tooltip="Back to the conversation"),
    ]

    def __init__(self, house: House) -> None:
        super().__init__()
        self._house = house
        self._asked: str | None = None
        """The rule that is taken back when R is pressed once more."""

    def compose(self) -> ComposeResult:
        """A title, what is wrong, the rules, and what the keys do."""
        with Vertical(id="permissions"):
            yield Static(Text("What may run without asking, and what never", style="bold"), markup=False)
            yield Static(markup=False, id="policy-path", classes="hint")
            yield Static(markup=False, id="problems", classes="problem")
            yield OptionList(id="rules", markup=False)
            yield Static(markup=False, id="permissions-message", classes="hint")

    def on_mount(self) -> None:
        """Read the rules."""
        self._read("")

    @work(exclusive=True, group="permissions", exit_on_error=False)
    async def _read(self, message: str) -> None:
        try:
            permissions = await self._house.permissions()
        except Exception as error:  # noqa: BLE001 - whatever it is, the person gets its sentence
            self._say(sentence_of(error))
            return
        self._show(permissions)
        self._say(message or (_KEYS if permissions.rules else _HOW_TO_ADD))

    def _show(self, permissions: Permissions) -> None:
        self.query_one("#policy-path", Static).update(Text(for_display_line(str(permissions.path))))
        problems = self.query_one("#problems", Static)
        lines = [*map(str, permissions.problems), WITH_PROBLEMS] if permissions.problems else []
        problems.update(Text(for_display("\n".join(lines))))
        problems.display = bool(lines)
        rules = self.query_one("#rules", OptionList)
        rules.clear_options()
        for each in permissions.rules:
            text = Text()
            _draw(each, text)
            rules.add_option(Option(text, id=each.rule.id))
        if not permissions.rules and not permissions.problems:
            rules.add_option(Option(Text(NO_RULES), disabled=True))
        rules.highlighted = 0 if permissions.rules else None
        rules.focus()

    def action_revoke(self) -> None:
        """Ask, and on the second press take the rule back."""
        rules = self.query_one("#rules", OptionList)
        if rules.highlighted is None or (rule := rules.get_option_at_index(rules.highlighted).id) is None:
            return
        if rule == self._asked:
            self._revoke(rule)
        else:
            self._asked = rule
            self._say(f"Take back {rule}? R once more does it, any other rule or Esc leaves it.")

    @work(exclusive=True, group="permissions", exit_on_error=False)
    async def _revoke(self, rule_id: str) -> None:
        self._asked = None
        try:
            rule = await self._house.revoke_rule(rule_id)
        except Exception as error:  # noqa: BLE001 - whatever it is, the person gets its sentence
            self._say(sentence_of(error))
        else:
            self._read(f"Gone: {rule.in_words()}")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Another rule is looked at: what was asked of the last one is off."""
        if self._asked is not None and event.option.id != self._asked:
            self._asked = None
            self._say(_KEYS)

    def _say(self, text: str) -> None:
        self.query_one("#permissions-message", Static).update(Text(for_display(text)))


def _draw(permission: Permission, text: Text) -> None:
    rule = permission.rule
    text.append(f" {for_display_line(rule.decision)} ", style=f"bold reverse {_COLOURS[rule.decision]}")
    text.append(f" {for_display_line(rule.id)}", style="bold")
    text.append(f"\n{for_display_line(rule.in_words())}")
    for line in permission.details():
        text.append(f"\n{for_display_line(line)}", style="dim")
    text.append("\n")
