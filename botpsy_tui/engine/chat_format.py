"""OpenAI's chat format: a conversation as endpoints and fine-tuning tools read it."""

import json
from collections.abc import Sequence
from typing import Any

from botpsy_tui.engine.types import EngineError, Message


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return a conversation as the OpenAI chat format has it: calls with ids, each result naming its call."""
    result: list[dict[str, Any]] = []
    waiting: list[str] = []
    count = 0
    for message in messages:
        entry: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            waiting = [f"call_{count + i}" for i in range(len(message.tool_calls))]
            count += len(waiting)
            entry["tool_calls"] = [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                    },
                }
                for call_id, call in zip(waiting, message.tool_calls, strict=True)
            ]
        elif message.role == "tool":
            if not waiting:
                raise EngineError("A tool's result stands in this conversation without its call.")
            entry["tool_call_id"] = waiting.pop(0)
        result.append(entry)
    return result
