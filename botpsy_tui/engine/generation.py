"""One turn of the model, on the decoding thread: read the prompt, then write token by token."""

import codecs
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from botpsy_tui.engine.checkpoints import Mark
from botpsy_tui.engine.constraint import Constrainer, Constraint
from botpsy_tui.engine.dialects import Dialect, StreamParser
from botpsy_tui.engine.grammar import Words
from botpsy_tui.engine.marks import marks_ahead, marks_of, placed
from botpsy_tui.engine.memory import ContextMemory
from botpsy_tui.engine.repetition import RepetitionWatch
from botpsy_tui.engine.runtime import DecodeAborted, Runtime
from botpsy_tui.engine.sampling import Sampler, layered, recommended
from botpsy_tui.engine.template import ChatTemplate
from botpsy_tui.engine.types import (
    CallWritten,
    ContextFull,
    Finished,
    PromptProgress,
    Request,
    Sampling,
    SessionEvent,
    Statistics,
    StopReason,
    ToolSchema,
)

_REPLY = ToolSchema(
    "reply",
    "Answer without a tool: greetings, thanks, small talk, any question that is not about the calendar.",
    {"type": "object", "properties": {}},
)
"""What can be chosen in place of a tool; see `Dialect.decides_first`."""

_ROOM_FOR_ANSWER = 64
_MOST_CALLS_AT_ONCE = 8


@dataclass
class Generation:
    """Everything one turn needs; `run` does it, calling `emit` for each event."""

    runtime: Runtime
    memory: ContextMemory
    template: ChatTemplate
    dialect: Dialect
    constrainer: Constrainer
    request: Request
    thinking: bool
    """What the request's `thinking` comes to for this model."""
    family: Sampling
    """What the model's family is known to want; the file's own word goes first."""
    emit: Callable[[SessionEvent], None]
    cancelled: Callable[[], bool]
    ahead: bool = False
    """The prompt is read ahead of need, its last message a stand-in for what the person will say."""

    _prompt: list[int] = field(default_factory=list[int])
    _marks: list[Mark] = field(default_factory=list[Mark])
    _reused: int = 0
    _decoded: int = 0
    _generated: int = 0
    _reasoned: int = 0
    _calls: int = 0
    _replies: bool = False
    _watch: RepetitionWatch = field(default_factory=RepetitionWatch)
    _prompt_seconds: float = 0.0
    _started: float = field(default_factory=time.perf_counter)

    def read_prompt(self) -> bool:
        """Bring the context memory to the request's prompt; return whether it ends in reasoning.

        Raises `ContextFull` with nothing decoded, or `DecodeAborted`.
        """
        rendered = self.template.render(self.request.messages, self._declared(), thinking=self.thinking)
        prompt = self._prompt = self.runtime.tokenize(rendered.text)
        if len(prompt) + _ROOM_FOR_ANSWER > self.runtime.context_size:
            raise ContextFull(
                f"This conversation has grown to {len(prompt)} tokens, more than the context of "
                f"{self.runtime.context_size} can hold; start a new one."
            )
        marks = marks_ahead(rendered) if self.ahead else marks_of(rendered)
        # Where a reply may be chosen, the prompt is gone back to, and its last token read for its logits.
        last = len(prompt) - self._has_to_decide
        self._marks = placed(marks, rendered.text, prompt, self.runtime.piece, last=last)
        self._reused = self._bring_to_prompt(self.emit)
        self._prompt_seconds = time.perf_counter() - self._started
        return rendered.opens_reasoning

    def run(self) -> None:
        """Do the whole turn; the last event is `Finished`."""
        self.runtime.abort_when(self.cancelled)
        try:
            in_reasoning = self.read_prompt()
        except DecodeAborted:
            self.emit(Finished("cancelled", self.statistics()))
            return
        asked = self.request.sampling or Sampling()
        sampler = Sampler(layered(asked, recommended(self.runtime), self.family))
        tools = self._tools()
        parser = self.dialect.parser(tools, in_reasoning=in_reasoning)
        try:
            if self._has_to_decide and not in_reasoning:
                reason = self._write(parser, sampler, begin_with=self.dialect.opener)
                if self._replies:
                    self._replies = False
                    parser = self.dialect.parser((), in_reasoning=in_reasoning)
                    self._bring_to_prompt(lambda _progress: None)
                    reason = self._write(
                        parser, sampler, constraint=self.constrainer.plain_text(), decides=False
                    )
            else:
                reason = self._write(parser, sampler)
        except DecodeAborted:
            reason = "cancelled"
        finally:
            sampler.close()
        events, unfinished = parser.finish()
        for event in events:
            # A call that was cut off by the limit or by the person is never an action.
            if not (isinstance(event, CallWritten) and reason != "end"):
                self.emit(event)
        self.emit(Finished(reason, self.statistics(), unfinished))

    def _bring_to_prompt(self, emit: Callable[[PromptProgress], None]) -> int:
        """Read what the context lacks of the prompt; return how many tokens it had already."""
        before = self._decoded

        def on_progress(done: int, total: int) -> None:
            self._decoded = before + done
            emit(PromptProgress(done, total))

        return self.memory.read(self._prompt, self._marks, on_progress)

    def statistics(self) -> Statistics:
        """Return what the turn has cost so far."""
        return Statistics(
            prompt_tokens=len(self._prompt),
            reused_tokens=self._reused,
            decoded_tokens=self._decoded,
            generated_tokens=self._generated,
            prompt_seconds=self._prompt_seconds,
            generation_seconds=time.perf_counter() - self._started - self._prompt_seconds,
            context_used=len(self.memory.tokens),
            context_size=self.runtime.context_size,
        )

    def _write(
        self,
        parser: StreamParser,
        sampler: Sampler,
        *,
        begin_with: str = "",
        constraint: Constraint | None = None,
        decides: bool = True,
    ) -> StopReason:
        """Write until the model ends its turn; `begin_with` is written for it.

        With `decides`, the answer's beginning is where the model decides whether to call a tool.
        """
        text_of = codecs.getincrementaldecoder("utf-8")(errors="replace")
        words = Words(self.request.words, self.request.references)
        room = min(self.request.max_tokens, self.runtime.context_size - len(self.memory.tokens) - 1)
        undecided = decides and bool(self._tools())
        while self._generated < room:
            if self.cancelled():
                return "cancelled"
            reasoning = parser.in_reasoning
            if begin_with:
                written, begin_with = self.runtime.tokenize(begin_with), ""
            elif reasoning and self._has_reasoned_enough:
                written = self._end_of_reasoning(text_of)
            else:
                if constraint is not None:
                    constraint.mask(self.runtime.logits())
                exact = undecided or parser.in_call or self._retells
                token = sampler.next_token(self.runtime, exact=exact and not reasoning)
                if not self.runtime.ends_generation(token):
                    written = self._opening_mended(token) if undecided and not reasoning else [token]
                elif reasoning:
                    written = self._end_of_reasoning(text_of)  # it has forgotten to answer
                else:
                    return "end"
                if constraint is not None:
                    written += constraint.take(token)
                    if constraint.complete:
                        constraint = None
            text = self._feed(parser, text_of, written)
            if reasoning:
                self._reasoned += len(written)
            elif text.strip():
                undecided = False
            if parser.opening is not None and constraint is None:
                begun = self.constrainer.begin(parser.opening, self._callable(), words)
                if begun is not None:
                    constraint, forced = begun
                    text += self._feed(parser, text_of, forced)
                    written += forced
            if self._replies or self._calls >= _MOST_CALLS_AT_ONCE:
                return "end"
            if self._watch.repeats(text):
                if not parser.in_reasoning:
                    return "repeated"
                self._reasoned = max(self._reasoned, self.request.reasoning_tokens)
            if len(self.memory.tokens) + len(written) >= self.runtime.context_size:
                return "length"
            self.memory.decode(written)
        return "length"

    @property
    def _has_reasoned_enough(self) -> bool:
        return self._reasoned >= self.request.reasoning_tokens

    def _end_of_reasoning(self, text_of: codecs.IncrementalDecoder) -> list[int]:
        """Return what closes the reasoning; the answer is watched for loops of its own."""
        text_of.reset()  # a character may have been cut in two
        self._watch = RepetitionWatch()
        return self.runtime.tokenize(self.dialect.reasoning_end)

    def _opening_mended(self, token: int) -> list[int]:
        """Return the answer's first token, or the call opener that it was meant to be."""
        begun = self.runtime.piece(token).decode(errors="replace").lstrip()
        if begun:
            for slip, opener in self.dialect.slips.items():
                if begun.startswith(slip):
                    return self.runtime.tokenize(opener)
        return [token]

    def _feed(self, parser: StreamParser, text_of: codecs.IncrementalDecoder, tokens: Sequence[int]) -> str:
        """Give tokens to the parser and its events to the listener; return their text."""
        self._generated += len(tokens)
        text = text_of.decode(b"".join(map(self.runtime.piece, tokens)))
        for event in parser.feed(text):
            if isinstance(event, CallWritten):
                if event.call.name == _REPLY.name:
                    self._replies = True
                    continue
                self._calls += 1
            self.emit(event)
        return text

    def _tools(self) -> Sequence[ToolSchema]:
        return self.request.tools if self.dialect.calls_tools else ()

    def _declared(self) -> Sequence[ToolSchema]:
        """Return the tools as the prompt names them, the same in every step."""
        return declared_tools(self.request.tools, self.dialect)

    def _callable(self) -> Sequence[ToolSchema]:
        """Return the tools that a call in this step may name."""
        return self._declared() if self._has_to_decide else self._tools()

    @property
    def _has_to_decide(self) -> bool:
        """True where the person has just spoken, and the model is to choose before it talks."""
        spoke = self.request.messages[-1].role == "user"
        return bool(self._tools()) and self.dialect.decides_first and spoke and not self.thinking

    @property
    def _retells(self) -> bool:
        """True where a tool has just answered: times and names are told as they are."""
        return self.request.messages[-1].role == "tool"


def declared_tools(tools: Sequence[ToolSchema], dialect: Dialect) -> Sequence[ToolSchema]:
    """Return the tools that a prompt names, for a request with these."""
    if not tools or not dialect.calls_tools:
        return ()
    return [*tools, _REPLY] if dialect.decides_first else tools
