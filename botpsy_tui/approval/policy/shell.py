"""A shell line as words, or nothing: what a rule may match is only what the shell can't read otherwise."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from botpsy_tui.approval.policy.several import rides_along

_PLAIN = re.compile(r"[A-Za-z0-9_\-./:=,+@%]+")
_SINGLE = re.compile(r"'([^'\x00-\x1f\x7f-\x9f]*)'")
_DOUBLE = re.compile(r'"([^"$`\\!\x00-\x1f\x7f-\x9f]*)"')
_SPACE = re.compile(r"[ \t]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")

REST = "**"
"""In an `argv` pattern, at its end: any further words."""

_VERSION = re.compile(r"-?\d[\d.]*$")
_RUN_OTHERS = (
    ". 7z ansible ant apt apt-get aria2c at batch bc brew builtin bun bundle bunx bzip2 cargo cc clang cmake "
    "composer cp crontab dc dd deno dig dotnet dpkg ed emacsclient ex fish ftp g++ gcc gem go gradle helm hg "
    "host install irb java jq julia kubectl ld ldd ln lynx meson mv mvn mysql ninja nmap nslookup openssl "
    "perf php pipx pnpm poetry psql pwsh pytest rpm rscript scala sendmail service sort source sqlite "
    "sqlite3 ssh-agent ssh-keygen start-stop-daemon svn swift systemctl tclsh tcpdump tee telnet tftp "
    "traceroute trap unzip uvx valgrind view vimdiff w3m xterm yarn yum "
    "ash awk bash busybox chroot command csh curl dash doas docker emacs env eval exec expect fd find "
    "flock gawk gdb git ionice ksh less lua mail make man mawk more nc ncat nice node nohup npm npx "
    "nsenter nvim parallel perl ping pip pkexec podman python python3 rg rsync ruby run0 scp screen "
    "script sed setsid sh source socat ssh stdbuf strace su sudo systemd-run tar telnet time timeout "
    "tmux unshare uv vi vim watch wget xargs zip zsh"
)
RUN_OTHERS = frozenset(_RUN_OTHERS.split())
"""Programs that run other programs, or carry data out, by their arguments: a rule must spell these out."""


def argv_of(line: str) -> list[str] | None:
    """Return the words of a simple command, or None.

    None means: not simple. Chains, pipes, redirects, substitutions, expansions, globs, escapes,
    assignments, comments, background and control characters are all not simple (POSIX.1-2017
    XCU §2.2, §2.3, §2.9.1). What is accepted, every POSIX shell splits in this way.
    """
    words: list[str] = []
    place, word, in_word = 0, "", False
    while place < len(line):
        if space := _SPACE.match(line, place):
            if in_word:
                words.append(word)
            place, word, in_word = space.end(), "", False
        elif plain := _PLAIN.match(line, place):
            place, word, in_word = plain.end(), word + plain[0], True
        elif quoted := _SINGLE.match(line, place) or _DOUBLE.match(line, place):
            place, word, in_word = quoted.end(), word + quoted[1], True
        else:
            return None
    if in_word:
        words.append(word)
    return words if words and words[0] and not _ASSIGNMENT.match(words[0]) else None


def argv_fits(argv: Sequence[str], patterns: Sequence[str], *, options: bool) -> bool:
    """Return whether the words fit the patterns: a glob for each word, `**` at the end for any rest.

    Unless `options` is true, a glob takes no option: ``*`` is not ``--output=…``, ``-*`` may be. Nor
    does it take several addresses.
    """
    if patterns and patterns[-1] == REST:
        patterns, argv = patterns[:-1], argv[: len(patterns) - 1]
    return len(argv) == len(patterns) and all(
        fnmatchcase(word, pattern) and (options or _is_one_value(word, pattern))
        for word, pattern in zip(argv, patterns, strict=True)
    )


def _is_one_value(word: str, pattern: str) -> bool:
    return (not word.startswith("-") or pattern.startswith("-")) and not rides_along(word, pattern)


def argv_problem(patterns: Sequence[str]) -> str:
    """Return why patterns can't stand in a rule that allows, or nothing."""
    if not patterns:
        return "argv needs at least the program's name"
    if REST in patterns[:-1]:
        return "** may stand only at the end of argv"
    program = patterns[0]
    if is_pattern(program):
        return "argv must begin with the program's own name, without a wildcard"
    name = program.rsplit("/", 1)[-1]
    if RUN_OTHERS & {name, _VERSION.sub("", name)} and any(map(is_pattern, patterns)):
        return (
            f"{program} can run other programs or carry data out, so each of its words must be spelled out, "
            "without a wildcard"
        )
    return ""


def is_pattern(word: str) -> bool:
    """Return whether a word holds a wildcard."""
    return any(sign in word for sign in "*?[")
