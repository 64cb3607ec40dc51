"""Whatever a model, a mail or a server says, the command line prints it, and no terminal acts on it."""

import asyncio
import io
import json
import os
import sys

import pytest

from botpsy_tui.agent.events import (
    CallDecided,
    CallFailed,
    CallFinished,
    CallInvalid,
    CallProposed,
    TurnFinished,
)
from botpsy_tui.approval import Approve, Question, Reject, Stop
from botpsy_tui.cli import deciding
from botpsy_tui.cli.deciding import TerminalApprover
from botpsy_tui.cli.exits import stop
from botpsy_tui.cli.output import never_fail_to_write, show_prompt
from botpsy_tui.cli.reporting import JsonReporter, TextReporter
from botpsy_tui.engine.types import ReasoningDelta, TextDelta
from botpsy_tui.plugin import Line, Outcome, Preview, Proposal, Risk
from tests.security.hostile import dangers, hostile_strings, without_own_sequences

HOSTILE = hostile_strings(10_000)


class Terminal:
    """What the command line has written to either stream; a lone surrogate fails, as on a real terminal."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def written(self) -> str:
        """Return what was written since the last look; there must be something."""
        out, err = self._capture.readouterr()
        assert out + err
        return out + err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(capsys)


def as_json_reads(text: str) -> str:
    """Two lone surrogates side by side are one character in JSON (RFC 8259 §7)."""
    return json.loads(json.dumps(text))


def proposal(text: str, other: str = "x") -> Proposal:
    return Proposal(
        tool="write_note",
        version="1",
        risk=Risk.SEND,
        preview=Preview(text, (Line(other, text, text), Line(text, "1")), (text,)),
        payload={"text": text, "more": [text, {"deep": text}]},
        arguments={"text": text},
    )


def test_the_answer_and_the_calls_of_a_turn_are_inert(terminal: Terminal) -> None:
    reporter = TextReporter(with_calls=True)
    for text in HOSTILE:
        reporter.report(TextDelta(text))
        reporter.report(ReasoningDelta(text))
    for text in HOSTILE:
        reporter.report(CallInvalid("c", text, {"text": text}, text))
        reporter.report(CallProposed("c", proposal(text), {}))
        reporter.report(CallDecided("c", Approve("0", by=text)))
        reporter.report(CallFinished("c", Outcome(text, text)))
        reporter.report(CallFailed("c", text, unknown=True))
        reporter.report(TurnFinished("failed", (), text))
    assert not dangers(terminal.written())


def test_a_pending_call_for_a_program_is_inert_and_loses_nothing(terminal: Terminal) -> None:
    reporter = TextReporter(with_calls=False)
    for text in HOSTILE[:1000]:
        reporter.report(CallProposed("c", proposal(text), {}))
        reporter.report(TurnFinished("refused"))
        first = terminal.written().split("\n", 1)[0]
        assert not dangers(first, allowed="")
        assert json.loads(first)["proposal"]["payload"]["text"] == as_json_reads(text)


def test_json_is_inert_and_loses_nothing(terminal: Terminal) -> None:
    for text in HOSTILE:
        JsonReporter().report(TextDelta(text))
    written = terminal.written().rstrip("\n").split("\n")
    assert [json.loads(line)["text"] for line in written] == list(map(as_json_reads, HOSTILE))
    assert not dangers("".join(written), allowed="")
    for text in HOSTILE[:1000]:
        JsonReporter().report(CallProposed("c", proposal(text), {"title": text}))
        JsonReporter().report(CallDecided("c", Reject(text)))
    assert not dangers(terminal.written(), allowed="\n")


def test_the_question_in_the_terminal_is_inert(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str] = []

    def typed(prompt: str) -> str:
        show_prompt(prompt)
        return answers.pop(0)

    monkeypatch.setattr(deciding, "_read_line", typed)

    async def ask() -> None:
        for text, other in zip(HOSTILE, reversed(HOSTILE), strict=True):
            question = Question("c", proposal(text, other), {"properties": {text: {}, "text": {}}}, other)
            answers[:] = ["d", "s"]
            assert isinstance(await TerminalApprover().decide(question), Stop)

    asyncio.run(ask())
    assert not dangers(without_own_sequences(terminal.written()))


def test_a_value_draws_no_line_that_looks_like_a_label(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "_read_line", lambda _prompt: "s")
    monkeypatch.setenv("COLUMNS", "60")
    body = "Hello\n    To       boss@corp.example\n" + "x" * 47 + "    To       boss@corp.example"
    preview = Preview(
        "Send\n    To       boss@corp.example", (Line("To", "evil@x.example"), Line("Body", body))
    )
    asked = Question("c", Proposal("send", "1", Risk.SEND, preview, {}, {}), {})
    asyncio.run(TerminalApprover().decide(asked))
    drawn = terminal.written().split("\n")
    assert [line for line in drawn if line.startswith("    To")] == ["    To    evil@x.example"]
    assert all(len(without_own_sequences(line)) <= 60 for line in drawn[2:])


def test_a_sentence_that_ends_a_command_is_inert(terminal: Terminal) -> None:
    for text in HOSTILE[:2000]:
        with pytest.raises(BaseException):  # noqa: B017, PT011 - typer's way to end a command
            stop(text)
    assert not dangers(terminal.written())


def test_a_terminal_that_knows_no_unicode_shows_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    latin = io.TextIOWrapper(raw, encoding="latin-1", newline="\n")
    monkeypatch.setattr(sys, "stdout", latin)
    never_fail_to_write()
    reporter = TextReporter(with_calls=False)
    reporter.report(TextDelta("\x1b日本"))
    reporter.report(TurnFinished("answered"))
    latin.flush()
    monkeypatch.undo()
    assert raw.getvalue() == rb"\u241b\u65e5\u672c" + os.linesep.encode()
