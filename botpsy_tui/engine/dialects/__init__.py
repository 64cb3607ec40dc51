"""How a model family writes tool calls: read them as they stream, and hold the decoder to them."""

from botpsy_tui.engine.dialects.base import Dialect, PlainDialect
from botpsy_tui.engine.dialects.hermes import HermesDialect
from botpsy_tui.engine.dialects.qwen_xml import QwenXmlDialect
from botpsy_tui.engine.dialects.stream import Opening, Parsed, StreamParser

__all__ = [
    "Dialect",
    "HermesDialect",
    "Opening",
    "Parsed",
    "PlainDialect",
    "QwenXmlDialect",
    "StreamParser",
    "dialect_of",
]


def dialect_of(template: str) -> Dialect:
    """Choose the dialect from the text of a model's chat template."""
    if "<tool_call>" in template:
        if "<function=" in template and "<parameter=" in template:
            return QwenXmlDialect()
        return HermesDialect()
    return PlainDialect()
