"""Holds the decoder to a grammar, from the first token of a call to its last."""

from collections.abc import Sequence
from typing import Any

import llguidance
import numpy as np
from llguidance.llamacpp import lltokenizer_from_vocab
from numpy.typing import NDArray

from botpsy_tui.engine.dialects import Dialect, Opening
from botpsy_tui.engine.grammar import Grammar, Words
from botpsy_tui.engine.runtime import Runtime
from botpsy_tui.engine.types import EngineError, ToolSchema

_guidance: Any = llguidance  # the module carries no complete types


_PLAIN_TEXT = r"start: /[^{<`\s](?s:.*)/"


class Constraint:
    """One call being written under a grammar."""

    def __init__(self, matcher: Any, vocabulary_size: int) -> None:
        self._matcher = matcher
        self._size = vocabulary_size

    @property
    def complete(self) -> bool:
        """True once the call has been written to its end."""
        return bool(self._matcher.is_accepting() or self._matcher.is_stopped())

    def mask(self, logits: NDArray[np.float32]) -> None:
        """Rule out, in place, every token that the grammar does not allow next."""
        allowed = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)
        bits = np.unpackbits(allowed, bitorder="little")[: self._size]
        logits[: len(bits)][bits == 0] = -np.inf

    def take(self, token: int) -> list[int]:
        """Take a chosen token; return those that must follow it, already taken."""
        self._consume([token])
        forced: list[int] = [] if self.complete else list(self._matcher.compute_ff_tokens())
        self._consume(forced)
        return forced

    def _consume(self, tokens: Sequence[int]) -> None:
        if tokens and not self._matcher.consume_tokens(list(tokens)):
            raise EngineError(f"The call left its grammar: {self._matcher.get_error()}.")


class Constrainer:
    """Makes constraints for one model. Its tokenizer table is built on first use (about a second)."""

    def __init__(self, runtime: Runtime, dialect: Dialect) -> None:
        self._runtime = runtime
        self._dialect = dialect
        self._tokenizer: Any = None

    def warm_up(self) -> None:
        """Build the tokenizer table."""
        if self._tokenizer is None:
            self._tokenizer = lltokenizer_from_vocab(self._runtime.vocabulary_pointer())

    def begin(
        self, opening: Opening, tools: Sequence[ToolSchema], words: Words
    ) -> tuple[Constraint, list[int]] | None:
        """Begin to hold a call that was just opened.

        Returns the constraint and the tokens that must come first, already taken; or None where
        what is already written does not fit a grammar and can only be parsed.
        """
        if opening.overhang.strip():
            return None
        self.warm_up()
        grammar = Grammar(self._is_special)
        if not grammar.callable_tools(tools, words):
            return None
        text = self._dialect.grammar(opening, tools, words, grammar)
        matcher = _guidance.LLMatcher(self._tokenizer, _guidance.LLMatcher.grammar_from_lark(text))
        if matcher.is_error():
            raise EngineError(f"The tools' schemas make no grammar: {matcher.get_error()}")
        forced = list(matcher.compute_ff_tokens())
        if forced:
            matcher.consume_tokens(forced)
        return Constraint(matcher, self._runtime.vocabulary_size), forced

    def plain_text(self) -> Constraint:
        """Begin to hold an answer that must be text: its first character opens no call."""
        self.warm_up()
        grammar = _guidance.LLMatcher.grammar_from_lark(_PLAIN_TEXT)
        return Constraint(_guidance.LLMatcher(self._tokenizer, grammar), self._runtime.vocabulary_size)

    def _is_special(self, marker: str) -> bool:
        tokens = self._runtime.tokenize(marker)
        return len(tokens) == 1 and bool(self._tokenizer.is_special_token(tokens[0]))
