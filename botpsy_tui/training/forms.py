"""An example as one JSON object: in OpenAI's chat format, or written out as the model's template does."""

import re
from collections.abc import Sequence
from typing import Any

from botpsy_tui.engine.chat_format import chat_messages
from botpsy_tui.engine.template import ChatTemplate, declaration
from botpsy_tui.engine.types import Message, ToolSchema
from botpsy_tui.training.problem import TrainingProblem

_TURN = re.compile(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>\n?", re.DOTALL)
_ROLES = {"tool": "user"}
"""Loaders of plain text know no tool's role; a result is what the person's side says."""


def openai_form(messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
    """Return ``{"messages": […], "tools": […]}``, calls and results joined by ids."""
    return {"messages": chat_messages(messages), "tools": [declaration(tool) for tool in tools]}


def text_form(
    messages: Sequence[Message], tools: Sequence[ToolSchema], template: ChatTemplate
) -> dict[str, Any]:
    """Return ``{"messages": [{"role", "content"}, …]}``, with tools, calls and results as text.

    The template writes the conversation with its tools, and what it wrote is cut into turns: so a
    loader that knows no tools, and writes ChatML, makes the very prompt that the model sees. Raises
    `TrainingProblem` where the template does not write ChatML, `EngineError` where it can't write this.
    """
    text = template.transcript(messages, tools)
    turns = [{"role": _ROLES.get(role, role), "content": content} for role, content in _TURN.findall(text)]
    if _TURN.sub("", text).strip() or not turns:
        raise TrainingProblem(
            "This model's template does not write ChatML, which the text format is made of: "
            "use --format openai."
        )
    return {"messages": turns}
