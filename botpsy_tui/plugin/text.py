"""The sanitiser: the one border that text from outside crosses before anyone sees it."""

import re
import unicodedata

_MOST_MARKS = 6
"""Combining marks that one letter may carry: more than any living script needs, too few to bury a line."""

_MARKS_LEFT_OUT = "⟨…⟩"
_NO_BASE = "◌"
_ORDINARY = re.compile(r"[\n\t\x20-\x7e\xa0-\xac\xae-\u02ff]*")
_ESCAPED_WHITESPACE = {"\r": "␍", "\v": "␋", "\f": "␌"}
_ZERO_WIDTH_NON_JOINER, _ZERO_WIDTH_JOINER, _EMOJI_PRESENTATION = 0x200C, 0x200D, 0xFE0F
_KEYCAPS = frozenset("0123456789#*©®")
_HIDDEN_CATEGORIES = frozenset(("Cf", "Zl", "Zp", "Co", "Cn"))
_HIDDEN = frozenset(
    (
        0x034F,  # combining grapheme joiner
        *(0x115F, 0x1160, 0x3164, 0xFFA0),  # Hangul fillers
        *(0x17B4, 0x17B5),  # Khmer inherent vowels
        *(0x180B, 0x180C, 0x180D, 0x180F),  # Mongolian variation selectors
        0x2800,  # blank Braille pattern
        *range(0xFE00, 0xFE10),  # variation selectors
        0xFFFC,  # object replacement
        *(0x16FE4, 0x1D159),  # Khitan filler, null notehead
        *range(0xE0000, 0xE1000),  # tags, and more variation selectors
    )
)
"""Drawn as nothing, though Unicode does not class them as format characters."""


def for_display(text: str) -> str:
    """Return `text` safe to draw in a terminal, with what was hidden made visible.

    - Control characters (C0 but newline and tab, DEL, C1) become their control pictures or
      ``⟨U+009B⟩``: no escape sequence is left.
    - Bidirectional controls, zero-width, tag, other invisible, private-use and unassigned
      characters become ``⟨U+202E⟩``; lone surrogates become U+FFFD. Joiners stay where a script
      or an emoji needs them.
    - A letter keeps six combining marks; ``⟨…⟩`` stands for those beyond. A mark with nothing
      to stand on gets a dotted circle, so that it can't alter what was drawn before it.
    - CR LF becomes a newline; a lone CR is shown. Newlines stay: where one line is meant, the
      caller folds them.

    Doing it twice changes nothing more. Markup is not touched: widgets must be told to parse none.
    """
    if _ORDINARY.fullmatch(text):
        return text
    return DisplayStream().add(text, last=True)


def for_display_line(text: str) -> str:
    """Return `text` as `for_display` shows it, in one line: line ends become ``↵``, tabs spaces."""
    return for_display(text).replace("\n", "↵").replace("\t", " ")


def for_model(text: str) -> str:
    """Return `text` for the model's prompt: what `for_display` would show, hidden characters left out.

    What a person cannot see, the model does not read either. Special tokens are broken up
    later, where the prompt is rendered: what was hidden inside them is gone by then.
    """
    if _ORDINARY.fullmatch(text):
        return text
    border = _Border()
    spaced = re.sub(r"[\r\v\f]", " ", text.replace("\r\n", "\n"))
    return "".join(character for character in spaced if border.lets_through(character))


class DisplayStream:
    """`for_display` for text that comes in pieces, cut anywhere: the pieces add up to the same."""

    def __init__(self) -> None:
        self._border = _Border()
        self._held = ""

    def add(self, text: str, *, last: bool = False) -> str:
        """Return what to draw of one more piece; with `last`, no line end is held back."""
        text = (self._held + text).replace("\r\n", "\n")
        self._held = ""
        if text.endswith("\r") and not last:
            text, self._held = text[:-1], "\r"
        return "".join(self._border.shown(character) for character in text)


class _Border:
    """Decides on one character after the other, knowing what it let through before."""

    def __init__(self) -> None:
        self._before = "\n"
        self._marks = 0

    def _plain(self, character: str) -> str:
        self._before, self._marks = character, 0
        return character

    def lets_through(self, character: str) -> bool:
        """Say whether `character` stays; one that does not leaves no trace in what comes after."""
        state = self._before, self._marks
        if self.shown(character).endswith(character):
            return True
        self._before, self._marks = state
        return False

    def shown(self, character: str) -> str:
        """Return what stands for `character`: itself, its picture, or nothing."""
        code = ord(character)
        if code < 0x300:
            ordinary = _ORDINARY.fullmatch(character) is not None
            return self._plain(character) if ordinary else self._picture(character)
        category = unicodedata.category(character)
        if category == "Cs":
            return self._plain("\ufffd")
        if category == "Cn" and _may_be_newer_than_us(code):
            category = "So"
        if code in (_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER, _EMOJI_PRESENTATION) and self._joins(code):
            self._before = character
            return character
        if code in _HIDDEN or category in _HIDDEN_CATEGORIES:
            return self._picture(character)
        if category in ("Mn", "Me"):
            return self._mark(character)
        return self._plain(character)

    def _mark(self, character: str) -> str:
        base = _NO_BASE if self._before in "\n\t" else ""
        self._marks += 1
        if self._marks > _MOST_MARKS + 1:
            return ""
        if self._marks > _MOST_MARKS:
            return _MARKS_LEFT_OUT
        self._before = character
        return base + character

    def _picture(self, character: str) -> str:
        code = ord(character)
        if character in _ESCAPED_WHITESPACE:
            picture = _ESCAPED_WHITESPACE[character]
        elif code < 0x20:
            picture = chr(0x2400 + code)
        elif code == 0x7F:
            picture = "␡"
        else:
            picture = f"⟨U+{code:04X}⟩"
        self._plain("⟩")
        return picture

    def _joins(self, code: int) -> bool:
        """Say whether a joiner or a presentation selector follows something that it acts on."""
        before = ord(self._before)
        category = unicodedata.category(self._before)
        pictograph = category in ("So", "Sk") or (category == "Cn" and _may_be_newer_than_us(before))
        if code == _EMOJI_PRESENTATION:
            return self._before in _KEYCAPS or (before >= 0x2000 and (pictograph or category == "Sm"))
        if code == _ZERO_WIDTH_JOINER and before >= 0x2000 and (pictograph or before == _EMOJI_PRESENTATION):
            return True
        # Persian and the scripts of India need them inside words (Unicode 15, chapters 9 and 12).
        return (0x0620 <= before < 0x0780 or 0x0900 <= before < 0x0E00) and category[0] in "LM"


def _may_be_newer_than_us(code: int) -> bool:
    """Say whether an unassigned code point lies where new emoji and ideographs are put."""
    return 0x1F000 <= code < 0x1FB00 or (0x20000 <= code < 0x3FFFE and code & 0xFFFE != 0xFFFE)
