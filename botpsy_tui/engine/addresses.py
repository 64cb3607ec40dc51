"""Finds the web addresses that a person has written in a sentence."""

import re

_ADDRESS = re.compile(
    r"https?://[^\s<>\"“”„«»]+"
    r"|(?<![\w@./:-])(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}(?::\d+)?(?:/[^\s<>\"“”„«»]*)?(?![\w@])",
    re.IGNORECASE,
)
_ENDS_A_SENTENCE = ".,;:!?'’*_"
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_FILE = re.compile(
    r"[^/:]*\.(?:csv|docx?|gif|html?|ics|jpe?g|json|md|mp[34]|odt|pdf|png|pptx?|py|sh|toml|txt|xlsx?|zip)",
    re.IGNORECASE,
)


def addresses_in(text: str) -> list[str]:
    """Return the web addresses in `text`, as they stand there, in order and each once.

    With a scheme (http, https), or a host name by itself, with or without a path. Marks that end
    the sentence are not part of one; what looks like a mail address or a file's name is none.
    """
    found: dict[str, None] = {}
    for match in _ADDRESS.finditer(text):
        address = match[0]
        while address and (
            address[-1] in _ENDS_A_SENTENCE
            or (
                address[-1] in _BRACKETS
                and address.count(address[-1]) > address.count(_BRACKETS[address[-1]])
            )
        ):
            address = address[:-1]
        if not _FILE.fullmatch(address):
            found[address] = None
    return list(found)
