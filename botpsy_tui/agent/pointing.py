"""Holds arguments to what the model may only point at: the person's words, and ids that were shown.

A decoder in this process can write nothing else. A model behind an endpoint can, so code looks.
"""

import re
from collections.abc import Mapping
from typing import Any

from botpsy_tui.plugin import Context, References

_SOURCE = "x-botpsy-source"
_USER_WORDS = "user-words"
_REFERENCE = "reference:"


class NotPointedAt(Exception):
    """An argument was made up; the message tells the model which, and what would be right."""


def pointed_at(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], context: Context
) -> Mapping[str, Any]:
    """Return the arguments, spans of the person's words spelled as the person spelled them.

    `schema` is the JSON schema of the tool's arguments. Raises `NotPointedAt`.
    """
    checked = dict(arguments)
    for name, value in arguments.items():
        source = _source_of(schema.get("properties", {}).get(name, {}))
        if not isinstance(value, str) or not value.strip():
            continue  # for validation to judge
        if source == _USER_WORDS:
            said = _span(value, context.words)
            if said is None:
                raise NotPointedAt(
                    f"{name}: the person did not say {value!r}; copy their own words, or leave it out."
                )
            checked[name] = said
        elif source.startswith(_REFERENCE):
            _check_shown(name, value, source.removeprefix(_REFERENCE), context.references)
    return checked


def _source_of(schema: Mapping[str, Any]) -> str:
    options = [schema, *schema.get("anyOf", ())]
    return next((str(option[_SOURCE]) for option in options if _SOURCE in option), "")


def _span(value: str, words: str) -> str | None:
    """Find `value` among whole words, whatever the letter case and the white space."""
    pattern = r"\s+".join(re.escape(part) for part in value.split())
    found = re.search(rf"(?<!\w){pattern}(?!\w)", words, re.IGNORECASE)
    return found[0] if found else None


def _check_shown(name: str, value: str, kind: str, references: References) -> None:
    shown = references.names(kind)
    if value not in shown:
        known = f"there are {', '.join(shown)}" if shown else "none was shown yet: look first"
        raise NotPointedAt(f"{name}: no {kind} has the id {value!r}; {known}.")
