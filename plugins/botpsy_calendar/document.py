"""iCalendar text that keeps every line it is not asked to change, byte for byte (RFC 5545 §3.1, §3.4)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

_DEEPEST = 20
"""Components inside components; a real object has three levels."""
_FOLDED = re.compile(r"\r?\n[ \t]")
_PARAMETER = re.compile(r';([^=;:"]+)=((?:"[^"]*"|[^;:"])*)')
_OCTETS = 75


@dataclass(frozen=True)
class Property:
    """A content line, as it was written: folds and line end included."""

    raw: str

    @cached_property
    def line(self) -> str:
        """The unfolded line, without its end."""
        return _FOLDED.sub("", self.raw).rstrip("\r\n")

    @cached_property
    def _parts(self) -> tuple[str, str]:
        """The name with its parameters, and the value; a colon inside quotes does not count."""
        head, _, value = self.line.partition(":")
        if '"' not in head:
            return head, value
        quoted = False
        for i, character in enumerate(self.line):
            if character == '"':
                quoted = not quoted
            elif character == ":" and not quoted:
                return self.line[:i], self.line[i + 1 :]
        return head, value

    @cached_property
    def name(self) -> str:
        """The property's name in capitals, without a group prefix."""
        return self._parts[0].partition(";")[0].strip().upper()

    @property
    def value(self) -> str:
        """The value as it stands there, escapes and all."""
        return self._parts[1]

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters by their names in capitals, quotes taken off."""
        return {
            name.strip().upper(): value.strip().strip('"')
            for name, value in _PARAMETER.findall(self._parts[0])
        }


@dataclass
class Component:
    """A component with its lines and subcomponents, in the order in which they were written."""

    name: str
    begin: str = ""
    end: str = ""
    newline: str = "\r\n"
    parts: list["Property | Component"] = field(default_factory=list["Property | Component"])

    @property
    def text(self) -> str:
        """The component as text; what was not changed is as it was read."""
        inner = "".join(part.raw if isinstance(part, Property) else part.text for part in self.parts)
        return f"{self.begin}{inner}{self.end}"

    @property
    def properties(self) -> list[Property]:
        """The component's own content lines."""
        return [part for part in self.parts if isinstance(part, Property)]

    @property
    def components(self) -> list["Component"]:
        """The subcomponents, one level down."""
        return [part for part in self.parts if isinstance(part, Component)]

    def walk(self, name: str) -> Iterator["Component"]:
        """Give every component of that name, this one included, at any depth."""
        if self.name == name:
            yield self
        for component in self.components:
            yield from component.walk(name)

    def get(self, name: str) -> Property | None:
        """Return the first property of that name."""
        return next((p for p in self.parts if isinstance(p, Property) and p.name == name), None)

    def all(self, name: str) -> list[Property]:
        """Return every property of that name."""
        return [p for p in self.parts if isinstance(p, Property) and p.name == name]

    def put(self, line: str) -> None:
        """Write a property in the place of those of its name, else after the last property."""
        new = self._folded(line)
        places = [i for i, p in enumerate(self.parts) if isinstance(p, Property) and p.name == new.name]
        if not places:
            self._append(new)
            return
        self.parts[places[0]] = new
        self.drop(*(self.parts[i] for i in places[1:]))

    def add(self, line: str) -> None:
        """Write one more property, after the last."""
        self._append(self._folded(line))

    def replace(self, old: Property, line: str) -> None:
        """Write a property in the place of that one."""
        self.parts = [self._folded(line) if part is old else part for part in self.parts]

    def remove(self, *names: str) -> None:
        """Take out the properties of those names."""
        self.drop(*(p for p in self.properties if p.name in names))

    def drop(self, *parts: "Property | Component") -> None:
        """Take out those lines or components."""
        gone = {id(part) for part in parts}
        self.parts = [part for part in self.parts if id(part) not in gone]

    def copy(self) -> "Component":
        """Return an independent component with the same text."""
        parts = [part if isinstance(part, Property) else part.copy() for part in self.parts]
        return Component(self.name, self.begin, self.end, self.newline, parts)

    def _folded(self, line: str) -> Property:
        return Property(fold(line, self.newline))

    def _append(self, new: Property) -> None:
        last = max((i for i, part in enumerate(self.parts) if isinstance(part, Property)), default=-1)
        self.parts.insert(last + 1, new)


def parse(text: str) -> Component:
    """Return a nameless component that holds everything in `text`. Raises `ValueError` in a few words."""
    root = Component("", newline="\r\n" if "\r\n" in text else "\n")
    stack = [root]
    for raw in _content_lines(text):
        keyword, _, value = raw.partition(":")
        keyword = keyword.upper().strip()
        if keyword == "BEGIN":
            if len(stack) > _DEEPEST:
                raise ValueError("it is nested too deeply")
            component = Component(value.strip().upper(), begin=raw, newline=root.newline)
            stack[-1].parts.append(component)
            stack.append(component)
        elif keyword == "END":
            if stack[-1].name != value.strip().upper() or len(stack) == 1:
                raise ValueError("its parts do not end where they should")
            stack.pop().end = raw
        else:
            stack[-1].parts.append(Property(raw))
    if len(stack) > 1:
        raise ValueError("it is cut short")
    return root


def component(name: str, lines: list[str], newline: str = "\r\n") -> Component:
    """Return a new component with those properties."""
    made = Component(name, f"BEGIN:{name}{newline}", f"END:{name}{newline}", newline)
    for line in lines:
        made.add(line)
    return made


def fold(line: str, newline: str = "\r\n") -> str:
    """Return a content line with its end, folded at 75 octets and never inside a character (§3.1)."""
    pieces: list[str] = []
    piece, octets = "", 0
    for character in line:
        size = len(character.encode(errors="surrogatepass"))
        if octets + size > _OCTETS:
            pieces.append(piece)
            piece, octets = " ", 1
        piece += character
        octets += size
    return newline.join([*pieces, piece]) + newline


def _content_lines(text: str) -> Iterator[str]:
    """Give the content lines with their folds and ends; only LF ends a line, as other programs hold."""
    held = ""
    for physical in re.findall(r"[^\n]*\n|[^\n]+$", text):
        if held and physical[0] in " \t":
            held += physical
            continue
        if held:
            yield held
        held = physical
    if held:
        yield held
