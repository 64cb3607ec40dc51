"""Tools in two steps: propose (resolve, preview, freeze) and commit (do exactly that)."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel

from botpsy_tui.plugin.context import Context

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Arguments = TypeVar("Arguments", bound=BaseModel)


class Risk(StrEnum):
    """What a call does to the world, computed by the tool from its arguments."""

    READ = "read"
    WRITE = "write"
    SEND = "send"
    DESTRUCTIVE = "destructive"

    def exceeds(self, other: "Risk") -> bool:
        """Say whether this is worse than `other`; the order is that above."""
        order = list(Risk)
        return order.index(self) > order.index(other)


class ToolError(Exception):
    """The call cannot be done as asked.

    The message is one short, precise sentence that a person understands and the model can
    act on: what is wrong, and what would be right. `sources` as in `Outcome`, where the message
    holds words of strangers. With `unknown`, raised from `commit` or `undo`, it may have happened
    all the same: the answer was lost. Without it, nothing has changed.
    """

    def __init__(self, message: str, *, sources: tuple[str, ...] = (), unknown: bool = False) -> None:
        super().__init__(message)
        self.sources = sources
        self.unknown = unknown


@dataclass(frozen=True)
class Line:
    """One labelled line of a preview. Values from outside go through `for_display` first."""

    label: str
    value: str
    before: str | None = None
    """What stood there before, for a change."""


class ChangedSince(ToolError):
    """What a call, or its undoing, would write over is not as it was: nothing is done.

    `changes` is the difference, for the person: what is there now, and in `before` what was
    there when the call was shown, or what the call had left.
    """

    def __init__(self, message: str, changes: tuple[Line, ...], *, sources: tuple[str, ...] = ()) -> None:
        super().__init__(message, sources=sources)
        self.changes = changes


@dataclass(frozen=True)
class Preview:
    """What the person is shown before a call runs. Rendered by trusted code, never by the model."""

    title: str
    lines: tuple[Line, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """A call with everything resolved and its payload frozen.

    `arguments` are the validated arguments it was made from (for the edit form and the
    record); `payload` is all that `Tool.commit` may act on; `facts` are what a person's rules
    may match: the resolved values (addresses, calendar, host, argv), under short names. A fact
    wins over an argument of the same name. All three hold JSON values only.
    """

    tool: str
    version: str
    risk: Risk
    preview: Preview
    payload: Mapping[str, Json]
    arguments: Mapping[str, Json]
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])
    held: bool = False
    """True: once approved, it waits in the outbox; see `Tool.held`."""

    @property
    def digest(self) -> str:
        """SHA-256 (hex) over tool, version, risk, preview, payload, facts and `held`.

        What is shown is bound to what is done: an approval names this digest and no other.
        """
        bound = {
            "tool": self.tool,
            "version": self.version,
            "risk": self.risk.value,
            "preview": asdict(self.preview),
            "payload": dict(self.payload),
            "facts": dict(self.facts),
            "held": self.held,
        }
        canonical = json.dumps(bound, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Undo:
    """How to take an effect back: a sentence for the person, and the tool's own JSON data."""

    summary: str
    data: Mapping[str, Json] = field(default_factory=dict[str, Json])


@dataclass(frozen=True)
class Outcome:
    """What a call did.

    `text` goes to the model, already short; `view` is what the person reads (plain text, may
    have several lines). Both may hold text from outside.
    """

    text: str
    view: str
    undo: Undo | None = None
    complete: bool = False
    """True where `text` says all there is to say: the turn ends with it, in the tool's own words.

    What was done is then never retold, and perhaps mistold, by the model.
    """
    sources: tuple[str, ...] = ()
    """Where `text` holds words of strangers, whose: the mail, invitation, page or file, named for
    the person. From then on the conversation is tainted: see `docs/security.md`."""


class Tool(ABC, Generic[Arguments]):
    """One thing the assistant can do.

    `description` and the argument model's JSON schema are what the model sees; keep both short
    and put no example names into them: small models copy examples.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    version: ClassVar[str] = "1"
    arguments: type[Arguments]
    highest_risk: ClassVar[Risk] = Risk.DESTRUCTIVE
    """The worst that a call of it can be; a proposal above it is refused. Undeclared: anything."""
    held: ClassVar[bool] = False
    """True for what can't be taken back once it has left, such as a mail: an approved call of it
    waits in the outbox for a while, where the person can still cancel it. `propose_with(held=…)`
    says otherwise for one call. `commit` may then run in a later run of the program, with a
    `Context` that has the same `call_key`: the payload holds all that it needs."""

    @abstractmethod
    async def propose(self, arguments: Arguments, context: Context) -> Proposal:
        """Resolve the arguments, read what an honest preview needs, freeze the payload.

        Has no side effect. Raises `ToolError` where the arguments name nothing that exists.
        """

    @abstractmethod
    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Do exactly what `proposal.payload` says, nothing else.

        Raises `ToolError` where it could not be done, with nothing changed.
        """

    async def undo(self, undo: Undo, context: Context) -> Outcome:
        """Take back what an earlier `commit` did, or raise `ToolError` saying why not.

        Raises `ChangedSince`, with nothing changed, where it is not as the call has left it.
        """
        raise ToolError("This can't be undone.")

    def propose_with(
        self,
        arguments: Arguments,
        *,
        risk: Risk,
        preview: Preview,
        payload: Mapping[str, Json],
        facts: Mapping[str, Json] | None = None,
        held: bool | None = None,
    ) -> Proposal:
        """Build this tool's proposal from what `propose` has resolved; `held` as the tool's, unless given."""
        return Proposal(
            tool=self.name,
            version=self.version,
            risk=risk,
            preview=preview,
            payload=payload,
            arguments=arguments.model_dump(mode="json", exclude_none=True),
            facts=facts or {},
            held=self.held if held is None else held,
        )
