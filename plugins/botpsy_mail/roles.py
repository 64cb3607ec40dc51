"""Which folder is for what, where no server says so: by the names that mail programs give them."""

from botpsy_mail.store import Role

_NAMES: dict[Role, tuple[str, ...]] = {
    Role.INBOX: ("inbox",),
    Role.SENT: (
        "sent",
        "sent items",
        "sent mail",
        "sent messages",
        "gesendet",
        "gesendete elemente",
        "envoyés",
    ),
    Role.DRAFTS: ("drafts", "draft", "entwürfe", "brouillons"),
    Role.ARCHIVE: ("archive", "archives", "archiv"),
    Role.TRASH: ("trash", "deleted items", "deleted messages", "deleted", "bin", "papierkorb", "corbeille"),
    Role.JUNK: ("junk", "spam", "junk e-mail", "junk email", "junk mail", "bulk mail"),
    Role.ALL: ("all mail",),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names}

NEW_NAMES = {
    Role.SENT: "Sent",
    Role.DRAFTS: "Drafts",
    Role.ARCHIVE: "Archive",
    Role.TRASH: "Trash",
}
"""What a folder is called that is made because there is none for its role."""


def role_of(name: str) -> Role | None:
    """Return the role of a folder of that name, without its parents."""
    return _ROLES.get(name.strip().casefold())


def role_in(words: str) -> Role | None:
    """Return the role that a person means by these words for a folder."""
    plain = words.casefold().strip(" .\"'“”")
    for filler in ("the ", "my ", "folder ", "in "):
        plain = plain.removeprefix(filler)
    return role_of(plain.removesuffix(" folder").removesuffix(" mails").removesuffix(" mail"))
