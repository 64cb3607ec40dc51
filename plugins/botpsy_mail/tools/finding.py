"""The tool that lists mails: what is new, and what fits a person's words."""

import re
from dataclasses import replace

from pydantic import BaseModel, Field, TypeAdapter

from botpsy_mail.content import without_signature
from botpsy_mail.dates import Days, show_days
from botpsy_mail.limits import MessageUnsafe
from botpsy_mail.mailroom import Mailroom, whose
from botpsy_mail.opening import open_message, shortened
from botpsy_mail.store import Headline, Role
from botpsy_mail.wishes import Wish, joined, with_person
from botpsy_mail.wording import person_in, read_wish
from botpsy_tui.plugin import (
    Context,
    Line,
    Outcome,
    Preview,
    Proposal,
    Risk,
    Tool,
    UserWords,
    for_display,
    for_display_line,
    for_model,
)

_USUALLY_SHOWN = 10
_MOST_SHOWN = 30
_WISH = TypeAdapter(Wish)
_ASKS_WHAT_IT_SAYS = re.compile(
    r"\b(?:what|when|where|why|how|who)\b.*\b(?:say|says|said|write|wrote|written|want|wants|ask|asks|asked)\b",
    re.IGNORECASE,
)
_LONGEST_ANSWER = 1500


class FindMailArguments(BaseModel):
    """Whose mail, about what, from when; with nothing, what is new."""

    person: UserWords | None = Field(None, description="Who it is from or to, only if said.")
    about: UserWords | None = Field(None, description="Words of the mail, only if said.")
    when: UserWords | None = Field(None, description="The day or days, only if said.")


class FindMail(Tool[FindMailArguments]):
    """A list of mails."""

    name = "find_mail"
    description = "List mails: what is new or unread, or those of a person, about something, of a day."
    arguments = FindMailArguments
    highest_risk = Risk.READ

    def __init__(self, room: Mailroom) -> None:
        self._room = room

    async def propose(self, arguments: FindMailArguments, context: Context) -> Proposal:
        """Resolve what is asked for. No mail is read yet."""
        wish = await self._wish(arguments, context)
        return self.propose_with(
            arguments,
            risk=Risk.READ,
            preview=Preview("Look for mail", tuple(_lines(wish))),
            payload={
                "wish": _WISH.dump_python(wish, mode="json"),
                "says": _ASKS_WHAT_IT_SAYS.search(context.words) is not None,
            },
        )

    async def commit(self, proposal: Proposal, context: Context) -> Outcome:
        """Search the mailboxes."""
        wish = _WISH.validate_python(proposal.payload["wish"])
        most = min(wish.count or _USUALLY_SHOWN, _MOST_SHOWN)
        found, count = await self._room.find(wish, _MOST_SHOWN * 10 if wish.oldest else most, context)
        found = found[::-1][:most] if wish.oldest else found
        what = _what(wish)
        notes = [f"Note: {warning}" for warning in self._room.warnings]
        if not found:
            text = "\n".join([f"{what}: none.", *notes])
            return Outcome(for_model(text), for_display(text), complete=True)
        self._room.list_was_shown(found, context)
        own = wish.role in (Role.SENT, Role.DRAFTS)
        rows = [
            f"{i}. {self._room.describe(headline, context, own=own)}" for i, headline in enumerate(found, 1)
        ]
        shown = f"the {'oldest' if wish.oldest else 'newest'} {len(found)} of " if count > len(found) else ""
        heading = f"{what}: {shown}{count} mail{'s' * (count != 1)}"
        said = await self._said(found[0]) if proposal.payload["says"] and len(found) == 1 else ""
        text = "\n".join([heading, *rows, *notes, *([said] if said else [])])
        # A list is all there is to say; what a mail says is for the model to answer with.
        return Outcome(for_model(text), for_display(text), complete=not said, sources=whose(found))

    async def _said(self, headline: Headline) -> str:
        """Return what the one mail that fits says, where the question is after that."""
        try:
            opened = open_message(await self._room.read(headline.key), self._room.own_addresses)
        except MessageUnsafe as error:
            return str(error)
        return shortened(without_signature(opened.body(whole=False)), _LONGEST_ANSWER)

    async def _wish(self, arguments: FindMailArguments, context: Context) -> Wish:
        folders = await self._room.folders()
        today = context.now.date()
        sentence = read_wish(context.words, today, folders, whole_sentence=True)
        about = read_wish(f"{arguments.about or ''} {arguments.when or ''}".strip(), today, folders)
        if arguments.about and len(arguments.about) > 0.9 * len(context.words):
            about = sentence  # the model has pointed at everything that was said
        wish = joined(replace(about, ids=(), position=None), replace(sentence, position=None))
        if arguments.person and (name := person_in(arguments.person)):
            before = context.words.partition(arguments.person)[0].lower().split()[-1:]
            wish = with_person(wish, name, *before or [""])
        return replace(wish, ids=())


def _lines(wish: Wish) -> list[Line]:
    query = wish.query
    days = Days(query.first, query.last) if query.first or query.last else None
    state = [
        *(["unread"] if query.unread else []),
        *(["flagged"] if query.flagged else []),
        *(["not answered"] if query.answered is False else []),
        *(["with attachments"] if query.attachments else []),
    ]
    where = wish.folder.path if wish.folder else wish.role.value if wish.role else ""
    found = (
        ("From", ", ".join(query.sender)),
        ("To", ", ".join(query.recipient)),
        ("With", ", ".join(query.people)),
        ("Words", ", ".join(wish.terms)),
        ("When", show_days(days) if days else ""),
        ("Only", ", ".join(state)),
        ("Folder", where),
    )
    return [Line(label, for_display_line(value)) for label, value in found if value] or [
        Line("What", "the newest in the inbox")
    ]


def _what(wish: Wish) -> str:
    parts = {line.label: line.value for line in _lines(wish)}
    said = [
        "Mail",
        *([f"({parts['Only']})"] if "Only" in parts else []),
        *([f"from {parts['From']}"] if "From" in parts else []),
        *([f"to {parts['To']}"] if "To" in parts else []),
        *([f"with {parts['With']}"] if "With" in parts else []),
        *([f"about “{parts['Words']}”"] if "Words" in parts else []),
        *([parts["When"]] if "When" in parts else []),
        *([f"in {parts['Folder']}"] if "Folder" in parts else []),
    ]
    return " ".join(said) if len(said) > 1 else "Mail in the inbox"
