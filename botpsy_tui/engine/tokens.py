"""Counts the tokens of rendered prompts: of a conversation that grows, only what is new."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache


class TokenCounter:
    """Counts a prompt message by message, each once.

    A tokenizer reads what stands between two special tokens on its own, so the pieces' counts add
    up to the whole's.
    """

    def __init__(self, tokenize: Callable[[str], list[int]], special_tokens: Iterable[str]) -> None:
        def count(piece: str) -> int:
            return len(tokenize(piece))

        # A special token may swallow the spaces before it; at such a one nothing is split.
        splits = [t for t in special_tokens if t and count(f"a \n{t}b") == count("a \n") + count(f"{t}b")]
        self._boundary = re.compile("|".join(f"(?={re.escape(t)})" for t in sorted(splits)) or "(?!)")
        self._count = lru_cache(maxsize=4096)(count)

    def count(self, text: str) -> int:
        """Return how many tokens `text` has."""
        return sum(self._count(piece) for piece in self._boundary.split(text) if piece)
