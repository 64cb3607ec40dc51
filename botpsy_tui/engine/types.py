"""What goes into a session and what comes out: messages, tool schemas, requests, events."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

KvType = Literal["f16", "q8_0"]
"""How keys and values of a context are kept."""

CHECKPOINT_BYTES = 96_000_000
"""What the states to go back to may take together, where nothing else is said."""

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class ToolSchema:
    """A tool as the model sees it: a name, a description, a JSON schema of its arguments.

    A string property may carry ``x-botpsy-source``: ``user-words`` (the text must be a span of
    `Request.words`), ``user-address`` (a web address in them), ``reference:KIND`` (one of
    `Request.references[KIND]`), or several of these, joined by ``|``.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class ToolCall:
    """A complete call as the model wrote it, its arguments as JSON values."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    """What the assistant thought before `content`; templates show it to the model within the running turn."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; what is None is left to the model's own recommendation.

    All but `call_temperature`, `seed` and `logit_bias` is for free text: while a call is decided
    on or written, and while a tool's result is retold, there are no penalties (they break calls,
    and times that come twice), and `call_temperature` holds.
    """

    temperature: float | None = None
    """0 is greedy: always the likeliest token, the same run to run."""
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    """1 is none. Penalties look back on the last 64 tokens of free text, not on the prompt."""
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    call_temperature: float | None = None
    seed: int | None = None
    """The same seed gives the same text; None is a new one each time."""
    logit_bias: Mapping[int, float] | None = None
    """What is added to a token's logit, by token id."""


Thinking = Literal["auto", "on", "off"]
"""Whether the model reasons before it answers; ``auto``: where that is known to make it better."""


@dataclass(frozen=True)
class Request:
    """One turn of the model: the whole conversation so far, and what it may call."""

    messages: Sequence[Message]
    tools: Sequence[ToolSchema] = ()
    words: str = ""
    """What the person said in this turn; spans of it fill ``user-words`` arguments."""
    references: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    sampling: Sampling | None = None
    """None: all as the model recommends, else the engine's default."""
    thinking: Thinking = "auto"
    reasoning_tokens: int = 512
    """After this many tokens of reasoning the block is closed, and the answer begins."""
    max_tokens: int = 1024


@dataclass(frozen=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    """More of the model's reasoning."""

    text: str


@dataclass(frozen=True)
class PromptProgress:
    """How much of the prompt's new part has been read."""

    done: int
    total: int


@dataclass(frozen=True)
class CallWritten:
    """A complete tool call."""

    call: ToolCall


StopReason = Literal["end", "length", "cancelled", "repeated"]
"""Why a turn of the model ended; ``repeated``: it went round in circles and was stopped."""


@dataclass(frozen=True)
class Statistics:
    """What a turn of the model cost. Times in seconds."""

    prompt_tokens: int = 0
    """Tokens of the whole prompt."""
    reused_tokens: int = 0
    """Tokens of it that were in the context memory already, or came from the snapshot on disk."""
    decoded_tokens: int = 0
    """Prompt tokens that were read; those that had to be read twice count twice."""
    generated_tokens: int = 0
    prompt_seconds: float = 0.0
    generation_seconds: float = 0.0
    context_used: int = 0
    context_size: int = 0

    @property
    def tokens_per_second(self) -> float:
        """Generation speed, 0 where nothing was generated."""
        return self.generated_tokens / self.generation_seconds if self.generation_seconds > 0 else 0.0


@dataclass(frozen=True)
class Finished:
    """The end of the model's turn; always the last event."""

    reason: StopReason
    statistics: Statistics
    unfinished: str = ""
    """The text of a call that was begun and not completed; never an action."""


SessionEvent = TextDelta | ReasoningDelta | PromptProgress | CallWritten | Finished


class EngineError(Exception):
    """The model could not be loaded or run; the message says why and what to do."""


class ContextFull(EngineError):
    """The conversation is longer than the context."""


@dataclass(frozen=True)
class ModelInfo:
    """What a loaded model says of itself."""

    name: str
    architecture: str
    quantisation: str
    context_size: int
    dialect: str
    calls_tools: bool
    hybrid: bool = False
    """True where the memory is (partly) recurrent and cannot be cut."""
    endpoint: str = ""
    """Host and port where the model runs elsewhere."""
    adapters: tuple[str, ...] = ()
    """The LoRA adapters that are laid over it."""


class Session(Protocol):
    """A conversation partner: text in, events out."""

    @property
    def info(self) -> ModelInfo:
        """What model this is."""
        ...

    def stream(self, request: Request) -> AsyncIterator[SessionEvent]:
        """Run one turn of the model. Closing the iterator cancels it.

        Raises `ContextFull` before anything is generated, or `EngineError`.
        """
        ...

    async def count(self, request: Request) -> int:
        """Return how many tokens the request's prompt has: cheap for a conversation that grows.

        Rather too many than too few, where there is no tokenizer to ask.
        """
        ...

    async def prepare(self, request: Request) -> Statistics:
        """Read the request's prompt ahead of need, so that the next `stream` begins at once.

        Its last message stands for what the person will say.
        Cancelling it ends the reading; what has been read stays.
        """
        ...

    async def close(self) -> None:
        """Free the model."""
        ...
