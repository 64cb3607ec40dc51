"""Reads what a model wrote, for the tests of dialects."""

from collections.abc import Sequence

from botpsy_tui.engine.dialects import Dialect, Parsed
from botpsy_tui.engine.types import CallWritten, ReasoningDelta, TextDelta, ToolCall, ToolSchema

TOOLS = [
    ToolSchema(
        "book",
        "Book.",
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "count": {"type": "integer"},
                "flag": {"type": "boolean"},
                "items": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["title"],
        },
    ),
    ToolSchema("list_all", "List.", {"type": "object", "properties": {}}),
]


def read(
    dialect: Dialect,
    pieces: Sequence[str],
    *,
    in_reasoning: bool = False,
    tools: Sequence[ToolSchema] = TOOLS,
) -> tuple[list[Parsed], str]:
    """Feed the pieces; return all events, and what was left unfinished."""
    parser = dialect.parser(tools, in_reasoning=in_reasoning)
    events = [event for piece in pieces for event in parser.feed(piece)]
    rest, unfinished = parser.finish()
    return [*events, *rest], unfinished


def text_of(events: Sequence[Parsed]) -> str:
    """Return all text, joined."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def reasoning_of(events: Sequence[Parsed]) -> str:
    """Return all reasoning, joined."""
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def calls_of(events: Sequence[Parsed]) -> list[ToolCall]:
    """Return the calls."""
    return [event.call for event in events if isinstance(event, CallWritten)]
