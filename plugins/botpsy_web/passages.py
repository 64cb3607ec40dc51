"""Cuts a page's text to what was asked: a part after the other, or the passages that fit a question."""

import math
import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)?")
_LONGEST_BLOCK = 700
_GAP = "…"
_NOT_ASKED = frozenset(
    _WORD.findall(
        """
    a an and are at be by can could did do does find for from get give go has have how i in is it its look
    me my of on or open out page please read say says see show site so summarise summarize summary tell text
    than that the their then there they this to up us was web website were what when where which who why
    will with would you your link url address article http https www com org net html about
        """
    )
)
"""Words that say how to look, not for what."""


def asked_words(sentence: str) -> frozenset[str]:
    """Return the words of a sentence that a page may have an answer to; addresses are not among them."""
    without_addresses = re.sub(r"\S*(?:://|www\.)\S+", " ", sentence)
    return frozenset(
        _stem(word) for word in _words(without_addresses) if len(word) > 1 and word not in _NOT_ASKED
    )


def parts_of(blocks: Sequence[str], size: int) -> list[str]:
    """Return a text in parts of at most `size` characters, cut between blocks where that can be."""
    parts: list[str] = []
    current: list[str] = []
    for block in _no_longer_than(blocks, size):
        if current and sum(map(len, current)) + len(current) + len(block) > size:
            # A heading belongs to what comes after it.
            carried = [current.pop()] if len(current) > 1 and current[-1].startswith("# ") else []
            parts.append("\n".join(current))
            current = carried
        current.append(block)
    return [*parts, "\n".join(current)] if current else parts


def fitting(blocks: Sequence[str], words: frozenset[str], size: int) -> str:
    """Return the blocks that fit those words best, in their order, up to `size` characters; or nothing.

    Ranked as search engines do it (BM25): rare words count for more, long blocks for less. A
    heading lends its words to the blocks below it, and goes with them.
    """
    blocks = _no_longer_than(blocks, _LONGEST_BLOCK)
    headings = _headings(blocks)
    counted = [
        Counter(map(_stem, _words(block if at is None else f"{blocks[at]} {block}")))
        for block, at in zip(blocks, headings, strict=True)
    ]
    average = max(1.0, sum(c.total() for c in counted) / max(1, len(counted)))
    rarity = {word: _rarity(sum(word in c for c in counted), len(counted)) for word in words}

    def score(count: Counter[str]) -> float:
        longer = 1.5 * (0.25 + 0.75 * count.total() / average)
        return sum(rarity[word] * count[word] * 2.5 / (count[word] + longer) for word in words)

    scores = [0.0 if block.startswith("# ") else score(c) for block, c in zip(blocks, counted, strict=True)]
    chosen: set[int] = set()
    used = 0
    for index in sorted(range(len(blocks)), key=lambda i: -scores[i]):
        wanted = {index} | ({at} if (at := headings[index]) is not None else set())
        more = sum(len(blocks[i]) + 3 for i in wanted - chosen)
        if scores[index] <= 0:
            break
        if used + more <= size:
            chosen |= wanted
            used += more
    lines: list[str] = []
    for before, index in zip([-1, *sorted(chosen)], sorted(chosen), strict=False):
        lines += [*([_GAP] if index > before + 1 and before >= 0 else []), blocks[index]]
    return "\n".join(lines)


def _rarity(holding: int, all_blocks: int) -> float:
    return math.log(1 + (all_blocks - holding + 0.5) / (holding + 0.5))


def _headings(blocks: Sequence[str]) -> list[int | None]:
    """Return for each block the place of the heading that it stands under."""
    found: list[int | None] = []
    last: int | None = None
    for i, block in enumerate(blocks):
        heading = block.startswith("# ")
        found.append(None if heading else last)
        last = i if heading else last
    return found


def _no_longer_than(blocks: Sequence[str], size: int) -> list[str]:
    """Return the blocks, the long ones cut at the end of a sentence, else of a word."""
    pieces: list[str] = []
    for block in blocks:
        while len(block) > size:
            ends = [m.end() for m in re.finditer(r"[.!?。]\s", block[:size])]
            space = block.rfind(" ", 0, size)
            at = ends[-1] if ends and ends[-1] > size // 3 else space if space > size // 3 else size
            pieces.append(block[:at].rstrip())
            block = block[at:].lstrip()
        if block:
            pieces.append(block)
    return pieces


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stem(word: str) -> str:
    """Return what a word and its plural have in common: enough to find one by the other."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
