"""Ten turns with three tool calls each: after the first turn, a prompt costs what is new in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from botpsy_tui.engine.local import LocalSession
from botpsy_tui.engine.memory import common_prefix
from botpsy_tui.engine.runtime import ContextSettings
from botpsy_tui.engine.types import Finished, Message, Request, Sampling, ToolCall, ToolSchema

TURNS, CALLS = 10, 3
TOOLS = [
    ToolSchema(
        f"look_up_{what}",
        f"Look {what} up by the words that the person used for it.",
        {"type": "object", "properties": {"about": {"type": "string"}}, "required": ["about"]},
    )
    for what in ("events", "mails", "contacts", "pages", "files")
]
"""About 1,200 tokens in the tiny models' vocabulary."""
GREEDY = Sampling(temperature=0)


def requests() -> Iterator[Request]:
    """The request of every step; the model's own words are noise, and are replaced by these."""
    messages = [Message("system", "You are a personal assistant. Be brief.")]
    for turn in range(TURNS):
        messages.append(Message("user", f"[2026-03-0{turn}] What about matter {turn}, and who is in it?"))
        for call in range(CALLS):
            yield request(messages)
            about = f"matter {turn}, part {call}"
            messages.append(Message("assistant", tool_calls=(ToolCall(TOOLS[call].name, {"about": about}),)))
            messages.append(Message("tool", f"1. [e{turn}{call}] {about}: Tuesday at 10:00 with Lena."))
        yield request(messages)
        messages.append(Message("assistant", f"Matter {turn} is on Tuesday at ten, with Lena."))


def request(messages: list[Message]) -> Request:
    return Request(tuple(messages), TOOLS, sampling=GREEDY, max_tokens=6)


async def replay(session: LocalSession, *, idle: bool) -> list[tuple[int, int]]:
    """For each step, how many tokens of its prompt were new, and how many were decoded."""
    costs: list[tuple[int, int]] = []
    for step in requests():
        if idle and step.messages[-1].role == "user":
            coming = (*step.messages[:-1], Message("user", "…"))
            await session.prepare(Request(coming, TOOLS))
        before = [*session._memory.tokens]
        prompt = session._runtime.tokenize(session._template.text(step.messages, TOOLS, thinking=False))
        done = [event async for event in session.stream(step)][-1]
        assert isinstance(done, Finished)
        assert done.statistics.prompt_tokens == len(prompt) > 1200
        costs.append((len(prompt) - common_prefix(before, prompt), done.statistics.decoded_tokens))
    return costs


@pytest.mark.parametrize("idle", [False, True], ids=["busy", "idle between turns"])
@pytest.mark.parametrize(
    ("kind", "states"),
    [("hybrid", 3), ("hybrid", 40), ("recurrent", 3), ("windowed", 3), ("dense", 0)],
    ids=lambda value: value if isinstance(value, str) else f"room for {value} states",
)
async def test_after_the_first_turn_a_prompt_costs_its_new_tokens_and_five_percent(
    kind: str, states: int, idle: bool, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(f"{kind}_model")
    session = await LocalSession.load(path, ContextSettings(size=8192, threads=1, checkpoint_bytes=1 << 40))
    await session.prepare(next(requests()))
    state = len(session._runtime.save_state())
    session._memory.clear()
    session._memory._checkpoints.budget = states * state
    costs = await replay(session, idle=idle)
    new, decoded = (sum(column) for column in zip(*costs[CALLS + 1 :], strict=True))
    assert new <= decoded <= 1.05 * new
    await session.close()
