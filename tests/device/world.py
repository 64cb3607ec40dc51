"""What the device's tests share: a home with secrets, an opened folder, the plugin."""

import os
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from botpsy_device import DevicePlugin

from botpsy_tui.plugin import Context, Host, Outcome, Proposal, References, Tool

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=ZoneInfo("Europe/Berlin"))
SECRET = "open-sesame-4711"


def needs(*programs: str) -> None:
    """Skip where a program is missing on a person's machine; in CI that is a failure."""
    for program in programs:
        if shutil.which(program) is None:
            message = f"{program} is not installed"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)


class Machine:
    """A person's home in a temporary folder, with an opened folder `documents` in it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = folder / "home"
        self.documents = self.home / "Documents"
        self.app = self.home / ".local/share/botpsy"
        self.outside = folder / "outside"
        for place, name in (
            (self.documents, "notes.txt"),
            (self.home / ".ssh", "id_ed25519"),
            (self.home / ".gnupg", "key"),
            (self.app, "journal.sqlite"),
            (self.home / ".config/botpsy", "settings.toml"),
            (self.outside, "diary.txt"),
        ):
            place.mkdir(parents=True)
            (place / name).write_text("some notes\n" if place == self.documents else SECRET)
        monkeypatch.setenv("HOME", str(self.home))
        self.references = References()

    def plugin(self, **settings: object) -> DevicePlugin:
        return DevicePlugin(
            Host(
                data_folder=self.app / "device",
                settings={"folders": [str(self.documents)], **settings},
                own_folders=(self.app, self.home / ".config/botpsy"),
                secret=lambda _account: "",
                clock=lambda: NOW,
            )
        )

    def tools(self, **settings: object) -> dict[str, Tool[Any]]:
        return {tool.name: tool for tool in self.plugin(**settings).tools()}

    def context(self, words: str = "", **more: Any) -> Context:
        return Context(clock=lambda: NOW, words=words, references=self.references, **more)

    async def propose(self, tool: Tool[Any], **arguments: Any) -> Proposal:
        return await tool.propose(tool.arguments(**arguments), self.context())

    async def do(self, tool: Tool[Any], **arguments: Any) -> Outcome:
        return await tool.commit(await self.propose(tool, **arguments), self.context())

    def contents(self) -> Mapping[str, str]:
        """Return every file below the machine's folders with its text; links as what they point to."""
        return {
            str(path.relative_to(self.home.parent)): f"-> {path.readlink()}"
            if path.is_symlink()
            else path.read_text(errors="replace")
            for path in sorted(self.home.parent.rglob("*"))
            if path.is_symlink() or path.is_file()
        }


def lines(proposal: Proposal) -> dict[str, str]:
    """Return a preview's lines by their label."""
    return {line.label: line.value for line in proposal.preview.lines}
