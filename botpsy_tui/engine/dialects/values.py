"""Argument values as models write them, read as what their schema asks for."""

import json
import math
from typing import Any

from botpsy_tui.engine.dialects.literals import CONSTANTS, read_whole
from botpsy_tui.engine.schemas import Schema, kind_of, kinds_of


def read_json(text: str) -> Any:
    """Return the JSON value that `text` is; line breaks in strings are let pass.

    Raises `ValueError`, also for numbers that JSON does not have and for what is nested without end.
    """
    try:
        return json.loads(text, strict=False, parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def typed(text: str, schema: Schema) -> Any:
    """Return an argument written as bare text as the value its schema asks for.

    Lists and objects may be JSON or Python. What does not fit stays text, for validation to refuse.
    """
    kinds = kinds_of(schema)
    bare = text.strip()
    if "null" in kinds and bare in ("null", "None"):
        return None
    if kinds - {"null"} == {"string"}:
        return text
    try:
        value = _read(bare)
    except ValueError:
        return text
    return value if "string" not in kinds or _is_one_of(value, kinds) else text


def fitted(value: Any, written: str, schema: Schema) -> Any:
    """Return a literal's value, or what was written where the schema asks for another kind.

    A number where text is asked for is text; text where a number is asked for is read as one.
    """
    kinds = kinds_of(schema)
    if kinds and not _is_one_of(value, kinds):
        if isinstance(value, str):
            return typed(value, schema)
        if "string" in kinds:
            return written
    return value


def _read(bare: str) -> Any:
    if bare in CONSTANTS:
        return CONSTANTS[bare]
    try:
        return read_json(bare)
    except ValueError:
        if not bare.startswith(("[", "{", "(", "'")):
            raise
    return read_whole(bare)


def _is_one_of(value: Any, kinds: set[str]) -> bool:
    kind = kind_of(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is out of range")
    return number
