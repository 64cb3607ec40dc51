"""A wish for mail: who, about what, when, in which state, which of several; and the searches for it."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

from botpsy_mail.store import Folder, Query, Role


@dataclass(frozen=True)
class Wish:
    """What is asked for."""

    query: Query = field(default_factory=Query)
    terms: tuple[str, ...] = ()
    """Words that may be a name, or words of the subject or of the text."""
    ids: tuple[str, ...] = ()
    position: int | None = None
    """A place in the list that was shown last, from 1."""
    newest: bool = False
    oldest: bool = False
    several: bool = False
    count: int | None = None
    role: Role | None = None
    folder: Folder | None = None

    @property
    def names_something(self) -> bool:
        """Whether more is said than "that mail"."""
        return bool(self.terms or self.ids or self.newest or self.oldest or self.query != Query())


def joined(own: Wish, sentence: Wish) -> Wish:
    """Return what the pointed-at words ask for; what they leave open is taken from the sentence.

    A model that points at "the last mail" in "the last mail from Lena about lunch" has cut its span short.
    """
    if own.ids:
        return own
    if own.position is not None and not own.terms:
        return own
    bare = not own.terms and not (own.query.sender or own.query.people or own.query.recipient)
    query = _filled(own.query, sentence.query, people=bare)
    return replace(
        own,
        query=query,
        terms=own.terms or (sentence.terms if bare else ()),
        ids=sentence.ids if bare else (),
        position=own.position or (sentence.position if bare else None),
        newest=own.newest or sentence.newest,
        oldest=own.oldest or (sentence.oldest and not own.newest),
        count=own.count or sentence.count,
        role=own.role or sentence.role,
        folder=own.folder or sentence.folder,
    )


def with_person(wish: Wish, name: str, before: str) -> Wish:
    """Return the wish for mail of a person: from them, or as the word that stands before says."""
    query = replace(wish.query, sender=(), recipient=(), people=())
    if before == "to":
        query = replace(query, recipient=(name,))
    elif before in ("with", "and"):
        query = replace(query, people=(name,))
    else:
        query = replace(query, sender=(name,))
    # The name, said once, is no word of the subject as well.
    parts = {part.casefold() for part in [name, *name.split()]}
    terms = tuple(term for term in wish.terms if term.casefold() not in parts)
    return replace(wish, query=query, terms=terms)


def attempts(wish: Wish) -> list[Query]:
    """Return the searches to try, one after the other until one finds something."""
    query, terms = wish.query, wish.terms
    if not terms:
        tries = [query]
        if query.sender:
            tries.append(replace(query, sender=(), people=query.sender))
        return tries
    phrase = " ".join(terms)
    whole = replace(query, subject=(*query.subject, *terms))
    anywhere = replace(query, words=(*query.words, *terms))
    if query.sender or query.people or query.recipient:
        either = [replace(anywhere, sender=(), people=query.sender)] if query.sender else []
        return [whole, anywhere, *either]
    named = [replace(query, sender=(phrase,)), replace(query, people=(phrase,))]
    return [*named, whole, anywhere] if len(terms) < 3 else [whole, anywhere]


def _filled(own: Query, other: Query, *, people: bool) -> Query:
    """Return a query with what it leaves open taken from another."""
    days = other if _says_more_of_days(own, other) else own
    return replace(
        own,
        sender=own.sender or (other.sender if people else ()),
        recipient=own.recipient or (other.recipient if people else ()),
        people=own.people or (other.people if people else ()),
        first=days.first,
        last=days.last,
        unread=other.unread if own.unread is None else own.unread,
        flagged=other.flagged if own.flagged is None else own.flagged,
        answered=other.answered if own.answered is None else own.answered,
        attachments=own.attachments or other.attachments,
    )


def _says_more_of_days(own: Query, other: Query) -> bool:
    """Say whether another query's days are those of a span that was cut short: "Friday" of "since Friday"."""
    if not (own.first and own.last):
        return not (own.first or own.last)
    day = timedelta(1)
    return bool(
        (other.first and not other.last and other.first in (own.first, own.last + day))
        or (other.last and not other.first and other.last in (own.last, own.first - day))
    )
