"""Which model: the catalogue, downloads that are verified, and the models on this machine."""

from botpsy_tui.models.adapters import Adapter, parse_adapter
from botpsy_tui.models.catalogue import CATALOGUE, CatalogueEntry, entry_named
from botpsy_tui.models.first_choice import FirstChoice, first_choice
from botpsy_tui.models.gguf_header import GgufHeader, read_header
from botpsy_tui.models.memory import KvType, MemoryNeed, memory_need
from botpsy_tui.models.sources import parse_spec
from botpsy_tui.models.store import InstalledModel, ModelStore
from botpsy_tui.models.types import (
    HubUnreachable,
    ModelProblem,
    Progress,
    PullCancelled,
    Stage,
    size_text,
)

__all__ = [
    "CATALOGUE",
    "Adapter",
    "CatalogueEntry",
    "FirstChoice",
    "GgufHeader",
    "HubUnreachable",
    "InstalledModel",
    "KvType",
    "MemoryNeed",
    "ModelProblem",
    "ModelStore",
    "Progress",
    "PullCancelled",
    "Stage",
    "entry_named",
    "first_choice",
    "memory_need",
    "parse_adapter",
    "parse_spec",
    "read_header",
    "size_text",
]
