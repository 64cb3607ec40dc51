"""Reads the JSON schemas of tools: references resolved, and which kinds of value a property may have."""

from collections.abc import Mapping, Sequence
from typing import Any

from botpsy_tui.engine.types import ToolSchema

Schema = Mapping[str, Any]

_DEFINITIONS = ("$defs", "definitions")
_MOST_HOPS = 16  # from one reference to the next; a ring of them says nothing about a value


def property_schemas(tool: ToolSchema) -> dict[str, dict[str, Any]]:
    """Return a tool's properties in order, each schema complete in itself.

    A ``$ref`` at its top is resolved (JSON Schema 2020-12 §8.2.3.1); for those deeper down the
    tool's definitions are added.
    """
    definitions = {key: tool.parameters[key] for key in _DEFINITIONS if tool.parameters.get(key)}
    return {
        name: _complete(schema, tool.parameters, definitions)
        for name, schema in tool.parameters.get("properties", {}).items()
    }


def without_null(schema: Schema) -> dict[str, Any]:
    """Return an optional argument's schema as what it is when given."""
    kind = schema.get("type")
    if isinstance(kind, list) and "null" in kind:
        given: list[str] = [k for k in kind if k != "null"]  # pyright: ignore[reportUnknownVariableType]
        return {**schema, "type": given[0] if len(given) == 1 else given}
    for key in ("anyOf", "oneOf"):
        if options := schema.get(key):
            given_options = [option for option in options if option.get("type") != "null"]
            rest = {k: v for k, v in schema.items() if k not in (key, "default")}
            return {**rest, **given_options[0]} if len(given_options) == 1 else {**rest, key: given_options}
    return dict(schema)


def kinds_of(schema: Schema) -> set[str]:
    """Return the JSON types that a schema allows; none where it does not say."""
    options: Sequence[Schema] = schema.get("anyOf") or schema.get("oneOf") or [schema]
    kinds: set[str] = set()
    for option in options:
        if "type" in option:
            kind = option["type"]
            kinds.update([kind] if isinstance(kind, str) else kind)
        elif "const" in option or "enum" in option:
            kinds.update(kind_of(value) for value in option.get("enum", [option.get("const")]))
    return kinds


def kind_of(value: Any) -> str:
    """Return the JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _complete(schema: Schema, root: Schema, definitions: Schema) -> dict[str, Any]:
    resolved = _resolved(schema, root)
    for key in ("anyOf", "oneOf"):
        if key in resolved:
            resolved[key] = [_resolved(option, root) for option in resolved[key]]
    return {**resolved, **definitions} if _refers(resolved) else resolved


def _resolved(schema: Schema, root: Schema) -> dict[str, Any]:
    result = dict(schema)
    for _ in range(_MOST_HOPS):
        whole = result.get("allOf", ())
        if len(whole) == 1:  # how a reference with a description used to be written
            result = {**whole[0], **{k: v for k, v in result.items() if k != "allOf"}}
        reference = result.get("$ref")
        if not isinstance(reference, str):
            return result
        result = {**_pointed_at(reference, root), **{k: v for k, v in result.items() if k != "$ref"}}
    return {}


def _pointed_at(reference: str, root: Schema) -> Schema:
    """Follow a JSON pointer within the schema (RFC 6901); what is not there allows anything."""
    if not reference.startswith("#/"):
        return {}
    found: Any = root
    for part in reference[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or key not in found:
            return {}
        found = found[key]  # pyright: ignore[reportUnknownVariableType]
    return found if isinstance(found, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def _refers(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return "$ref" in schema or any(map(_refers, schema.values()))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(schema, list) and any(map(_refers, schema))  # pyright: ignore[reportUnknownArgumentType]
