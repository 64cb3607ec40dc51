"""Argument types that the decoder is held to: what a model may only point at, not make up."""

from typing import Annotated

from pydantic import Field

SOURCE = "x-botpsy-source"
"""JSON-schema keyword that tells the engine where an argument's text must come from."""

UserWords = Annotated[str, Field(json_schema_extra={SOURCE: "user-words"})]
"""A span of what the person said in this turn, letter for letter.

The decoder cannot write anything else. The tool resolves it in code.
"""


def Reference(kind: str) -> object:  # noqa: N802 - used as a type, as pydantic's Field is
    """An id that tools have shown in this conversation, such as ``e3``.

    Use as ``event: Annotated[str, Reference("event")]``. The decoder is held to the ids of
    that kind that are in `Context.references`; with none shown, the argument cannot be written.
    """
    return Field(json_schema_extra={SOURCE: f"reference:{kind}"})


def ReferenceOrAddress(kind: str) -> object:  # noqa: N802 - used as a type, as pydantic's Field is
    """An id as of `Reference`, or a web address that the person wrote in this turn, letter for letter.

    With neither, a tool that needs it can't be called at all.
    """
    return Field(json_schema_extra={SOURCE: f"reference:{kind}|user-address"})
