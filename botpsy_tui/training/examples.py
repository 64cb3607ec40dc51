"""Chooses the conversations to learn from: those in which all that was called was approved and done."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from botpsy_tui.engine.types import Message, Role, ToolCall
from botpsy_tui.journal import CallState, PastCall, PastConversation, PastMessage
from botpsy_tui.plugin import for_model

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}


@dataclass(frozen=True)
class Example:
    """A conversation as the model saw it, without the system prompt; it ends with the model's answer."""

    number: int
    messages: tuple[Message, ...]
    people: tuple[str, ...] = ()
    """Names and addresses of people that its calls were about."""


@dataclass
class Selection:
    """What was chosen, and why the rest was not."""

    examples: list[Example] = field(default_factory=list[Example])
    left_out: Counter[str] = field(default_factory=Counter[str])
    """A reason, and how many conversations it kept out."""


class _LeftOut(Exception):
    """The reason, as it follows “3 conversations …”."""


def select(
    conversations: Iterable[PastConversation],
    arguments: Mapping[str, type[BaseModel]],
    *,
    with_edited: bool = False,
) -> Selection:
    """Choose among `conversations`; `arguments` are those that today's tools take, by the tool's name.

    With `with_edited`, a call that the person has changed counts with the changed arguments.
    """
    selection = Selection()
    for conversation in conversations:
        try:
            selection.examples.append(_example(conversation, arguments, with_edited=with_edited))
        except _LeftOut as reason:
            selection.left_out[str(reason)] += 1
    return selection


def _example(
    conversation: PastConversation, arguments: Mapping[str, type[BaseModel]], *, with_edited: bool
) -> Example:
    past = _answered(conversation.messages)
    messages: list[Message] = []
    people: list[str] = []
    waiting: list[PastCall] = []
    for message in past:
        role = _ROLES.get(message.role)
        if role is None:
            raise _LeftOut("with a message of an unknown kind")
        content = message.content
        calls: list[ToolCall] = []
        for call in message.calls:
            calls.append(_approved(call, arguments, with_edited=with_edited))
            people += _people_in(call)
        if calls:
            waiting = list(message.calls)
        elif role == "tool":
            if not waiting:
                raise _LeftOut("with a result that belongs to no call")
            call = waiting.pop(0)
            # The house told the model of the edit; with the edited call there was none.
            content = for_model(call.result) if call.edited is not None else content
        elif waiting:
            raise _LeftOut("with a call that has no result")
        messages.append(Message(role, content, tuple(calls)))
    return Example(conversation.number, tuple(messages), tuple(dict.fromkeys(people)))


def _answered(messages: Sequence[PastMessage]) -> Sequence[PastMessage]:
    """Return the messages up to the model's last answer."""
    for end in range(len(messages), 0, -1):
        last = messages[end - 1]
        if last.role == "assistant" and not last.calls and last.content.strip():
            if any(message.calls for message in messages[end:]):
                raise _LeftOut("that stopped at a call")
            return messages[:end]
    raise _LeftOut("without an answer")


def _approved(call: PastCall, arguments: Mapping[str, type[BaseModel]], *, with_edited: bool) -> ToolCall:
    match call.state:
        case CallState.DONE:
            pass
        case CallState.REJECTED:
            raise _LeftOut("with a call that was rejected")
        case "":
            raise _LeftOut("with a call that was not valid")
        case _:
            raise _LeftOut("with a call that failed, was undone, or was not done")
    if call.by != "person":
        raise _LeftOut("with a call that a rule approved")
    if call.edited is not None and not with_edited:
        raise _LeftOut("with a call that was edited (--edited takes them)")
    used = call.arguments if call.edited is None else call.edited
    try:
        arguments[call.tool].model_validate(dict(used))
    except KeyError:
        raise _LeftOut("with a tool that is not here any more") from None
    except ValidationError:
        raise _LeftOut("with a call that its tool would not take today") from None
    return ToolCall(call.tool, used)


_PEOPLE = frozenset(
    [
        "attendee",
        "attendees",
        "invitee",
        "invitees",
        "guest",
        "guests",
        "person",
        "people",
        "with",
        "who",
        "cc",
        "bcc",
        "sender",
        "recipient",
        "recipients",
        "organizer",
        "participants",
        "contact",
    ]
)
_PEOPLE_OF_MAIL = _PEOPLE | {"to", "from"}
"""In a calendar, these are moments."""


def _people_in(call: PastCall) -> list[str]:
    """Return who the call was about, as its arguments and its proposal name them."""
    found: list[str] = []
    proposal = call.proposal or {}
    keys = _PEOPLE_OF_MAIL if proposal.get("risk") == "send" else _PEOPLE

    def look(value: Any, *, of_people: bool) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
                look(inner, of_people=of_people or str(key).lower() in keys)  # pyright: ignore
        elif isinstance(value, list | tuple):
            for inner in value:  # pyright: ignore[reportUnknownVariableType]
                look(inner, of_people=of_people)
        elif of_people and isinstance(value, str) and value.strip():
            found.append(value.strip())

    look(call.arguments, of_people=False)
    for part in ("arguments", "facts", "payload"):
        look(proposal.get(part), of_people=False)
    return found
