"""The public API a plugin is written against: everything a plugin may import of the house."""

from botpsy_tui.plugin.arguments import Reference, ReferenceOrAddress, UserWords
from botpsy_tui.plugin.context import (
    Account,
    AccountKind,
    AccountProblem,
    Clock,
    Context,
    Host,
    References,
    SecretUnavailable,
)
from botpsy_tui.plugin.identity import Shown, shown_address, shown_host, shown_link
from botpsy_tui.plugin.plugins import Plugin
from botpsy_tui.plugin.text import DisplayStream, for_display, for_display_line, for_model
from botpsy_tui.plugin.tools import (
    ChangedSince,
    Json,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    ToolError,
    Undo,
)

__all__ = [
    "Account",
    "AccountKind",
    "AccountProblem",
    "ChangedSince",
    "Clock",
    "Context",
    "DisplayStream",
    "Host",
    "Json",
    "Line",
    "Outcome",
    "Plugin",
    "Preview",
    "Proposal",
    "Reference",
    "ReferenceOrAddress",
    "References",
    "Risk",
    "SecretUnavailable",
    "Shown",
    "Tool",
    "ToolError",
    "Undo",
    "UserWords",
    "for_display",
    "for_display_line",
    "for_model",
    "shown_address",
    "shown_host",
    "shown_link",
]
