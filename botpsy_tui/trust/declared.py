"""What a plugin says of itself: its permissions, and its tools with the worst that each can do."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from botpsy_tui.plugin import Plugin, Risk, Tool


class ToolDeclaration(BaseModel):
    """One tool, as far as its being swapped for another must not go unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    description: str
    schema_hash: str
    """SHA-256 (hex) of the arguments' JSON schema."""
    highest_risk: Risk


class Declaration(BaseModel):
    """A plugin's permissions and tools."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    permissions: tuple[str, ...]
    tools: tuple[ToolDeclaration, ...]


def declaration_of(plugin: type[Plugin], tools: Sequence[Tool[Any]]) -> Declaration:
    """Return what a plugin and its tools declare."""
    return Declaration(
        permissions=tuple(sorted(plugin.permissions)),
        tools=tuple(
            ToolDeclaration(
                name=tool.name,
                version=tool.version,
                description=tool.description,
                schema_hash=_hash(tool.arguments.model_json_schema()),
                highest_risk=tool.highest_risk,
            )
            for tool in tools
        ),
    )


def _hash(schema: dict[str, Any]) -> str:
    canonical = json.dumps(schema, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
