"""Holds the decoder to a grammar, from the first token of a call to its last."""

from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import llguidance
import numpy as np
from llguidance.llamacpp import lltokenizer_from_vocab
from numpy.typing import NDArray

from botpsy_tui.engine.dialects import Dialect, Opening
from botpsy_tui.engine.grammar import Grammar, Words, callable_tools, choice, literal
from botpsy_tui.engine.runtime import Runtime
from botpsy_tui.engine.types import EngineError, ToolSchema

_guidance: Any = llguidance  # the module carries no complete types

_PLAIN_TEXT = r"start: /[^{<`\s](?s:.*)/"
_MOST_KEPT = 64
"""Compiled grammars that are kept, the least lately used given up first; each takes some 100 kB."""


class GrammarRefused(EngineError):
    """llguidance can't compile a grammar."""


class Constraint:
    """Text that is being written under one grammar."""

    def __init__(self, matcher: Any, vocabulary_size: int) -> None:
        self._matcher = matcher
        self._size = vocabulary_size

    @property
    def complete(self) -> bool:
        """True once all that the grammar asks for has been written."""
        return bool(self._matcher.is_accepting() or self._matcher.is_stopped())

    def mask(self, logits: NDArray[np.float32]) -> None:
        """Rule out, in place, every token that the grammar does not allow next."""
        allowed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        bits = np.unpackbits(allowed, bitorder="little")[: self._size]
        logits[: len(bits)][bits == 0] = -np.inf

    def take(self, token: int) -> list[int]:
        """Take a chosen token; return those that must follow it, already taken."""
        self._consume([token])
        return self.forced()

    def forced(self) -> list[int]:
        """Take all tokens that must come now; return them."""
        tokens: list[int] = [] if self.complete else list(self._matcher.compute_ff_tokens())
        self._consume(tokens)
        return tokens

    def _consume(self, tokens: Sequence[int]) -> None:
        if tokens and not self._matcher.consume_tokens(list(tokens)):
            raise EngineError(f"The call left its grammar: {self._matcher.get_error()}.")


class Constrainer:
    """Makes constraints for one model, from a table of its tokens that takes a second to build.

    llguidance can't write that table to disk, so it is built anew for every loaded model, by a
    thread of its own while the prompt is read.
    """

    def __init__(self, runtime: Runtime, dialect: Dialect) -> None:
        self.runtime = runtime
        self.dialect = dialect
        self._builder = ThreadPoolExecutor(1, thread_name_prefix="token table")
        self._table: Future[Any] | None = None
        self._compiled: OrderedDict[str, Any] = OrderedDict()

    def warm_up(self) -> None:
        """Begin to build the table, and return."""
        if self._table is None:
            self._table = self._builder.submit(lltokenizer_from_vocab, self.runtime.vocabulary_pointer())

    def close(self) -> None:
        """Wait until the table's thread needs the model no more; to be called before the model is freed."""
        self._builder.shutdown()

    def begin(
        self, opening: Opening, tools: Sequence[ToolSchema], words: Words
    ) -> tuple[Constraint, list[int]] | None:
        """Begin to hold a call that was just opened.

        Returns the constraint and the tokens that must come first, already taken; or None where
        what is already written does not fit a grammar and can only be parsed.
        """
        allowed = callable_tools(tools, words)
        if not allowed:
            return None
        constraint = _CallConstraint(self, opening.opener, allowed, words)
        return (constraint, constraint.forced()) if constraint.reads(opening.overhang) else None

    def plain_text(self) -> Constraint:
        """Begin to hold an answer that must be text: its first character opens no call."""
        return Constraint(self.matcher(_PLAIN_TEXT), self.runtime.vocabulary_size)

    # -- for the constraints

    def matcher(self, grammar: str) -> Any:
        """Return a new matcher at the beginning of a grammar, which is compiled once."""
        matcher = self._compiled.get(grammar)
        if matcher is None:
            matcher = _guidance.LLMatcher(self.table, _guidance.LLMatcher.grammar_from_lark(grammar))
            if matcher.is_error():
                raise GrammarRefused(f"The tools' schemas make no grammar: {matcher.get_error()}")
            self._compiled[grammar] = matcher
            if len(self._compiled) > _MOST_KEPT:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(grammar)
        return matcher.deep_copy()

    @property
    def table(self) -> Any:
        """llguidance's table of the model's tokens, waited for."""
        self.warm_up()
        assert self._table is not None
        return self._table.result()

    def special(self, marker: str) -> str | None:
        """Return what stands in a grammar for a marker that is one special token; None if it is text."""
        tokens = self.runtime.tokenize(marker)
        if len(tokens) == 1 and self.table.is_special_token(tokens[0]):
            return f"<[{tokens[0]}]>"
        return None


class _CallConstraint(Constraint):
    """A call that is being written: first a tool's name, then that tool's arguments.

    Names and arguments are grammars of their own, so that only the chosen tool's is compiled for
    the person's words, and those that do not depend on them are never compiled twice.
    """

    def __init__(
        self, constrainer: Constrainer, opener: str, tools: Sequence[ToolSchema], words: Words
    ) -> None:
        self._constrainer = constrainer
        self._dialect = constrainer.dialect
        self._opener = opener
        self._tools = {tool.name: tool for tool in tools}
        self._words = words
        self._written = b""
        self._names = True
        super().__init__(
            self._matcher_of_names(self._dialect.lead(opener)), constrainer.runtime.vocabulary_size
        )

    @property
    def complete(self) -> bool:
        """True once the call, and all that follow within the same opening, are at their end."""
        return not self._names and super().complete

    def forced(self) -> list[int]:
        """Take all tokens that must come now, from the name on into the arguments; return them."""
        forced: list[int] = []
        while tokens := super().forced():
            forced += tokens
        return forced

    def reads(self, text: str) -> bool:
        """Take text that was written before the grammar was there; False where it does not fit."""
        for byte in text.encode():
            tokens = self._constrainer.table.tokenize_bytes(bytes([byte]))
            if self.complete or self._matcher.try_consume_tokens(tokens) != len(tokens):
                return False
            self._wrote(tokens)
        return True

    def _consume(self, tokens: Sequence[int]) -> None:
        super()._consume(tokens)
        self._wrote(tokens)

    def _wrote(self, tokens: Sequence[int]) -> None:
        """Go on to the next part of the call where one has been written to its end."""
        self._written += b"".join(map(self._constrainer.runtime.piece, tokens))
        if not super().complete:
            return
        written, self._written = self._written.decode(errors="replace"), b""
        if self._names:
            name = written.removeprefix(self._lead).removesuffix(self._dialect.name_end)
            self._matcher = self._matcher_of_arguments(self._tools[name])
            self._names = False
        elif self._dialect.joint and written.endswith(self._dialect.joint):
            self._matcher = self._matcher_of_names(" ")
            self._names = True

    def _matcher_of_names(self, lead: str) -> Any:
        self._lead = lead
        names = choice([literal(lead + name + self._dialect.name_end) for name in self._tools])
        return self._constrainer.matcher(f"start: {names}")

    def _matcher_of_arguments(self, tool: ToolSchema) -> Any:
        try:
            return self._compiled(tool, patterns=True)
        except GrammarRefused:
            # A pattern may look ahead or behind, which no grammar can; validation still holds it.
            return self._compiled(tool, patterns=False)

    def _compiled(self, tool: ToolSchema, *, patterns: bool) -> Any:
        grammar = Grammar(self._words, self._constrainer.special, patterns=patterns)
        return self._constrainer.matcher(grammar.text(self._dialect.arguments(self._opener, tool, grammar)))
