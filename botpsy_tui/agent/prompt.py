"""What the model is told: the constant system prompt, the stamp on a message, the tools' schemas."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from botpsy_tui.engine.types import ToolSchema
from botpsy_tui.plugin import Tool

SYSTEM_PROMPT = (
    "You are BotPsy, a personal assistant in the person's terminal. "
    "You can see and change their calendar and mail only by calling tools: never guess what is in them. "
    "When the person asks about events, or wants something done, call the one tool that fits, "
    "with the person's own words as arguments; leave out what they did not say. "
    "Dates, times and names are resolved for you. "
    "A greeting, small talk or general knowledge needs no tool: just answer, and do not mention tools. "
    "After a tool has answered, tell the person the result in one or two short sentences, "
    "naming every event with its time, the facts exactly as the tool gave them. "
    "Never say that something was done unless a tool says so."
)
"""Constant, so that its prompt state can be reused: what changes is stamped on the message."""


def stamped(words: str, now: datetime) -> str:
    """Return the person's message with the present moment on it."""
    return f"{words}\n\n(It is {now:%A, %Y-%m-%d %H:%M}, {now.tzinfo}.)"


def schema_of(tool: Tool[Any]) -> ToolSchema:
    """Return a tool as the model sees it, its JSON schema without what only costs tokens."""
    schema = tool.arguments.model_json_schema()
    properties = {name: _lean(value) for name, value in schema.get("properties", {}).items()}
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required := schema.get("required"):
        parameters["required"] = required
    if definitions := schema.get("$defs"):
        parameters["$defs"] = definitions
    return ToolSchema(tool.name, tool.description, parameters)


def _lean(schema: Mapping[str, Any]) -> dict[str, Any]:
    lean = {k: v for k, v in schema.items() if k not in ("title", "default")}
    options = lean.get("anyOf", ())
    given = [option for option in options if option.get("type") != "null"]
    if len(given) == 1 and len(options) == 2:
        del lean["anyOf"]
        lean = {**given[0], **lean}
    return lean
