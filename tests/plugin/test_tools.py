"""What a proposal says of itself: whether it waits in the outbox, and what an approval is bound to."""

from dataclasses import replace

from botpsy_tui.plugin import Preview, Proposal, Risk
from tests.agent.fakes import NoteArguments, NoteTool


class LetterTool(NoteTool):
    held = True


def proposal(tool: NoteTool, *, held: bool | None = None) -> Proposal:
    arguments = NoteArguments(text="milk")
    return tool.propose_with(
        arguments, risk=Risk.SEND, preview=Preview("Send"), payload={"text": "milk"}, held=held
    )


def test_a_tool_says_that_its_calls_wait_in_the_outbox_and_a_call_may_say_otherwise() -> None:
    assert not proposal(NoteTool()).held
    assert proposal(LetterTool()).held
    assert not proposal(LetterTool(), held=False).held, "it is saved as a draft"
    assert proposal(NoteTool(), held=True).held


def test_an_approval_of_what_waits_is_none_for_what_leaves_at_once() -> None:
    waits = proposal(LetterTool())
    assert waits.digest != replace(waits, held=False).digest
