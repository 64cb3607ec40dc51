"""A shell line, read as the shell will read it: commands, words, redirects, substitutions; or refused.

Only what `dash` and `bash` (called as ``sh``) read in the same way is taken (POSIX.1-2017 XCU §2.2, §2.3,
§2.6, §2.7, §2.9). All else raises `Unreadable`: what can't be shown truly is not run.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_LONGEST = 4000
_DEEPEST = 4
_MOST_COMMANDS = 40
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_GRAMMAR_WORDS = (
    "if then else elif fi do done case esac while until for { } ! function select time coproc [[ ]]"
)
_GRAMMAR = frozenset(_GRAMMAR_WORDS.split())
_REDEFINING = frozenset(("alias", "unalias"))
_BUILTIN_WORDS = (
    ". : [ bg break cd command continue echo eval exec exit export false fg getopts hash jobs kill printf "
    "pwd read readonly return set shift source test times trap true type ulimit umask unset wait"
)
_BUILTINS = frozenset(_BUILTIN_WORDS.split())

Joint = Literal["", "|", "&&", "||", ";"]


class Unreadable(Exception):
    """The line can't be shown truly; the message says why and what would do."""


@dataclass(frozen=True)
class Word:
    """One word of a command."""

    raw: str
    """As it is written."""
    literal: str | None
    """What the program is given, letter for letter; None where the shell fills something in."""
    fills_in: tuple[str, ...] = ()
    """The parts that the shell fills in: variables, patterns, ``~``, the output of commands."""
    substitutions: "tuple[CommandLine, ...]" = ()

    def __str__(self) -> str:
        return self.raw if self.literal is None else shlex.quote(self.literal)


@dataclass(frozen=True)
class Redirect:
    """Where a descriptor comes from or goes to."""

    operator: str
    """With the descriptor's number where one is written, such as ``2>``."""
    target: Word

    @property
    def opens_file(self) -> bool:
        """False where it only copies or closes a descriptor."""
        return "&" not in self.operator

    @property
    def writes(self) -> bool:
        """True where a file is written."""
        return self.opens_file and ">" in self.operator


@dataclass(frozen=True)
class Command:
    """A simple command (XCU §2.9.1), and what joins it to the one before it."""

    joint: Joint
    words: tuple[Word, ...]
    assignments: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()

    @property
    def program(self) -> str | None:
        """The program's name or path; None where the shell fills it in, or there is none."""
        return self.words[0].literal if self.words else None

    def __str__(self) -> str:
        parts = [*map(str, self.assignments), *map(str, self.words)]
        return " ".join([*parts, *(f"{each.operator}{each.target}" for each in self.redirects)])

    def parts(self) -> Iterator[Word]:
        """Yield every word, those of assignments and redirects too."""
        yield from self.assignments
        yield from self.words
        yield from (redirect.target for redirect in self.redirects)


@dataclass(frozen=True)
class CommandLine:
    """A whole line."""

    commands: tuple[Command, ...]

    @property
    def argv(self) -> list[str] | None:
        """The words of a line that needs no shell: one command with nothing to fill in. Else None."""
        if len(self.commands) != 1:
            return None
        (command,) = self.commands
        words = [word.literal for word in command.words]
        if command.assignments or command.redirects or not words or None in words:
            return None
        return None if words[0] in _BUILTINS else [word for word in words if word is not None]

    def all_commands(self) -> Iterator[Command]:
        """Yield every command, those inside of substitutions before the one that uses them."""
        for command in self.commands:
            for word in command.parts():
                for inner in word.substitutions:
                    yield from inner.all_commands()
            yield command


def is_builtin(name: str) -> bool:
    """Return whether the shell itself does what `name` says."""
    return name in _BUILTINS


def read_line(text: str) -> CommandLine:
    """Read a shell line. Raises `Unreadable`."""
    if len(text) > _LONGEST:
        raise Unreadable(f"The command is longer than {_LONGEST} characters; put it into a script.")
    if hidden := re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text):
        raise Unreadable(f"The command holds the control character U+{ord(hidden[0]):04X}.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Unreadable("The command holds half a character, which no program can be given.") from None
    reader = _Reader(text)
    line = reader.line(0, inside=False)
    if not line.commands:
        raise Unreadable("There is no command.")
    return line


class _Reader:
    """Reads a line from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._count = 0

    def line(self, depth: int, *, inside: bool) -> CommandLine:
        """Read commands up to the end, or up to the ``)`` that ends a substitution."""
        if depth > _DEEPEST:
            raise Unreadable("The command is nested too deeply.")
        commands: list[Command] = []
        joint: Joint = ""
        while True:
            command = self._command(joint, depth)
            if command is not None:
                commands.append(command)
                self._count += 1
                if self._count > _MOST_COMMANDS:
                    raise Unreadable(
                        f"There are more than {_MOST_COMMANDS} commands; put them into a script."
                    )
            ending = self._operator()
            if command is None and ending in ("|", "&&", "||", ";"):
                raise Unreadable(f"There is no command before “{ending}”.")
            if ending in ("", ")"):
                if (ending == ")") != inside:
                    raise Unreadable("A “)” is missing." if inside else "There is a “)” too many.")
                if command is None and joint in ("|", "&&", "||"):
                    raise Unreadable(f"There is no command after “{joint}”.")
                return CommandLine(tuple(commands))
            if command is None:  # an empty line
                continue
            joint = ";" if ending in (";", "\n") else ending  # type: ignore[assignment]
            if joint in ("|", "&&", "||"):
                self._skip("\n")

    def _operator(self) -> str:
        """Read what ends a command; at the end of the text, nothing."""
        self._skip()
        rest = self._text[self._place : self._place + 2]
        if not rest:
            return ""
        if rest in ("&&", "||"):
            self._place += 2
            return rest
        if rest in ("|&", ";;") or rest == ";&":
            raise Unreadable(f"“{rest}” is not understood here; write the commands one by one.")
        if rest[0] == "&":
            raise Unreadable("“&” would leave a program running; run it without, or use 2>&1 for “&>”.")
        if rest[0] in "|;\n)":
            self._place += 1
            return rest[0]
        raise Unreadable(f"“{rest[0]}” is not understood here.")

    def _skip(self, more: str = "") -> None:
        while self._place < len(self._text) and self._text[self._place] in " \t" + more:
            self._place += 1

    def _command(self, joint: Joint, depth: int) -> Command | None:
        words: list[Word] = []
        assignments: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._skip()
            if (redirect := self._redirect(depth)) is not None:
                redirects.append(redirect)
                continue
            word = self._word(depth)
            if word is None:
                break
            if not words and _ASSIGNMENT.match(word.raw):
                assignments.append(word)
                continue
            if not words and word.raw in _GRAMMAR:
                raise Unreadable(f"“{word.raw}” belongs to a script; run single commands, one call each.")
            if not words and word.literal in _REDEFINING:
                raise Unreadable(
                    f"“{word.literal}” changes what later words mean; write the words themselves."
                )
            if not words and word.literal == "":
                raise Unreadable("The program's name is empty.")
            words.append(word)
        if not (words or assignments or redirects):
            return None
        if not words:
            raise Unreadable("There is no program to run, only a redirect or an assignment.")
        return Command(joint, tuple(words), tuple(assignments), tuple(redirects))

    def _redirect(self, depth: int) -> Redirect | None:
        found = re.compile(r"(\d*)(<<|<>|<&|<|>>|>&|>\||>)").match(self._text, self._place)
        if found is None:
            return None
        number, operator = found.groups()
        if operator in ("<<", "<>"):
            raise Unreadable(f"“{operator}” is not understood here; use a file, or printf and a pipe.")
        if len(number) > 1:
            raise Unreadable("A descriptor above 9 means different things to different shells.")
        self._place = found.end()
        self._skip()
        if self._text.startswith("(", self._place):
            raise Unreadable("“<(…)” and “>(…)” are not understood here; use a pipe.")
        target = self._word(depth)
        if target is None:
            raise Unreadable(f"“{operator}” names no file.")
        if operator.endswith("&") and not re.fullmatch(r"\d|-", target.raw):
            raise Unreadable(f"After “{operator}” only a digit or - is understood; write “> file 2>&1”.")
        return Redirect(number + operator, target)

    def _word(self, depth: int) -> Word | None:
        """Read one word; None where none begins here."""
        start = self._place
        literal: list[str] = []
        fills_in: list[str] = []
        substitutions: list[CommandLine] = []
        quoted = False
        while self._place < len(self._text):
            character = self._text[self._place]
            if quoted and character == '"':
                quoted = False
                self._place += 1
            elif not quoted and character in " \t\n|&;<>()":
                if character == "(":
                    raise Unreadable(
                        "“(” is not understood here; quote it, or write the commands one by one."
                    )
                break
            elif not quoted and character == "#" and self._place == start:
                raise Unreadable("Leave comments out (“#…”), or quote the #.")
            elif not quoted and character == "'":
                end = self._text.find("'", self._place + 1)
                if end < 0:
                    raise Unreadable("A closing ' is missing.")
                literal.append(self._text[self._place + 1 : end])
                self._place = end + 1
            elif not quoted and character == '"':
                quoted = True
                self._place += 1
            elif character == "\\":
                literal.append(self._escaped(quoted=quoted))
            elif character == "`":
                raise Unreadable("Write $(…) in place of back quotes.")
            elif character == "$":
                self._dollar(depth, literal, fills_in, substitutions, quoted=quoted)
            else:
                if not quoted and self._is_pattern(character, start):
                    fills_in.append(character)
                literal.append(character)
                self._place += 1
        if quoted:
            raise Unreadable('A closing " is missing.')
        raw = self._text[start : self._place]
        if not raw:
            return None
        if raw == "{}":
            fills_in.clear()  # find's own sign: every shell leaves it as it is
        if any(sign in "*?[{~" for sign in fills_in):
            fills_in = [raw, *(part for part in fills_in if len(part) > 1)]
        return Word(raw, None if fills_in else "".join(literal), tuple(fills_in), tuple(substitutions))

    def _is_pattern(self, character: str, start: int) -> bool:
        if character == "~":
            return self._place == start or self._text[self._place - 1] in "=:"
        return character in "*?[{"

    def _escaped(self, *, quoted: bool) -> str:
        following = self._text[self._place + 1 : self._place + 2]
        if following in ("", "\n"):
            raise Unreadable("A \\ at the end of a line is not understood; write the command in one line.")
        self._place += 2
        return following if not quoted or following in '$`"\\' else "\\" + following

    def _dollar(
        self,
        depth: int,
        literal: list[str],
        fills_in: list[str],
        substitutions: list[CommandLine],
        *,
        quoted: bool,
    ) -> None:
        rest = self._text[self._place + 1 :]
        start = self._place
        if rest.startswith("(("):
            raise Unreadable("Sums in $((…)) are not understood here; use expr.")
        if rest.startswith("("):
            self._place += 2
            substitutions.append(self.line(depth + 1, inside=True))
            if not substitutions[-1].commands:
                raise Unreadable("There is no command in $(…).")
        elif found := re.match(r"\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9?$!@*#-]", rest) or _NAME.match(rest):
            self._place += 1 + found.end()
        elif rest[:1] in ("{", "["):
            raise Unreadable("Of “${…}” only a plain name is understood.")
        elif rest[:1] in ("'", '"') and not quoted:
            raise Unreadable("$'…' means different things to different shells; write '…'.")
        else:
            literal.append("$")
            self._place += 1
            return
        fills_in.append(self._text[start : self._place])
