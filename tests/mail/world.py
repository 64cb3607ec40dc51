"""What the tests of the mail's tools share: a clock that stands still, a mailbox, one conversation."""

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from botpsy_mail import MailPlugin

from botpsy_tui.plugin import Account, Context, Host, Outcome, Proposal, References, Tool
from tests.mail.letters import letter

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 12, 1, 9, 0, tzinfo=BERLIN)  # a Tuesday
LENA, TOM, SHOP = "Lena Ott <lena@example.org>", "Tom Reed <tom@example.net>", "Shop <billing@shop.example>"

MAILS: Mapping[str, tuple[bytes, timedelta, str]] = {
    "lunch": (
        letter("Lunch?", "Shall we meet at noon in the Green Goose?\n", sender=LENA),
        timedelta(hours=1),
        "",
    ),
    "invoice": (
        letter("Invoice 17", "The sum is 20 euro.\n", sender=SHOP, attached="invoice.pdf"),
        timedelta(days=1),
        "",
    ),
    "choir": (
        letter("Notes on the choir", "The concert is on the 12th.\n", sender=TOM),
        timedelta(days=4),
        "S",
    ),
    "old": (letter("Holiday photos", "As promised.\n", sender=LENA), timedelta(days=40), "S"),
    "plan": (letter("Plan for the office", "Room 5 is free.\n", sender=TOM), timedelta(days=8), "FS"),
}
"""By name: the message, how long ago it came, its flags (none: new)."""


class World:
    """A plugin on a local mailbox, and one conversation with it."""

    def __init__(self, folder: Path, *accounts: Account, secret: str = "", **settings: object) -> None:
        self.mailbox = folder / "mailbox"
        self.plugin = MailPlugin(
            Host(
                data_folder=folder,
                settings=settings,
                accounts=accounts,
                secret=lambda _account: secret,
                clock=lambda: NOW,
            )
        )
        self.references = References()
        self.tools: dict[str, Tool[Any]] = {tool.name: tool for tool in self.plugin.tools()}
        for name in ("", ".Sent", ".Drafts", ".Archive", ".Trash"):
            for part in ("cur", "new", "tmp"):
                (self.mailbox / name / part).mkdir(parents=True, exist_ok=True)

    def fill(self) -> "World":
        for name, (raw, ago, flags) in MAILS.items():
            self.add(name, raw, ago=ago, flags=flags)
        return self

    def add(
        self, name: str, raw: bytes, *, ago: timedelta = timedelta(), flags: str = "", folder: str = ""
    ) -> None:
        place = self.mailbox / (f".{folder}" if folder else "")
        path = place / "cur" / f"{name}:2,{flags}" if flags else place / "new" / name
        path.write_bytes(raw)
        moment = (NOW - ago).timestamp()
        os.utime(path, (moment, moment))

    def files(self, folder: str = "") -> dict[str, str]:
        """Subject of every message in a folder, with its flags, read from the files alone."""
        place = self.mailbox / (f".{folder}" if folder else "")
        found: dict[str, str] = {}
        for part in ("new", "cur"):
            for path in sorted((place / part).glob("*")):
                subject = path.read_text().partition("\nSubject: ")[2].partition("\n")[0]
                found[subject] = path.name.partition(":2,")[2]
        return found

    def context(self, words: str = "") -> Context:
        return Context(clock=lambda: NOW, words=words, references=self.references)

    async def propose(self, name: str, words: str = "", **arguments: str) -> Proposal:
        tool = self.tools[name]
        return await tool.propose(tool.arguments(**arguments), self.context(words))

    async def commit(self, proposal: Proposal) -> Outcome:
        return await self.tools[proposal.tool].commit(proposal, self.context())

    async def do(self, name: str, words: str = "", **arguments: str) -> Outcome:
        return await self.commit(await self.propose(name, words, **arguments))

    async def undo(self, name: str, outcome: Outcome) -> Outcome:
        assert outcome.undo is not None
        return await self.tools[name].undo(outcome.undo, self.context())


def lines(proposal: Proposal) -> dict[str, str]:
    return {line.label: line.value for line in proposal.preview.lines}
