"""Slash commands: typed in the composer, or chosen in the palette."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command."""

    name: str
    title: str
    description: str


COMMANDS = (
    Command("help", "Help", "Show the commands"),
    Command("new", "New conversation", "Begin anew; the model forgets what was said"),
    Command("copy", "Copy answer", "Copy the last answer"),
    Command("pending", "Calls that wait", "Decide on calls that nobody could be asked about"),
    Command("outbox", "Outbox", "Show what was approved and has not left yet"),
    Command("undo", "Undo", "Take back the last call that changed something, or the one with that number"),
    Command("audit", "Audit", "Show what was proposed, decided and done of late"),
    Command("permissions", "Permissions", "Show your rules, and take one back"),
    Command("quit", "Quit", "End BotPsy"),
)


def number_of(words: str) -> int | None:
    """Return the number that was typed behind a command, or None."""
    rest = words.split()[1:]
    return int(rest[0]) if rest and rest[0].isdecimal() else None


def command_of(words: str) -> Command | None:
    """Return the command that was typed, or None where there is none of that name."""
    name = words.removeprefix("/").split(maxsplit=1)[0] if words.strip("/ ") else ""
    return next((command for command in COMMANDS if command.name == name), None)
