"""The tool that files mails: to the archive, the trash or another folder; flagged, read or unread."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import BaseModel, Field

from botpsy_mail.mailroom import Mailroom, show_moment, whose
from botpsy_mail.roles import NEW_NAMES, role_in
from botpsy_mail.store import Flag, Folder, Headline, MessageKey, Missing, Role, StoreProblem
from botpsy_tui.plugin import (
    Context,
    Json,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    ToolError,
    Undo,
    UserWords,
    for_display,
    for_display_line,
    for_model,
)

Action = Literal["archive", "delete", "move", "flag", "unflag", "read", "unread"]
_MARKS: dict[str, tuple[Flag, bool]] = {
    "flag": (Flag.FLAGGED, True),
    "unflag": (Flag.FLAGGED, False),
    "read": (Flag.SEEN, True),
    "unread": (Flag.SEEN, False),
}
_DONE = {
    "archive": "archived",
    "delete": "moved to the trash",
    "move": "moved",
    "flag": "flagged",
    "unflag": "no longer flagged",
    "read": "marked as read",
    "unread": "marked as unread",
}
_TITLES = {
    "archive": "Archive",
    "delete": "Delete",
    "move": "Move",
    "flag": "Flag",
    "unflag": "Take the flag off",
    "read": "Mark as read",
    "unread": "Mark as unread",
}
_TARGET = re.compile(r"\b(?:to|into)\s+(?:the\s+|my\s+)?(.+?)(?:\s+folder)?[.!?\s]*$", re.IGNORECASE)
_AS_MARKED = re.compile(r"\bas (?:un)?read\b|^\s*(?:un)?(?:flag|star)\b", re.IGNORECASE)
_AROUND_A_FOLDER = re.compile(r"^(?:to |into )?(?:the |my )?|(?: folder)?$", re.IGNORECASE)
_MOST_OFFERED = 12


class FileMailArguments(BaseModel):
    """Which mails, and what becomes of them."""

    mail: UserWords = Field(description="Words that name the mails: id, sender or subject.")
    action: Action
    folder: UserWords | None = Field(None, description="Where to, for move only.")


class FileMail(Tool[FileMailArguments]):
    """Moves and marks mails; each can be taken back."""

    name = "file_mail"
    description = "Archive, delete, move, flag mails, or mark them as read or unread."
    arguments = FileMailArguments
    highest_risk = Risk.DESTRUCTIVE

    def __init__(self, room: Mailroom) -> None:
        self._room = room

    async def propose(self, arguments: FileMailArguments, context: Context) -> Proposal:
        """Find the mails and where they go; freeze how they are now."""
        mails = await self._mails(arguments, context)
        steps = [await self._step(arguments, mail, context) for mail in mails]
        targets = list(dict.fromkeys(step.to.path for step in steps if step.to))
        lines = [*_lines(mails, context, self._room)]
        lines.append(Line("In", for_display_line(", ".join(dict.fromkeys(_place(m.key) for m in mails)))))
        if targets:
            new = " (a new folder)" if any(step.make for step in steps) else ""
            lines.append(Line("To", for_display_line(", ".join(targets)) + new))
        count = f"{len(mails)} mails" if len(mails) > 1 else "a mail"
        said = f"“{mails[0].subject}” is" if len(mails) == 1 else f"{len(mails)} mails are"
        where = f" to {targets[0]}" if arguments.action == "move" and targets else ""
        return self.propose_with(
            arguments,
            risk=Risk.DESTRUCTIVE if arguments.action == "delete" else Risk.WRITE,
            preview=Preview(f"{_TITLES[arguments.action]}: {count}", tuple(lines)),
            payload={
                "action": arguments.action,
                "steps": [step.as_json() for step in steps],
                "said": f"{said} {_DONE[arguments.action]}{where}.",
                "sources": [*whose(mails)],
            },
            facts={
                "account": ", ".join(dict.fromkeys(mail.key.account for mail in mails)),
                "folder": ", ".join(dict.fromkeys(mail.key.folder for mail in mails)),
                "to": ", ".join(targets),
                "from": [mail.sender.address for mail in mails],
                "subject": [mail.subject for mail in mails],
                "count": len(mails),
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Do it, one mail after the other; what was done before one fails stays, and is said."""
        action = str(proposal.payload["action"])
        listed = proposal.payload["steps"]
        steps = [_Step.from_json(step) for step in (listed if isinstance(listed, list) else [])]
        back: list[Json] = []
        done, problem = 0, ""
        for step in steps:
            try:
                if undo := await self._do(action, step):
                    back.append(undo)
            except StoreProblem as error:
                if not done:
                    raise
                problem = str(error)
                break
            done += 1
        text = str(proposal.payload["said"])
        if problem:
            text = f"{done} of {len(steps)} mails were {_DONE[action]}; then: {problem}"
        undo = Undo("Put it back" if len(steps) == 1 else "Put them back", {"steps": back}) if back else None
        sources = proposal.payload["sources"]
        return Outcome(
            for_model(text),
            for_display(text),
            undo,
            complete=True,
            sources=tuple(map(str, sources)) if isinstance(sources, list) else (),
        )

    async def undo(self, undo: Undo, context: Context) -> Outcome:
        """Put mails back where they were, and marks as they were."""
        listed = undo.data["steps"]
        steps = [step for step in (listed if isinstance(listed, list) else []) if isinstance(step, dict)]
        for step in steps:
            key = MessageKey.from_text(str(step["key"]))
            store = self._room.store(key.account)
            try:
                await store.headline(key)
                if "back" in step:
                    await store.move(key, Folder(key.account, str(step["back"])))
                else:
                    flag, on = Flag(str(step["flag"])), bool(step["on"])
                    await store.mark(key, **{"add" if on else "remove": [flag]})
            except Missing as error:
                raise ToolError(
                    "A mail is not where it was put any more, so this can't be undone; look for it by hand."
                ) from error
        text = "Undone: the mail is as it was." if len(steps) == 1 else "Undone: the mails are as they were."
        return Outcome(text, text)

    async def _mails(self, arguments: FileMailArguments, context: Context) -> list[Headline]:
        """Return the mails that are meant. Where several fit and one is meant, raises `ToolError`.

        What the words say of the deed ("as unread", "to Taxes") says nothing of which mail it is.
        """
        undone = _TARGET if arguments.action == "move" else _AS_MARKED
        words = undone.sub("", arguments.mail).strip() or arguments.mail
        context = replace(context, words=undone.sub("", context.words))
        wish = await self._room.wish(words, context)
        found = await self._room.which(words, context, several=wish.several)
        if len(found) > 1 and not wish.several:
            rows = [self._room.describe(mail, context) for mail in found]
            self._room.list_was_shown(found, context)
            raise ToolError(
                for_model("Several mails fit; ask the person which one is meant: " + "; ".join(rows)),
                sources=whose(found),
            )
        return found

    async def _step(self, arguments: FileMailArguments, mail: Headline, context: Context) -> "_Step":
        action, account = arguments.action, mail.key.account
        if action in _MARKS:
            return _Step(mail.key, mail.message_id, sorted(flag.value for flag in mail.flags))
        make = False
        if action == "move":
            target = await self._target(arguments, account, context)
        else:
            role = Role.ARCHIVE if action == "archive" else Role.TRASH
            found = await self._room.folder(account, role)
            if found is None and role is Role.ARCHIVE:
                found = await self._room.folder(account, Role.ALL)
            make = found is None
            target = found or Folder(account, NEW_NAMES[role], role)
        if target.path == mail.key.folder:
            more = "; deleting it for good is left to you" if action == "delete" else ""
            raise ToolError(
                for_model(f"“{mail.subject}” is in {target.path} already{more}."), sources=whose([mail])
            )
        return _Step(mail.key, mail.message_id, [], target, make)

    async def _target(self, arguments: FileMailArguments, account: str, context: Context) -> Folder:
        """Return the folder that is named, by its name or what it is for. Raises `ToolError`."""
        words = arguments.folder or ""
        if not words and (match := _TARGET.search(context.words)):
            words = match[1]
        plain = _AROUND_A_FOLDER.sub("", words.strip(" .!?\"'“”"))
        folders = await self._room.store(account).folders()
        names = {folder: re.split(r"[./]", folder.path)[-1].casefold() for folder in folders}
        wanted, role = plain.casefold(), role_in(plain)
        for fits in (
            lambda folder: folder.path.casefold() == wanted,
            lambda folder: names[folder] == wanted,
            lambda folder: role is not None and folder.role is role,
            lambda folder: len(wanted) > 2 and names[folder].startswith(wanted),
        ):
            found = [folder for folder in folders if fits(folder)]
            if len(found) == 1:
                return found[0]
        known = ", ".join(folder.path for folder in folders[:_MOST_OFFERED])
        raise ToolError(for_model(f"There is no folder {plain!r} in {account}; there are: {known}."))

    async def _do(self, action: str, step: "_Step") -> Json:
        """Do one step; return what takes it back, or None where nothing can or need."""
        store = self._room.store(step.key.account)
        if mark := _MARKS.get(action):
            flag, on = mark
            if on == (flag.value in step.flags):
                return None
            await store.mark(step.key, **{"add" if on else "remove": [flag]})
            return {"key": step.key.as_text(), "flag": flag.value, "on": not on}
        target = step.to or Folder(step.key.account, "")
        if step.make and target.role:
            there = await self._room.folder(step.key.account, target.role)
            target = there or await store.make(target.role)
        moved = await store.move(step.key, target)
        return {"key": moved.as_text(), "back": step.key.folder} if moved else None


@dataclass(frozen=True)
class _Step:
    """What becomes of one mail."""

    key: MessageKey
    message_id: str
    flags: list[str]
    """Its flags as they were shown."""
    to: Folder | None = None
    make: bool = False
    """True where the folder has to be made first."""

    def as_json(self) -> Json:
        """Return it for a payload."""
        to: Json = (
            [self.to.account, self.to.path, self.to.role.value if self.to.role else ""] if self.to else None
        )
        return {
            "key": self.key.as_text(),
            "message_id": self.message_id,
            "flags": [*self.flags],
            "to": to,
            "make": self.make,
        }

    @classmethod
    def from_json(cls, data: Json) -> "_Step":
        """Return what `as_json` wrote."""
        step = data if isinstance(data, dict) else {}
        to, flags = step.get("to"), step.get("flags")
        folder = None
        if isinstance(to, list):
            account, path, role = map(str, to)
            folder = Folder(account, path, Role(role) if role else None)
        return cls(
            MessageKey.from_text(str(step["key"])),
            str(step["message_id"]),
            [str(flag) for flag in flags] if isinstance(flags, list) else [],
            folder,
            bool(step["make"]),
        )


def _lines(mails: Sequence[Headline], context: Context, room: Mailroom) -> list[Line]:
    if len(mails) > 1:
        return [
            Line(f"{i}", for_display_line(room.describe(mail, context))) for i, mail in enumerate(mails, 1)
        ]
    (mail,) = mails
    return [
        Line("From", mail.sender.shown.text or "nobody"),
        Line("Subject", for_display_line(mail.subject) or "no subject"),
        Line("Came", show_moment(mail.moment.astimezone(context.zone), context.now)),
    ]


def _place(key: MessageKey) -> str:
    return f"{key.folder} ({key.account})"
