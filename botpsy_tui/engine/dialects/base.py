"""What every dialect tells of itself: how its calls are read, and how the decoder is held to them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from botpsy_tui.engine.dialects.stream import THINK_CLOSE, Reading, StreamParser
from botpsy_tui.engine.grammar import Grammar
from botpsy_tui.engine.types import ToolCall, ToolSchema


class Dialect(ABC):
    """A family's way of writing tool calls."""

    name: ClassVar[str]
    calls_tools: ClassVar[bool] = True
    reasoning_end: ClassVar[str] = f"\n{THINK_CLOSE}\n\n"
    """What closes the reasoning, as the template itself writes it."""
    opener: ClassVar[str] = ""
    """What a call begins with, as the template itself writes it."""
    decides_first: ClassVar[bool] = False
    """True where models of this family are held to choose between the tools and a reply first.

    A general model of this size that has answered a few times goes on answering, and claims
    deeds it has not done. Asked for a tool's name, with a reply among the names, it chooses well.
    """
    slips: ClassVar[Mapping[str, str]] = {}
    """What this family begins a call with by mistake, and the opener it stands for.

    Looked at where an answer begins: the token is not decoded yet and is replaced for nothing.
    """

    name_end: ClassVar[str] = ""
    """What stands after a tool's name in a call."""
    joint: ClassVar[str] = ""
    """What stands between two calls of one opening, where a call may be followed by another."""

    @abstractmethod
    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a new parser for one turn of the model."""

    @abstractmethod
    def lead(self, opener: str) -> str:
        """Return what stands between an opener, or a `joint`, and the tool's name."""

    @abstractmethod
    def arguments(self, opener: str, tool: ToolSchema, grammar: Grammar) -> str:
        """Return, as Lark, what follows `name_end`: the arguments, and the call's end or a `joint`.

        Written as the family's own template writes it, so that the next prompt, in which the call
        is history, goes on from the very tokens that were generated.
        """

    def written(self, calls: Sequence[ToolCall], *, after: str) -> str | None:
        """Return calls as text that follows `after`, where the template can't be trusted with them."""
        return None


class PlainParser(StreamParser):
    """Text and reasoning only."""

    def read_call(self, opener: str, text: str, *, ended: bool) -> Reading | None:
        """Never called: there are no openers."""
        return Reading(is_text=True)


class PlainDialect(Dialect):
    """A model whose template knows no tools: it can talk, not act."""

    name = "plain"
    calls_tools = False

    def parser(self, tools: Sequence[ToolSchema], *, in_reasoning: bool = False) -> StreamParser:
        """Return a parser that finds no calls."""
        return PlainParser((), in_reasoning=in_reasoning)

    def lead(self, opener: str) -> str:
        """Never called: there are no openers."""
        raise NotImplementedError

    def arguments(self, opener: str, tool: ToolSchema, grammar: Grammar) -> str:
        """Never called: there are no openers."""
        raise NotImplementedError
