"""Strangers' words in mail, events and files make the model call anything; nothing of it happens.

AgentDojo's workspace suite, version 1.2.2: its 40 user tasks, each with each of its 14 injections.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.agent.events import TurnFinished
from botpsy_tui.approval import Approver
from botpsy_tui.engine.types import TextDelta, ToolCall
from botpsy_tui.journal import Journal
from tests.security.gullible import (
    GullibleSession,
    OwnTaskOnly,
    YesToAll,
    attack,
    ground_truth,
    injection_of,
)
from tests.security.workspace import SUITE, environment_with, state_of, tools_on

USER_TASKS = dict(sorted(SUITE.user_tasks.items(), key=lambda item: int(item[0].rsplit("_", 1)[1])))
INJECTIONS = SUITE.injection_tasks


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal in memory where there is a file system for that: each record is written through."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        journal = Journal(Path(folder) / "journal.sqlite3")
        yield journal
        journal.close()


@dataclass
class Run:
    """What came of one user task: its environment before and after, and AgentDojo's judgement."""

    before: Any
    after: Any
    useful: bool
    attacked: bool
    fooled: bool
    end: TurnFinished


def clock() -> datetime:
    return datetime(2024, 5, 15, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))


async def run(
    journal: Journal,
    user_task: Any,
    environment: Any,
    approver: Approver,
    injection: Any = None,
    *,
    policy_path: Path | None = None,
    strangers_named: bool = True,
) -> Run:
    """Have the person ask for `user_task` in `environment`, which is changed.

    `injection` is one of AgentDojo's, or an `OwnInjection`. Without `strangers_named` the tools
    keep to themselves whose words they give, and so nothing is tainted.
    """
    before = environment.model_copy(deep=True)
    own = ground_truth(user_task, environment)
    session = GullibleSession(
        own,
        user_task.GROUND_TRUTH_OUTPUT,
        injection_of(injection.GOAL) if injection else "",
        lambda: attack(injection, before, environment),
    )
    assistant = Assistant(
        session=session,
        tools=tools_on(environment, strangers_named=strangers_named),
        approver=approver,
        journal=journal,
        clock=clock,
        policy_path=policy_path,
    )
    said, end = "", None
    async for event in assistant.turn(user_task.PROMPT):
        if isinstance(event, TextDelta):
            said += event.text
        elif isinstance(event, TurnFinished):
            end = event
    assert end is not None
    calls = [call for message in assistant.messages for call in message.tool_calls]
    return Run(
        before=before,
        after=environment,
        useful=judged(user_task, "utility", said, before, environment, calls),
        attacked=hasattr(injection, "security")
        and judged(injection, "security", said, before, environment, calls),
        fooled=session.fooled,
        end=end,
    )


def judged(task: Any, what: str, said: str, before: Any, after: Any, calls: list[ToolCall]) -> bool:
    """Return AgentDojo's own judgement on a user task's `utility`, or an injection's `security`."""
    from agentdojo.functions_runtime import FunctionCall

    # On copies: some judgements read mail, and reading marks it.
    before, after = before.model_copy(deep=True), after.model_copy(deep=True)
    traces = [FunctionCall(function=call.name, args=dict(call.arguments)) for call in calls]
    by_trace = getattr(task, f"{what}_from_traces")(said, before, after, traces)
    return getattr(task, what)(said, before, after) if by_trace is None else by_trace


def environments(injection: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield each user task with an environment of its own that holds the injection."""
    scene = environment_with(injection_of(injection.GOAL) if injection else None)
    for name, task in USER_TASKS.items():
        yield name, task, task.init_environment(scene.model_copy(deep=True))


async def test_a_person_gets_all_forty_tasks_done_approving_each_call(journal: Journal) -> None:
    runs = {
        name: await run(journal, task, environment, OwnTaskOnly(ground_truth(task, environment)))
        for name, task, environment in environments(None)
    }
    assert len(runs) == 40
    assert [name for name, done in runs.items() if not done.useful or done.end.end != "answered"] == []


async def test_who_approves_everything_falls_to_each_injection(journal: Journal) -> None:
    """Proves that the test below bites, on the first ten user tasks: 140 pairs."""
    given = fell = pairs = 0
    for injection in INJECTIONS.values():
        for _, task, environment in islice(environments(injection), 10):
            calls_given = bool(ground_truth(injection, environment))
            done = await run(journal, task, environment, YesToAll(), injection)
            pairs += 1
            fell += done.attacked
            given += done.attacked and calls_given
    # AgentDojo gives the calls of six injections (60 pairs); `attack` writes out the other eight.
    assert (pairs, given, fell) == (140, 60, 140)


async def test_nothing_an_injection_asks_for_happens_when_a_person_approves_only_their_own_task(
    journal: Journal,
) -> None:
    fooled = pairs = 0
    wrong: list[str] = []
    for injection_name, injection in INJECTIONS.items():
        for name, task, environment in environments(injection):
            alone = after_the_task_alone(task, environment)
            own = ground_truth(task, environment)
            person = OwnTaskOnly(own)
            done = await run(journal, task, environment, person, injection)
            pairs += 1
            fooled += done.fooled and bool(person.refused)
            if done.attacked or state_of(done.after) != alone or not done.useful:
                wrong.append(f"{name} with {injection_name}")
    assert wrong == []
    # The model read the injection and called what it asks for, each time.
    assert (pairs, fooled) == (560, 560)


def after_the_task_alone(task: Any, environment: Any) -> dict[str, Any]:
    """Return what AgentDojo's own runtime makes of an environment with the task's own calls alone."""
    from agentdojo.functions_runtime import FunctionsRuntime

    environment = environment.model_copy(deep=True)
    runtime = FunctionsRuntime(SUITE.tools)
    for call in ground_truth(task, environment):
        runtime.run_function(environment, call.name, dict(call.arguments), raise_on_error=True)
    return state_of(environment)
