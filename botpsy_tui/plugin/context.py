"""What a plugin is given: the clock, the person's words, ids shown so far, settings and secrets."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import ClassVar
from uuid import uuid4
from zoneinfo import ZoneInfo

Clock = Callable[[], datetime]
"""Gives the present moment, always with the person's zone (a `ZoneInfo`) attached."""


class SecretUnavailable(Exception):
    """A password could not be had; the message says where it was looked for and what to do."""


class AccountProblem(Exception):
    """An account could not be reached or used; the message says why and what to do."""


class References:
    """Short, stable ids for things that tools have shown in this conversation.

    An id is the kind's first letter and a number: the third event shown is ``e3``.
    """

    def __init__(self, known: Mapping[str, tuple[str, str]] | None = None) -> None:
        self._known: dict[str, tuple[str, str]] = dict(known or {})

    def name(self, kind: str, key: str) -> str:
        """Return the id of the thing of that `kind` with that `key`, giving it one if it has none."""
        for name, thing in self._known.items():
            if thing == (kind, key):
                return name
        count = sum(1 for other, _ in self._known.values() if other[0] == kind[0])
        name = f"{kind[0]}{count + 1}"
        self._known[name] = (kind, key)
        return name

    def key(self, kind: str, name: str) -> str | None:
        """Return the key behind an id, or None where no such id was shown."""
        thing = self._known.get(name)
        return thing[1] if thing and thing[0] == kind else None

    def names(self, kind: str) -> list[str]:
        """Return all ids of that kind, oldest first."""
        return [name for name, (other, _) in self._known.items() if other == kind]

    def as_dict(self) -> dict[str, tuple[str, str]]:
        """Return what `References(…)` takes, for keeping with the conversation."""
        return dict(self._known)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The circumstances of one call."""

    clock: Clock
    words: str = ""
    """What the person said in this turn; `UserWords` arguments are spans of it."""
    references: References = field(default_factory=References)
    call_key: str = field(default_factory=lambda: str(uuid4()))
    """A UUID (RFC 9562) of this call's own, for whatever it makes. The same when the call is proposed
    again: a proposal must come out the same as long as nothing has changed."""
    progress: Callable[[str], None] = field(default=lambda _text: None)
    """Shows the person a further piece of text while a call is running; may hold text from outside.
    To be called on the event loop."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the person stops the turn: a call that takes long then ends by itself."""

    @property
    def now(self) -> datetime:
        """The present moment in the person's zone."""
        return self.clock()

    @property
    def zone(self) -> ZoneInfo:
        """The person's time zone."""
        zone = self.clock().tzinfo
        if not isinstance(zone, ZoneInfo):
            raise TypeError("the clock must give datetimes with a ZoneInfo")
        return zone


@dataclass(frozen=True)
class Account:
    """A configured account: its name, its kind (such as ``caldav``) and its settings, no secret."""

    name: str
    kind: str
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


class AccountKind(ABC):
    """A kind of account a plugin can use, for `botpsy account add KIND`."""

    kind: ClassVar[str]
    description: ClassVar[str]
    needs_secret: ClassVar[bool] = True
    usual_address: ClassVar[str] = ""
    """The address where the person names none; empty where there is none that fits all."""

    def settings_of(self, address: str, user: str | None) -> dict[str, str]:
        """Return the settings that ``botpsy account add KIND ADDRESS --user NAME`` begins with."""
        return {"url": address, **({"username": user} if user else {})}

    @abstractmethod
    async def connect(self, settings: Mapping[str, str], secret: str | None) -> tuple[dict[str, str], str]:
        """Log in with these settings and find what is missing.

        Returns the completed settings and one sentence saying what was found. Raises
        `AccountProblem`, changing nothing, where the server can't be used.
        """


@dataclass(frozen=True, kw_only=True)
class Host:
    """What the house offers a plugin for its lifetime."""

    data_folder: Path
    """A folder of the plugin's own, made on first use."""
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    """The plugin's own table of the settings file."""
    own_folders: Sequence[Path] = ()
    """The house's own folders (settings, data, cache), which no tool may show or change."""
    accounts: Sequence[Account] = ()
    """The accounts of the kinds that the plugin declares."""
    secret: Callable[[Account], str]
    """Gives an account's password; raises `SecretUnavailable`. May block: call it in a thread."""
    clock: Clock
