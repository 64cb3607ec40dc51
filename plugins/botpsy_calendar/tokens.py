"""Cuts what a person wrote into tokens for the grammar of dates: words, numbers, dates, clock times."""

import re
from dataclasses import dataclass

NUMBER_WORDS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20,
    "thirty": 30, "forty": 40, "sixty": 60, "ninety": 90, "few": 3, "couple": 2,
}  # fmt: skip
"""Numbers as people spell them out; "a few" is taken as three."""

_TOKEN = re.compile(
    r"""
    (?P<name>   [^\s@]+@[^\s@]+\.[^\s@]+ | https?://\S+ )
  | (?P<moment> \d{4}-\d{2}-\d{2}t\d{2}:?\d{2}(?::?\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?(?![\w:]) )
  | (?P<iso>    \d{4}-\d{1,2}-\d{1,2}(?!\w) )
  | (?P<dotted> \d{1,2}\.[ ]?\d{1,2}\.[ ]?(?:\d{4}(?!\d)|\d{2}(?![\d:.]))? (?!\d) )
  | (?P<slashed>\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\w/]) )
  | (?P<clock>  \d{1,2}:\d{2}(?::\d{2})?(?!\d) )
  | (?P<point>  \d{1,2}\.\d{2}(?!\d) )
  | (?P<hours>  \d{1,2}h(?:\d{2})?(?!\w) )
  | (?P<nth>    \d{1,3}(?:st|nd|rd|th)(?!\w) )
  | (?P<number> \d+ )
  | (?P<half>   [ap]\.m\.? | (?:am|pm)(?!\w) )
  | (?P<word>   [^\W\d_]\w*(?:'(?!s(?!\w))\w+)* )  # tomorrow's: two words
  | (?P<dash>   [-–—]+ )
  | (?P<mark>   \S )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A piece of the text: its kind (a group of `_TOKEN`), its lower-case text, its place."""

    kind: str
    text: str
    start: int
    end: int


class Tokens:
    """The tokens of a text, asked for by position; past either end there is an empty one."""

    def __init__(self, text: str) -> None:
        # Lower case may be longer ("İ"); such a letter is in no date, so it is kept as it is.
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text).replace("’", "'")
        self._tokens = [
            Token(found.lastgroup or "mark", found[0], found.start(), found.end())
            for found in _TOKEN.finditer(lowered)
        ]

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, i: int) -> Token:
        return self._tokens[i] if 0 <= i < len(self._tokens) else Token("", "", 0, 0)

    def word(self, i: int) -> str:
        """Return the word at a position, or an empty text where there is something else."""
        return self[i].text if self[i].kind == "word" else ""

    def words(self, i: int, *wanted: str) -> bool:
        """Say whether these words stand at a position, one after another."""
        return all(self.word(i + k) == word for k, word in enumerate(wanted))

    def count(self, i: int) -> int | None:
        """Return the number at a position, in digits or spelt out."""
        if self[i].kind == "number" and len(self[i].text) <= 4:
            return int(self[i].text)
        return NUMBER_WORDS.get(self.word(i))

    def said(self, i: int, j: int) -> str:
        """Return the tokens from `i` up to `j` as a person reads them."""
        parts = ""
        for k in range(i, min(j, len(self))):
            glued = k == i or self[k].start == self[k - 1].end
            parts += self[k].text if glued else f" {self[k].text}"
        return parts
