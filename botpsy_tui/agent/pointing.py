"""Holds arguments to what the model may only point at: the person's words and addresses, and ids shown.

A decoder in this process can write nothing else. A model behind an endpoint can, so code looks.
"""

import re
from collections.abc import Mapping
from typing import Any

from botpsy_tui.engine.addresses import addresses_in
from botpsy_tui.plugin import Context

_SOURCE = "x-botpsy-source"
_USER_WORDS = "user-words"
_USER_ADDRESS = "user-address"
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
        sources = _sources_of(schema.get("properties", {}).get(name, {}))
        if not sources or not isinstance(value, str) or not value.strip():
            continue  # for validation to judge
        found = [there for source in sources if (there := _pointed(value, source, context)) is not None]
        if not found:
            raise NotPointedAt(
                f"{name}: " + "; ".join(_why_not(value, one, context) for one in sources) + "."
            )
        checked[name] = found[0]
    return checked


def _sources_of(schema: Mapping[str, Any]) -> list[str]:
    options = [schema, *schema.get("anyOf", ())]
    joined = next((str(option[_SOURCE]) for option in options if _SOURCE in option), "")
    return joined.split("|") if joined else []


def _pointed(value: str, source: str, context: Context) -> str | None:
    """Return a value as it stands in its source, or None where it does not."""
    if source == _USER_WORDS:
        return _span(value, context.words)
    if source == _USER_ADDRESS:
        return value if value in addresses_in(context.words) else None
    return value if value in context.references.names(source.removeprefix(_REFERENCE)) else None


def _why_not(value: str, source: str, context: Context) -> str:
    """Return what is wrong with a value that is not in a source, and what would be right."""
    if source == _USER_WORDS:
        return f"the person did not say {value!r}; copy their own words, or leave it out"
    if source == _USER_ADDRESS:
        return f"the person wrote no address {value!r}"
    kind = source.removeprefix(_REFERENCE)
    shown = context.references.names(kind)
    known = f"there are {', '.join(shown)}" if shown else "none was shown yet: look first"
    return f"no {kind} has the id {value!r}; {known}"


def _span(value: str, words: str) -> str | None:
    """Find `value` among whole words, whatever the letter case and the white space."""
    pattern = r"\s+".join(re.escape(part) for part in value.split())
    found = re.search(rf"(?<!\w){pattern}(?!\w)", words, re.IGNORECASE)
    return found[0] if found else None
