"""How a model family writes tool calls: read them as they stream, and hold the decoder to them."""

from botpsy_tui.engine.dialects.base import Dialect, PlainDialect
from botpsy_tui.engine.dialects.hermes import HermesDialect
from botpsy_tui.engine.dialects.lfm2 import Lfm2Dialect
from botpsy_tui.engine.dialects.minicpm5 import MiniCpm5Dialect
from botpsy_tui.engine.dialects.qwen_xml import QwenXmlDialect
from botpsy_tui.engine.dialects.stream import Opening, Parsed, StreamParser

__all__ = [
    "Dialect",
    "HermesDialect",
    "Lfm2Dialect",
    "MiniCpm5Dialect",
    "Opening",
    "Parsed",
    "PlainDialect",
    "QwenXmlDialect",
    "StreamParser",
    "dialect_of",
]

_OTHER_TAGS = ("<arg_key>", "<invoke name=", "<|tool_call_begin|>")
"""What families of other forms write within ``<tool_call>``."""


def dialect_of(template: str) -> Dialect:
    """Choose the dialect from the text of a model's chat template; plain where it writes calls in none."""
    if "<|tool_list_start|>" in template or "List of tools: [" in template:
        return Lfm2Dialect()
    if '<function name="' in template and '<param name="' in template:
        return MiniCpm5Dialect()
    if "<tool_call>" not in template or any(tag in template for tag in _OTHER_TAGS):
        return PlainDialect()
    if "<function=" in template and "<parameter=" in template:
        return QwenXmlDialect()
    return HermesDialect()
