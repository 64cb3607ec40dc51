"""A page that was read: its text in blocks, who wrote it and when, its links and its facts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypedDict

HTML = ("text/html", "application/xhtml+xml")
PDF = ("application/pdf", "application/x-pdf")
TEXT = ("text/plain", "text/markdown", "text/csv", "application/json", "application/ld+json")
"""What can be read, beside what says nothing of itself (`UNTYPED`)."""
UNTYPED = ("", "application/octet-stream", "binary/octet-stream")

MOST_TEXT = 400_000
"""Characters that are read of a page."""

Wall = Literal["", "login", "script", "captcha", "subscribers"]
"""What stands between a reader and the rest of a page."""


@dataclass(frozen=True)
class Link:
    """A link, with the words that it stands on."""

    text: str
    url: str


@dataclass(frozen=True)
class Facts:
    """What a page says of one thing in a form made for programs (JSON-LD)."""

    kind: str
    """``Product``, ``Event``, ``Recipe``, ``Place`` or ``Flight``."""
    name: str
    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        values = "; ".join(f"{label}: {value}" for label, value in self.rows)
        return f"{self.kind} {self.name} – {values}" if self.name else f"{self.kind} – {values}"


@dataclass(frozen=True)
class Page:
    """All that was understood of a page. Every text in it is a stranger's, as it came."""

    title: str = ""
    author: str = ""
    date: str = ""
    """When it was published or last changed, ISO 8601."""
    blocks: tuple[str, ...] = ()
    """Paragraphs, items, table rows; a heading begins with ``# ``."""
    links: tuple[Link, ...] = ()
    facts: tuple[Facts, ...] = ()
    wall: Wall = ""
    cut: bool = False
    """True where the page was longer than what is read of it."""

    @property
    def length(self) -> int:
        """Characters of its text."""
        return sum(map(len, self.blocks))

    def behind(self, wall: Wall) -> "Page":
        """Return the page with what stands before the rest of it."""
        return replace(self, wall=wall)

    def cut_short(self) -> "Page":
        """Return the page as one of which not all was fetched."""
        return replace(self, cut=True)

    def as_json(self) -> dict[str, Any]:
        """Return what `from_json` takes."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Page":
        """Return the page that `as_json` gave."""
        return cls(
            **{
                **data,
                "blocks": tuple(data["blocks"]),
                "links": tuple(Link(**link) for link in data["links"]),
                "facts": tuple(
                    Facts(one["kind"], one["name"], tuple((label, value) for label, value in one["rows"]))
                    for one in data["facts"]
                ),
            }
        )


class _Text(TypedDict):
    blocks: tuple[str, ...]
    cut: bool


def within(blocks: Sequence[str], *, more: bool = False) -> _Text:
    """Return the blocks that fit into the limit, and whether there was more, as a page takes them."""
    kept: list[str] = []
    left = MOST_TEXT
    for block in blocks:
        kept.append(block[:left])
        left -= len(block)
        if left <= 0:
            break
    return {"blocks": tuple(kept), "cut": more or left < 0 or len(kept) < len(blocks)}
