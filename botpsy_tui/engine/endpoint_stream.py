"""An answer of an OpenAI-compatible endpoint, put together from the pieces it streams."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from botpsy_tui.engine.types import (
    CallWritten,
    ReasoningDelta,
    Statistics,
    StopReason,
    TextDelta,
    ToolCall,
)

_REASONS: Mapping[str, StopReason] = {
    "stop": "end",
    "tool_calls": "end",
    "function_call": "end",
    "length": "length",
}
_MOST_CALLS = 32
_LONGEST_ARGUMENTS = 256 * 1024


class BrokenAnswer(Exception):
    """What the endpoint sent can't be read; the message goes behind "The model at HOST"."""


@dataclass
class _Call:
    name: str = ""
    arguments: str = ""
    call_id: str = ""


@dataclass
class Answer:
    """What has come so far. A call is one only when the answer has ended well."""

    reason: StopReason | None = None
    begun: bool = False
    ended: bool = False
    """True after ``[DONE]``: nothing more comes."""
    _calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _pieces: int = 0
    _usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _timings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def calls(self) -> list[CallWritten]:
        """Return the complete calls of an answer that has ended by itself; none of one cut short.

        Raises `BrokenAnswer` where a call's arguments are no JSON object.
        """
        if self.reason != "end":
            return []
        written: list[CallWritten] = []
        for _, call in sorted(self._calls.items()):
            try:
                arguments: Any = json.loads(call.arguments or "{}")
            except ValueError:
                arguments = None
            if not call.name or not isinstance(arguments, dict):
                raise BrokenAnswer("wrote a call whose arguments are not valid JSON; ask again.")
            written.append(CallWritten(ToolCall(call.name, cast("dict[str, Any]", arguments))))
        return written

    def unfinished(self) -> str:
        """Return the text of the calls of an answer that was cut short."""
        if self.reason == "end":
            return ""
        return "\n".join(f"{call.name}({call.arguments}" for _, call in sorted(self._calls.items()))

    def statistics(self, prompt_seconds: float, generation_seconds: float, context_size: int) -> Statistics:
        """Return what the turn has cost, by the server's own count where it gives one."""
        prompt = _count(self._usage, "prompt_tokens")
        generated = _count(self._usage, "completion_tokens") or self._pieces
        details = self._usage.get("prompt_tokens_details")
        cached = _count(cast("Mapping[str, Any]", details), "cached_tokens") if _is_object(details) else 0
        return Statistics(
            prompt_tokens=prompt,
            decoded_tokens=_count(self._timings, "prompt_n") or max(prompt - cached, 0),
            generated_tokens=generated,
            prompt_seconds=_count(self._timings, "prompt_ms") / 1000 or prompt_seconds,
            generation_seconds=_count(self._timings, "predicted_ms") / 1000 or generation_seconds,
            context_used=prompt + generated,
            context_size=context_size,
        )

    def take(self, chunk: Mapping[str, Any]) -> list[TextDelta | ReasoningDelta]:
        """Take one chunk; return what of it can be shown at once."""
        if problem := chunk.get("error"):
            message = cast("Mapping[str, Any]", problem).get("message") if _is_object(problem) else problem
            raise BrokenAnswer(f"broke off: {' '.join(str(message).split())[:200]}")
        if _is_object(usage := chunk.get("usage")):
            self._usage = cast("Mapping[str, Any]", usage)
        if _is_object(timings := chunk.get("timings")):
            self._timings = cast("Mapping[str, Any]", timings)
        choices = chunk.get("choices")
        if not isinstance(choices, Sequence) or not choices:
            return []
        choice = cast("Mapping[str, Any]", choices[0])
        # A server that does not stream sends the whole message at once.
        delta = choice.get("delta") or choice.get("message") or {}
        if not _is_object(delta):
            raise BrokenAnswer("sent an answer that can't be read; is it an OpenAI-compatible endpoint?")
        shown = self._take_delta(cast("Mapping[str, Any]", delta))
        if reason := choice.get("finish_reason"):
            if reason not in _REASONS:
                raise BrokenAnswer(f"ended its answer for another reason ({str(reason)[:40]}).")
            self.reason = _REASONS[reason]
        return shown

    def _take_delta(self, delta: Mapping[str, Any]) -> list[TextDelta | ReasoningDelta]:
        shown: list[TextDelta | ReasoningDelta] = []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            shown.append(ReasoningDelta(reasoning))
        if isinstance(text := delta.get("content"), str) and text:
            shown.append(TextDelta(text))
        for piece in delta.get("tool_calls") or ():
            self._take_call(cast("Mapping[str, Any]", piece))
        if shown or delta.get("tool_calls"):
            self.begun = True
            self._pieces += 1
        return shown

    def _take_call(self, piece: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(self._place_of(piece), _Call())
        if len(self._calls) > _MOST_CALLS:
            raise BrokenAnswer(f"wrote more than {_MOST_CALLS} calls at once; none of them is run.")
        call.call_id = call.call_id or str(piece.get("id") or "")
        function = piece.get("function") or {}
        if name := function.get("name"):
            call.name = call.name or str(name)
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):  # some servers send them as an object
            call.arguments = json.dumps(arguments)
        elif arguments:
            call.arguments += str(arguments)
        if len(call.arguments) > _LONGEST_ARGUMENTS:
            raise BrokenAnswer("wrote a call without an end; it is not run.")

    def _place_of(self, piece: Mapping[str, Any]) -> int:
        """Return which call a piece belongs to: by its index, else its id, else the last."""
        if isinstance(index := piece.get("index"), int):
            return index
        last = max(self._calls, default=-1)
        call_id = piece.get("id")
        for place, call in self._calls.items():
            if call_id and call.call_id == call_id:
                return place
        return last + 1 if call_id or last < 0 else last


def events_of_line(line: str, answer: Answer) -> list[TextDelta | ReasoningDelta]:
    """Take one line of a stream of server-sent events (or a whole JSON body); return what can be shown.

    Raises `BrokenAnswer` where it can't be read.
    """
    if line.startswith("data:"):
        line = line.removeprefix("data:").strip()
    elif not line.startswith("{"):
        return []  # comments, event names and the empty lines between events
    if line == "[DONE]":
        answer.ended = True
        return []
    if not line:
        return []
    try:
        chunk: Any = json.loads(line)
    except ValueError as error:
        raise BrokenAnswer("sent an answer that is not valid JSON; ask again.") from error
    if not _is_object(chunk):
        raise BrokenAnswer("sent an answer that can't be read; is it an OpenAI-compatible endpoint?")
    return answer.take(cast("Mapping[str, Any]", chunk))


def _is_object(value: object) -> bool:
    return isinstance(value, Mapping)


def _count(numbers: Mapping[str, Any], name: str) -> float | int | Any:
    value = numbers.get(name)
    return value if isinstance(value, int | float) else 0
