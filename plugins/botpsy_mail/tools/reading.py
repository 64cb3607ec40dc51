"""The tool that opens a mail, or a whole thread. Reading marks nothing and loads nothing."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from botpsy_mail.content import without_signature
from botpsy_mail.limits import MessageUnsafe
from botpsy_mail.mailroom import Mailroom, show_moment, whose
from botpsy_mail.opening import Opened, open_message, shortened, shown_attachment
from botpsy_mail.store import Headline, MessageKey
from botpsy_tui.plugin import (
    Context,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    ToolError,
    UserWords,
    for_display,
    for_display_line,
    for_model,
)

_FOR_MODEL = 3000
"""Characters of a mail that the model is given."""
_FOR_PERSON = 40_000
_MOST_IN_THREAD = 20
_THREAD = re.compile(r"\b(?:thread|conversation|exchange|discussion)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\b(?:whole|full|entire|complete|quoted|quotes|unfolded)\b", re.IGNORECASE)
_SIGNS_SHOWN = 6


class ReadMailArguments(BaseModel):
    """Which mail."""

    mail: UserWords = Field(description="Words that name the mail: its id, sender or subject.")


class ReadMail(Tool[ReadMailArguments]):
    """What a mail, or a thread, says."""

    name = "read_mail"
    description = "Read one mail or a thread: what it says and what is attached."
    arguments = ReadMailArguments
    highest_risk = Risk.READ

    def __init__(self, room: Mailroom) -> None:
        self._room = room

    async def propose(self, arguments: ReadMailArguments, context: Context) -> Proposal:
        """Find the mail that is meant; of several the newest, and the others are told."""
        found = await self._room.which(arguments.mail, context)
        chosen = found[0]
        thread = _THREAD.search(f"{arguments.mail} {context.words}") is not None
        lines = [
            Line("From", chosen.sender.shown.text or "nobody"),
            Line("Subject", for_display_line(chosen.subject) or "no subject"),
            Line("Came", show_moment(chosen.moment.astimezone(context.zone), context.now)),
        ]
        others = [self._room.describe(other, context) for other in found[1:]]
        return self.propose_with(
            arguments,
            risk=Risk.READ,
            preview=Preview("Read a thread" if thread else "Read a mail", tuple(lines)),
            payload={
                "key": chosen.key.as_text(),
                "thread": thread,
                "whole": _WHOLE.search(context.words) is not None,
                "others": [*others[:5]],
                "other_sources": [*whose(found[1:])] if others else [],
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Read it, as it is now."""
        payload = proposal.payload
        key = MessageKey.from_text(str(payload["key"]))
        headline = await self._room.store(key.account).headline(key)
        self._room.was_opened(headline, context)
        if payload["thread"]:
            return await self._thread(headline, context)
        opened = await self._open(headline)
        name = self._room.name(headline, context)
        head = [f"{label}: {value}" for label, value in opened.head(context.zone)]
        notes = [*_notes(opened), *_others(payload["others"])]
        body = opened.body(whole=bool(payload["whole"]))
        text = "\n".join(
            [f"Mail [{name}]", *head, *notes, "", shortened(without_signature(body), _FOR_MODEL)]
        )
        view = "\n".join([*head, *notes, "", shortened(body, _FOR_PERSON)])
        others = payload["other_sources"]
        sources = (*whose([headline]), *(map(str, others) if isinstance(others, list) else ()))
        return Outcome(for_model(text), for_display(view), sources=sources)

    async def _thread(self, headline: Headline, context: Context) -> Outcome:
        """Show a thread's mails, the oldest first, each without what it quotes."""
        found = await self._room.thread(headline)
        kept = found if len(found) <= _MOST_IN_THREAD else [found[0], *found[1 - _MOST_IN_THREAD :]]
        heading = f"{len(found)} mail{'s' * (len(found) != 1)} in the thread"
        if len(kept) < len(found):
            heading += f", shown are the first and the last {len(kept) - 1}"
        texts, views = [heading], [heading]
        for one in kept:
            line = self._room.describe(one, context)
            try:
                body = (await self._open(one)).body(whole=False)
            except MessageUnsafe as error:
                body = str(error)
            texts.append(f"{line}\n{shortened(without_signature(body), _FOR_MODEL // len(kept))}")
            views.append(f"{line}\n{shortened(body, _FOR_PERSON // len(kept))}")
        self._room.list_was_shown(kept, context)
        self._room.was_opened(headline, context)
        return Outcome(for_model("\n\n".join(texts)), for_display("\n\n".join(views)), sources=whose(kept))

    async def _open(self, headline: Headline) -> Opened:
        try:
            return open_message(await self._room.read(headline.key), self._room.own_addresses)
        except MessageUnsafe as error:
            raise ToolError(str(error), sources=whose([headline])) from error


def _notes(opened: Opened) -> list[str]:
    """Return what a person should know before they read on."""
    attachments = [shown_attachment(one) for one in opened.content.attachments if not one.inline]
    return [
        *(f"Warning: {sign}" for sign in opened.signs[:_SIGNS_SHOWN]),
        *([f"Attached: {'; '.join(attachments)}"] if attachments else []),
        *(["It holds an invitation."] if opened.content.invitation else []),
    ]


def _others(lines: object) -> list[str]:
    found: Sequence[object] = lines if isinstance(lines, list) else []
    return [f"Others that fit: {'; '.join(map(str, found))}"] if found else []
