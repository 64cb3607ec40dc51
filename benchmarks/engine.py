"""What a conversation costs with the context memory kept, against reading every prompt afresh.

Ten turns on the tiny hybrid model of the tests: its weights are noise, its memory is that of the
real architecture, which can't be cut.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure
from botpsy_tui.engine.local import LocalSession
from botpsy_tui.engine.runtime import ContextSettings
from botpsy_tui.engine.types import Finished, Message, Request, Sampling, Statistics, ToolSchema
from tests.models.synthetic import write_model

_TURNS = 10
_PEER = "a fresh read of every prompt"


def measure() -> list[Figure]:
    """Run the conversation both ways."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_model(Path(folder) / "hybrid.gguf")
        kept, kept_seconds = asyncio.run(_conversation(path, fresh=False))
        fresh, fresh_seconds = asyncio.run(_conversation(path, fresh=True))
    decoded, fresh_decoded = (sum(s.decoded_tokens for s in steps[1:]) for steps in (kept, fresh))
    return [
        Figure(
            "prompt tokens decoded after the first turn",
            decoded,
            "tokens",
            _PEER,
            decoded / fresh_decoded,
            0.25,
        ),
        Figure("ten turns", kept_seconds, "s", _PEER, kept_seconds / fresh_seconds, 0.75),
    ]


async def _conversation(path: Path, *, fresh: bool) -> tuple[list[Statistics], float]:
    session = await LocalSession.load(path, ContextSettings(size=8192))
    tools = [
        ToolSchema(
            f"tool_{i}", "Does one thing.", {"type": "object", "properties": {"what": {"type": "string"}}}
        )
        for i in range(8)
    ]
    messages = [Message("system", "Be brief.")]
    steps: list[Statistics] = []
    started = time.perf_counter()
    for i in range(_TURNS):
        messages.append(Message("user", f"Question number {i}: what is on that day, and when am I free?"))
        if fresh:
            session._memory.clear()
        request = Request(tuple(messages), tools, sampling=Sampling(temperature=0), max_tokens=8)
        async for event in session.stream(request):
            if isinstance(event, Finished):
                steps.append(event.statistics)
        messages.append(Message("assistant", f"This is the answer number {i}, in a sentence of some length."))
    seconds = time.perf_counter() - started
    await session.close()
    return steps, seconds
