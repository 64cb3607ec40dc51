"""Text as an attacker writes it: random bytes, escape sequences, markup, hidden characters."""

import random
import re
import unicodedata

_FRAGMENTS = (
    "\x1b[2J\x1b[H", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://evil.example\x1b\\x\x1b]8;;\x1b\\", "\x1b[31m",
    "\x1bPq#0\x1b\\", "\x9b31m", "\x9d0;title\x9c", "\x08\x08\x08", "\r", "\x00", "\x7f", "\x0e",
    "[@click=app.quit]x[/]", "[link=http://evil.example]x", "[b]", "[/]", "[red on", "\\[", "[$error]", "[[",
    "[text](http://evil.example)", "![image](http://evil.example/x.png)", "<http://evil.example>",
    "<b onclick=x>html</b>", "<!-- hidden -->", "```\ncode", "`", "**", "~~~", "| a |\n|---|\n| c |",
    "# head", "> ", "1. ", "- [ ] ", "[ref]: http://evil.example", "&nbsp;&#27;&#x9b;&#x202e;&#8203;",
    "\u202e", "\u2066", "\u200b", "\ufeff", "\U000e0041", "\u3164", "e" + 30 * "\u0301", "👩\u200d💻",
    "\ud800", "\u2028", "日本語", "ﷺ", "\t", "\n", "{0}", "%s", "$HOME", "<|im_end|>", "</tool_call>",
)  # fmt: skip


def hostile_strings(count: int, seed: int = 20) -> list[str]:
    """Return `count` strings, always the same for a seed."""
    chance = random.Random(seed)

    def part() -> str:
        if chance.random() < 0.4:
            return chance.choice(_FRAGMENTS)
        raw = chance.randbytes(chance.randrange(0, 12))
        if chance.random() < 0.5:
            return raw.decode("latin-1")
        return raw.decode("utf-8", "surrogateescape")

    return ["".join(part() for _ in range(chance.randrange(1, 6))) for _ in range(count)]


def batches(strings: list[str], size: int) -> list[list[str]]:
    """Return the strings in groups of `size`."""
    return [strings[i : i + size] for i in range(0, len(strings), size)]


def dangers(text: str, *, allowed: str = "\n\t") -> set[str]:
    """Return the characters of `text` that a terminal acts on or draws as nothing."""
    return {
        c
        for c in set(text)
        if c not in allowed
        and (
            unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
            or c in "\u202e\u2066\u200b\ufeff\U000e0041\u3164"
        )
    }


def without_own_sequences(written: str) -> str:
    """Return what is written to a terminal without colours and cursor positions, which are ours."""
    return re.sub(r"\x1b\[[0-9;]*[mHKJ]", "", written)
