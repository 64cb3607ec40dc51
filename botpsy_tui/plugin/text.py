"""The sanitiser: the one border that text from outside crosses before anyone sees it."""

import unicodedata

_TAG_BLOCK = range(0xE0000, 0xE0080)
_VARIATION_SELECTORS = (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
_EMOJI_JOINERS = frozenset({0x200D, 0xFE0F})
_ESCAPED_WHITESPACE = {"\r": "␍", "\v": "␋", "\f": "␌"}


def for_display(text: str) -> str:
    """Return `text` safe to draw in a terminal, with what was hidden made visible.

    Control characters (C0 except newline and tab, DEL, C1) become their Unicode control
    pictures or ``⟨U+009B⟩``; bidirectional controls, zero-width and tag characters become
    ``⟨U+202E⟩``; lone surrogates become U+FFFD. Joiners inside an emoji stay. Line ends are
    normalised to newline. Markup is not touched: widgets must be told not to parse any.
    """
    text = text.replace("\r\n", "\n")
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(text, i) for i in range(len(text)))


def for_model(text: str) -> str:
    """Return `text` for the model's prompt: what `for_display` would show, hidden characters left out.

    What a person cannot see, the model does not read either.
    """
    text = text.replace("\r\n", "\n")
    return "".join(
        " " if text[i] in "\r\v\f" else text[i]
        for i in range(len(text))
        if text[i] in "\r\v\f" or _shown(text, i) == text[i]
    )


def _shown(text: str, i: int) -> str:
    character = text[i]
    if character in "\n\t":
        return character
    if character in _ESCAPED_WHITESPACE:
        return _ESCAPED_WHITESPACE[character]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0x80 <= code < 0xA0:
        return f"⟨U+{code:04X}⟩"
    if code < 0x300:
        return "⟨U+00AD⟩" if code == 0xAD else character
    if 0xD800 <= code < 0xE000:
        return "\ufffd"
    if code in _EMOJI_JOINERS and i > 0 and _joins_emoji(text, i):
        return character
    if code in _TAG_BLOCK or code in _VARIATION_SELECTORS:
        return f"⟨U+{code:04X}⟩"
    if unicodedata.category(character) in ("Cf", "Zl", "Zp") or code in (0x115F, 0x1160, 0x3164, 0xFFA0):
        return f"⟨U+{code:04X}⟩"
    return character


def _joins_emoji(text: str, i: int) -> bool:
    """Say whether a joiner or presentation selector follows something it can act on."""
    before = ord(text[i - 1])
    return before >= 0x2000 and (unicodedata.category(text[i - 1]) in ("So", "Sk", "Sm") or before == 0xFE0F)
