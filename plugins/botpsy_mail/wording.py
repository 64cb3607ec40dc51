"""Reads a person's words for mail: names, subjects, days, states, places in a list.

The model only points at words. What they mean is read here.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

from botpsy_mail.dates import Days, find_days
from botpsy_mail.roles import role_in
from botpsy_mail.store import Folder, Query, Role
from botpsy_mail.wishes import Wish

_FILLERS = frozenset(
    """
    a an the my our your his her their any all some every each mail mails email emails e-mail e-mails
    message messages letter letters inbox mailbox folder thread conversation one ones subject sender me
    i we us you he she they who what which whose that this these those it its them there where when whom
    something anything is are was were be been do does did have has had will would can could should
    please show list find search look looking read open get got give see check tell say says said for
    from to about of in on at by with and or not into regarding concerning re if send sent sends write
    wrote written writes receive received came come arrive arrived last latest newest recent most first
    oldest earliest new unread flagged starred unanswered attachment attachments attached since reply
    answer forward delete archive move mark flag up out whats what's again just still yet now how many
    much as so ever no yes two three five ten pdf file files everything i've haven't anyone someone
    """.split()  # noqa: SIM905 - a list of one word a line would be pages long
)
"""Words that name no mail."""

_UNREAD = re.compile(
    r"\bunread\b|\b(?:not|haven't|have not)\b.{0,12}\b(?:read|opened|seen)\b"
    r"|\bwhat(?:'|’)?s (?:new|up)\b|\b(?:any|some)thing new\b|\bnew (?:(?:e-?)?mails?|messages?|ones?)\b"
    r"|\bnews? in my (?:inbox|mail)\b|\bwhat is new\b",
    re.IGNORECASE,
)
_FLAGGED = re.compile(r"\b(?:flagged|starred)\b", re.IGNORECASE)
_UNANSWERED = re.compile(
    r"\bunanswered\b|\b(?:not|haven't|have not|didn't)\b.{0,12}\b(?:answered|answer|replied|reply)\b",
    re.IGNORECASE,
)
_ATTACHED = re.compile(
    r"\battach(?:ments?|ed)\b|\bwith (?:a |the )?(?:pdf|file|picture|photo|document)s?\b", re.I
)
_NEWEST = re.compile(r"\b(?:last|latest|newest|most recent)\b", re.IGNORECASE)
_OLDEST = re.compile(r"\b(?:first|oldest|earliest)\b", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\b(?:all|every|both|mails|emails|e-mails|messages|them|these|those|everything)\b", re.IGNORECASE
)
_COUNT = re.compile(
    r"\b(?:last|latest|newest|first|oldest)\s+(\d{1,2}|two|three|four|five|ten)\b"
    r"|\b(\d{1,2}|two|three|four|five|ten)\s+(?:last|latest|newest|most recent)\b",
    re.IGNORECASE,
)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
_ID = re.compile(r"\bm\d{1,4}\b", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_POSITION = re.compile(
    rf"\b(?:(?P<word>{'|'.join(_ORDINALS)})|(?P<nth>\d{{1,2}})(?:st|nd|rd|th))(?:\s+(?:one|mail|e-?mail|message))?\b"
    r"|\b(?:number|no\.?|nr\.?)\s*(?P<number>\d{1,2})\b|#(?P<hash>\d{1,2})\b",
    re.IGNORECASE,
)
_WHO_ENDS = (
    r"(?=\s+(?:about|regarding|concerning|on|with|in|to|from|that|which|who|and|saying|since|before|after|as|is"
    r"|say|says|want|wants|wrote|write|sent|send|is|was|came|asking|titled|called|into|for|at|of|the)\b|[,;:?!]|\.\s|\.?$)"
)
_FROM = re.compile(rf"\b(?:from|by)\s+(?P<who>\S.*?){_WHO_ENDS}", re.IGNORECASE)
_TO = re.compile(
    rf"\b(?:(?:sent|send|wrote|write|written|mails?|e-?mails?|messages?)\s+to)\s+(?P<who>\S.*?){_WHO_ENDS}",
    re.I,
)
_WITH = re.compile(rf"\b(?:with|between me and)\s+(?P<who>\S.*?){_WHO_ENDS}", re.IGNORECASE)
_WHOSE = re.compile(r"(?P<who>[\w@.+-]+)(?:'|’)s\b")
_WROTE = re.compile(
    r"\b(?:did|has|have)\s+(?P<who>[\w@.+-]+(?: [A-Z][\w-]+)?)\s+(?:write|wrote|send|sent|written|say|said)",
    re.I,
)
_ABOUT = re.compile(
    r"\b(?:about|regarding|concerning|titled|called|with the subject|on the subject of)\s+(?P<what>[^,;?!]+)",
    re.I,
)
_QUOTED = re.compile(r"[\"“„«]([^\"”“»]{2,80})[\"”“»]")
_SENT_BY_ME = re.compile(
    r"\b(?:mails?|messages?|e-?mails?)\s+(?:that\s+)?i(?:'ve| have)?\s+(?:sent|wrote|written)"
    r"|\bdid i\s+(?:\w+\s+)?(?:send|write|answer)\b|\bi\s+(?:sent|wrote)\b|\bmy sent\b",
    re.IGNORECASE,
)
_IN_FOLDER = re.compile(
    r"\b(?:in|from|of)\s+(?:the\s+|my\s+)?(?P<name>trash|bin|drafts?|sent(?:\s+(?:mail|items|folder))?|spam|junk"
    r"|archive)\b|\b(?P<bare>drafts|spam)\b",
    re.IGNORECASE,
)
_NOT_PEOPLE = frozenset(
    ("me", "you", "it", "this", "that", "attachment", "attachments", "today", "yesterday", "all")
)


def read_wish(
    words: str, today: date, folders: Sequence[Folder] = (), *, whole_sentence: bool = False
) -> Wish:
    """Return what words ask for. Raises `ToolError` for a day that does not exist.

    `whole_sentence`: the words are all that the person said: then only what is introduced ("from …",
    "about …") counts as a name or a subject, and not every word that is left.
    """
    ids = tuple(dict.fromkeys(found.lower() for found in _ID.findall(words)))
    days, rest = find_days(words, today)
    folder, rest = _folder_in(rest, folders)
    role, rest = (None, rest) if folder else _role_in(rest)
    count, rest = _count_in(rest)
    state, rest = _state_in(rest)
    query = replace(state, first=days.first if days else None, last=days.last if days else None)
    quoted = _QUOTED.findall(rest)
    rest = _QUOTED.sub(" ", rest)
    query, rest = _people_in(query, rest)
    about = _ABOUT.search(rest)
    if about:
        rest = f"{rest[: about.start()]} {rest[about.end() :]}"
    position = _position_in(rest) if not (query.sender or query.people or about or ids) else None
    left = [] if whole_sentence else _significant(_POSITION.sub(" ", rest) if position else rest)
    terms = [*quoted, *(_significant(about["what"]) if about else []), *left]
    return Wish(
        query=query,
        terms=tuple(dict.fromkeys(terms)),
        ids=ids,
        position=position,
        newest=_NEWEST.search(words) is not None and _last_is_no_day(words, today),
        oldest=_OLDEST.search(words) is not None and position is None,
        several=_SEVERAL.search(words) is not None or (count or 1) > 1,
        count=count,
        role=role,
        folder=folder,
    )


def _state_in(text: str) -> tuple[Query, str]:
    query = Query(
        unread=True if _UNREAD.search(text) else None,
        flagged=True if _FLAGGED.search(text) else None,
        answered=False if _UNANSWERED.search(text) else None,
        attachments=_ATTACHED.search(text) is not None,
    )
    for pattern in (_UNREAD, _FLAGGED, _UNANSWERED, _ATTACHED):
        text = pattern.sub(" ", text)
    return query, text


def _people_in(query: Query, text: str) -> tuple[Query, str]:
    """Read who it is from, to or with; the text comes back without them."""
    for pattern, place in (
        (_TO, "recipient"),
        (_FROM, "sender"),
        (_WROTE, "sender"),
        (_WHOSE, "sender"),
        (_WITH, "people"),
    ):
        match = pattern.search(text)
        if not match or not (name := person_in(match["who"])):
            continue
        found = (name,)
        if place == "recipient":
            query = replace(query, recipient=found)
        elif place == "sender":
            query = replace(query, sender=found)
        else:
            query = replace(query, people=found)
        return query, f"{text[: match.start()]} {text[match.end() :]}"
    return query, text


def person_in(text: str) -> str:
    """Return a person's name or address without the small words around it."""
    words = [
        word for word in text.strip(" .,;:?!\"'“”").split() if word.lower() not in _FILLERS | _NOT_PEOPLE
    ]
    return re.sub(r"(?:'|’)s$", "", " ".join(words[:4]))


def _folder_in(text: str, folders: Iterable[Folder]) -> tuple[Folder | None, str]:
    """Return the folder that is named with "in", or as "the … folder"."""
    for folder in folders:
        last = re.split(r"[./]", folder.path)[-1]
        if folder.role is Role.INBOX or len(last) < 2:
            continue
        name = re.escape(last)
        pattern = rf"\b(?:in|from)\s+(?:the\s+|my\s+)?{name}(?:\s+folder)?(?!\w)|\b{name}\s+folder\b"
        if match := re.search(pattern, text, re.IGNORECASE):
            return folder, f"{text[: match.start()]} {text[match.end() :]}"
    return None, text


def _role_in(text: str) -> tuple[Role | None, str]:
    if match := _IN_FOLDER.search(text):
        name = match["name"] or match["bare"]
        return role_in(name.lower()), f"{text[: match.start()]} {text[match.end() :]}"
    return (Role.SENT if _SENT_BY_ME.search(text) else None), text


def _count_in(text: str) -> tuple[int | None, str]:
    match = _COUNT.search(text)
    if not match:
        return None, text
    said = (match[1] or match[2]).lower()
    return _NUMBERS.get(said) or int(said), f"{text[: match.start()]} last {text[match.end() :]}"


def _position_in(text: str) -> int | None:
    match = _POSITION.search(text)
    if not match:
        return None
    if match["word"]:
        return _ORDINALS.index(match["word"].lower()) + 1
    return int(match["nth"] or match["number"] or match["hash"])


def _last_is_no_day(words: str, today: date) -> bool:
    """Say whether "last" is still there when the days ("last week") are taken out."""
    days: Days | None
    days, rest = find_days(words, today)
    return days is None or _NEWEST.search(rest) is not None


def _significant(text: str) -> list[str]:
    """Return the words that can name a mail, as they were written."""
    words = re.findall(r"[^\s,;:?!()\"“”]*[^\s,;:?!()\"“”.]", text)
    plain = [re.sub(r"(?:'|’)s$", "", word) for word in words]
    return [
        word
        for word in plain
        if word.lower().strip("'’.-") not in _FILLERS and re.search(r"\w", word) and not _ID.fullmatch(word)
    ]
