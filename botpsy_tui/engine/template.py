"""Renders a conversation with the model's own chat template, in a sandbox."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from botpsy_tui.engine.dialects import dialect_of
from botpsy_tui.engine.types import EngineError, Message, ToolCall, ToolSchema

_PROBES = ("a", "b")


class _GenerationBlock(Extension):
    """Lets ``{% generation %}`` blocks be: templates mark with them what a model is trained to write."""

    tags = {"generation"}  # noqa: RUF012 - as jinja2 declares it

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return what stands in the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


@dataclass(frozen=True)
class RenderedPrompt:
    """A prompt, and the places in it where later prompts are likely to diverge."""

    text: str
    constant: int
    """Characters that stay the same whatever the person says."""
    persons: tuple[int, ...]
    """Where in `text` each message of the person begins."""
    next_step: int
    """Characters that will stay when a call and its result have been added; 0 where there are no tools."""
    next_turn: int
    """Characters that will stay when the person goes on after the answer."""
    opens_reasoning: bool
    """True where the prompt ends inside the model's reasoning."""


class ChatTemplate:
    """A GGUF's chat template.

    Special tokens written out in a message's text are broken up before rendering, so that
    nobody can end a turn, or forge one, by writing ``<|im_end|>`` into a mail. Where a family's
    templates leave calls out, or write them otherwise than its models do, its dialect writes them.
    """

    def __init__(
        self, source: str, special_tokens: frozenset[str] = frozenset(), *, beginning: str = ""
    ) -> None:
        """`beginning` is the token that the model's prompts begin with, if they do."""
        self._source = source
        self._dialect = dialect_of(source)
        self._beginning = beginning
        self._special = sorted((t for t in special_tokens if len(t) > 2), key=len, reverse=True)
        environment: Any = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _GenerationBlock]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise
        environment.globals["strftime_now"] = _strftime_now
        try:
            self._template = environment.from_string(source)
        except TemplateError as error:
            raise EngineError(f"The model's chat template can't be read: {error}.") from error

    @property
    def source(self) -> str:
        """The template's text."""
        return self._source

    @property
    def thinks_by_default(self) -> bool:
        """True where the template opens the reasoning unless it is told not to, as larger models' do."""
        probe: dict[str, Any] = {
            "messages": [{"role": "user", "content": _PROBES[0]}],
            "tools": None,
            "add_generation_prompt": True,
            "bos_token": self._beginning,
            "eos_token": "",
        }
        try:
            default, on, off = (
                self._template.render(**probe, **switch)
                for switch in ({}, {"enable_thinking": True}, {"enable_thinking": False})
            )
        except (TemplateError, TypeError, ValueError):
            return False
        return default == on != off

    def render(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema] = (), *, thinking: bool = False
    ) -> RenderedPrompt:
        """Render `messages` up to where the model goes on writing. Raises `EngineError`."""
        text = self._render(messages, tools, thinking)

        def stays(*later: Message) -> int:
            try:
                return len(_common(text, self._render([*messages, *later], tools, thinking)))
            except EngineError:  # not every template takes every order of messages
                return 0

        reasoning = _PROBES[0] if thinking else ""
        answer = Message("assistant", _PROBES[0], reasoning=reasoning)
        calls = [Message("assistant", "", (ToolCall(tool.name, {}),), reasoning) for tool in tools[:1]]
        return RenderedPrompt(
            text,
            constant=len(_common(text, self._constant_part(messages, tools, thinking))),
            persons=tuple(self._persons(text, messages)),
            next_step=stays(calls[0], Message("tool", _PROBES[0])) if calls else 0,
            next_turn=stays(answer, Message("user", _PROBES[0])),
            opens_reasoning=text.rstrip().endswith("<think>"),
        )

    def _persons(self, text: str, messages: Sequence[Message]) -> Iterator[int]:
        """Find where the person's messages begin; one that the template has changed is passed over."""
        begin = 0
        for message in messages:
            content = self.defuse(message.content).strip()
            if message.role == "user" and content:
                found = text.find(content, begin)
                if found >= 0:
                    yield found
                    begin = found + len(content)

    def transcript(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = ()) -> str:
        """Render a finished conversation, with no generation prompt at its end. Raises `EngineError`."""
        return self._render(messages, tools, thinking=False, generation=False)

    def text(self, messages: Sequence[Message], tools: Sequence[ToolSchema] = (), *, thinking: bool) -> str:
        """Render `messages` as `render` does, the text alone. Raises `EngineError`."""
        return self._render(messages, tools, thinking)

    def _constant_part(self, messages: Sequence[Message], tools: Sequence[ToolSchema], thinking: bool) -> str:
        """Return what stays the same whatever the person says."""
        system = [m for m in messages if m.role == "system"]
        one, other = (
            self._render([*system, Message("user", probe)], tools, thinking, generation=False)
            for probe in _PROBES
        )
        return _common(one, other)

    def _render(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        thinking: bool,
        *,
        generation: bool = True,
    ) -> str:
        try:
            text = self._template.render(
                messages=[self._as_dict(m) for m in messages],
                tools=[declaration(t) for t in tools] or None,
                add_generation_prompt=generation,
                enable_thinking=thinking,
                bos_token=self._beginning,
                eos_token="",
            )
            return text if text.startswith(self._beginning) else self._beginning + text
        except (TemplateError, TypeError, ValueError) as error:
            raise EngineError(
                f"The model's chat template can't render this conversation: {error}."
            ) from error

    def _as_dict(self, message: Message) -> dict[str, Any]:
        message = replace(message, content=self.defuse(message.content))
        result: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.reasoning:
            result["reasoning_content"] = result["thinking"] = self.defuse(message.reasoning)
        calls = [ToolCall(call.name, self._defused(call.arguments)) for call in message.tool_calls]
        written = self._dialect.written(calls, after=message.content) if calls else None
        if written is not None:
            result["content"] += written
        elif calls:
            result["tool_calls"] = [
                {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in calls
            ]
        return result

    def _defused(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.defuse(value)
        if isinstance(value, Mapping):
            return {k: self._defused(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list):
            return [self._defused(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
        return value

    def defuse(self, text: str) -> str:
        """Return `text` with a space put into every special token that is written out in it."""
        if "<" not in text and "[" not in text:
            return text
        for token in self._special:
            if token in text:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


def special_tokens_in(source: str) -> frozenset[str]:
    """Return the special tokens that a template writes, for when there is no vocabulary at hand."""
    return frozenset(re.findall(r"<\|[\w-]+\|>|</?(?:think|tool_call|tool_response)>", source))


def declaration(tool: ToolSchema) -> dict[str, Any]:
    """Return a tool as templates and endpoints are told of it, in OpenAI's form."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": _public(tool.parameters),
        },
    }


def _public(schema: Any) -> Any:
    """Return a JSON schema without what only the decoder needs to know."""
    if isinstance(schema, Mapping):
        return {k: _public(v) for k, v in schema.items() if not str(k).startswith("x-botpsy")}  # pyright: ignore
    if isinstance(schema, list):
        return [_public(v) for v in schema]  # pyright: ignore[reportUnknownVariableType]
    return schema


def _to_json(value: Any, indent: int | None = None, **_options: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now(UTC).strftime(form)


def _common(a: str, b: str) -> str:
    length = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return a[:length]
