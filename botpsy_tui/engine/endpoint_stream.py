"""An answer of an OpenAI-compatible endpoint, put together from the pieces it streams."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import BaseModel, ValidationError, field_validator

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


class _Function(BaseModel):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _CallPiece(BaseModel):
    index: int | None = None
    id: str | None = None
    function: _Function = _Function()


class _Delta(BaseModel):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(BaseModel):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Cached(BaseModel):
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None

    @property
    def cached(self) -> int:
        return (self.prompt_tokens_details and self.prompt_tokens_details.cached_tokens) or 0


class _Timings(BaseModel):
    """What llama-server adds; milliseconds."""

    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0


class _Problem(BaseModel):
    message: str = "without saying why"


class Chunk(BaseModel):
    """One ``chat.completion.chunk``, or a whole ``chat.completion``; what is not used is left out."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    timings: _Timings | None = None
    error: _Problem | None = None

    @field_validator("error", mode="before")
    @classmethod
    def _in_an_object(cls, value: object) -> object:
        return {"message": value} if isinstance(value, str) else value


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
    _usage: _Usage = field(default_factory=_Usage)
    _timings: _Timings = field(default_factory=_Timings)

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
        usage, timings = self._usage, self._timings
        generated = usage.completion_tokens or self._pieces
        return Statistics(
            prompt_tokens=usage.prompt_tokens,
            decoded_tokens=timings.prompt_n or max(usage.prompt_tokens - usage.cached, 0),
            generated_tokens=generated,
            prompt_seconds=timings.prompt_ms / 1000 or prompt_seconds,
            generation_seconds=timings.predicted_ms / 1000 or generation_seconds,
            context_used=usage.prompt_tokens + generated,
            context_size=context_size,
        )

    def take(self, chunk: "Chunk") -> list[TextDelta | ReasoningDelta]:
        """Take one chunk; return what of it can be shown at once. Raises `BrokenAnswer`."""
        if chunk.error is not None:
            raise BrokenAnswer(f"broke off: {' '.join(chunk.error.message.split())[:200]}")
        self._usage = chunk.usage or self._usage
        self._timings = chunk.timings or self._timings
        if not chunk.choices:
            return []
        choice = chunk.choices[0]
        # A server that does not stream sends the whole message at once.
        delta = choice.delta or choice.message or _Delta()
        shown: list[TextDelta | ReasoningDelta] = []
        if reasoning := delta.reasoning_content or delta.reasoning:
            shown.append(ReasoningDelta(reasoning))
        if delta.content:
            shown.append(TextDelta(delta.content))
        for piece in delta.tool_calls or ():
            self._take_call(piece)
        if shown or delta.tool_calls:
            self.begun = True
            self._pieces += 1
        if choice.finish_reason:
            if choice.finish_reason not in _REASONS:
                raise BrokenAnswer(f"ended its answer for another reason ({choice.finish_reason[:40]}).")
            self.reason = _REASONS[choice.finish_reason]
        return shown

    def _take_call(self, piece: "_CallPiece") -> None:
        call = self._calls.setdefault(self._place_of(piece), _Call())
        if len(self._calls) > _MOST_CALLS:
            raise BrokenAnswer(f"wrote more than {_MOST_CALLS} calls at once; none of them is run.")
        call.call_id = call.call_id or piece.id or ""
        call.name = call.name or piece.function.name or ""
        arguments = piece.function.arguments
        # Some servers send them as an object, and whole.
        call.arguments += json.dumps(arguments) if isinstance(arguments, dict) else arguments or ""
        if len(call.arguments) > _LONGEST_ARGUMENTS:
            raise BrokenAnswer("wrote a call without an end; it is not run.")

    def _place_of(self, piece: "_CallPiece") -> int:
        """Return which call a piece belongs to: by its index, else its id, else the last."""
        if piece.index is not None:
            return piece.index
        last = max(self._calls, default=-1)
        for place, call in self._calls.items():
            if piece.id and call.call_id == piece.id:
                return place
        return last + 1 if piece.id or last < 0 else last


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
        chunk = Chunk.model_validate_json(line)
    except ValidationError as error:
        what = "valid JSON" if error.errors()[0]["type"] == "json_invalid" else "of OpenAI's form"
        raise BrokenAnswer(f"sent an answer that is not {what}; ask again.") from error
    return answer.take(chunk)
