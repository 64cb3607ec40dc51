"""What a careful person would want to be told of a command before it runs, and what is not run at all."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from botpsy_device.shell.line import Command, CommandLine, Word


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BECOME_ANOTHER = _set_of("sudo sudoedit su doas pkexec run0 login passwd chsh newgrp gosu")
_INTERACTIVE = _set_of(
    "vi vim view nvim nano pico micro helix hx emacs joe mcedit less more most htop btop atop iotop "
    "nethogs watch tmux screen byobu mc ranger nnn ncdu mutt neomutt irssi weechat lynx w3m links elinks "
    "telnet ftp tig fzf dialog whiptail gdb bluetoothctl alsamixer pulsemixer cmus"
)
_SHELLS = _set_of("sh bash dash zsh fish ksh csh tcsh ash")
_INTERPRETERS = _set_of("python python2 python3 perl ruby node deno bun php lua tclsh awk gawk")
_DOWNLOADERS = _set_of("curl wget fetch aria2c")
_WRAPPERS = _set_of("env nice ionice nohup timeout stdbuf setsid command exec xargs time chrt taskset")
_CHANGING = _set_of("rm rmdir unlink mv cp tee touch mkdir ln install truncate shred chmod chown chgrp rsync")
_LOADING = re.compile(r"(LD_[A-Z_]+|DYLD_[A-Z_]+|PATH|IFS|PYTHONPATH|PERL5LIB|NODE_OPTIONS|GIT_[A-Z_]+|ENV)=")
_VERSION = re.compile(r"[\d.]+$")


def refusal(line: CommandLine) -> str:
    """Return why a line is not run at all, in one sentence, or nothing."""
    for command in line.all_commands():
        for words in _programs(command):
            name = _name(words[0])
            if name in _BECOME_ANOTHER:
                return f"{name} is not run from here: do in a terminal what needs another user's rights."
            if name in _INTERACTIVE or (name == "top" and not _has_option(words, "b")):
                return f"{name} needs a terminal of its own, so it is not run from here; open it yourself."
            if name in _SHELLS | _INTERPRETERS and len(words) == 1 and command.joint != "|":
                return f"{name} alone waits for someone to type, so it is not run; name what it is to do."
    return ""


def dangers(line: CommandLine, folder: Path, *, network: bool) -> list[str]:
    """Return what is dangerous about a line, in sentences; empty where nothing is known of."""
    found: list[str] = []
    downloads = False
    for command in line.all_commands():
        if command.joint != "|":
            downloads = False
        for words in _programs(command):
            found += _of_program(words, downloads=downloads, network=network)
            downloads = downloads or _name(words[0]) in _DOWNLOADERS
        if command.program is None and command.words:
            found.append(f"Which program runs is not known before: {command.words[0].raw}")
        found += [
            f"{word.raw.partition('=')[0]} changes what programs load or do."
            for word in command.assignments
            if _LOADING.match(word.raw)
        ]
        found += _outside(command, folder)
    return list(dict.fromkeys(found))


def _of_program(words: Sequence[Word], *, downloads: bool, network: bool) -> Iterator[str]:
    name = _name(words[0])
    given = [word.literal or "" for word in words[1:]]
    match name:
        case "rm" | "unlink" | "rmdir":
            if _has_option(words, "r", "R") or "--recursive" in given:
                yield "rm -r deletes folders with all that is in them, for good."
            else:
                yield f"{name} deletes for good, not to the trash."
        case "dd" | "shred" | "wipefs" | "fdisk" | "parted" | "sfdisk" | "truncate":
            yield f"{name} writes over what is there."
        case "chmod" | "chown" | "chgrp":
            if _has_option(words, "R") or "--recursive" in given:
                yield f"{name} -R changes the rights of everything in a folder."
        case "find":
            if "-delete" in given:
                yield "find -delete deletes all that it finds, for good."
            if {"-exec", "-execdir", "-ok", "-okdir"} & set(given):
                yield "find runs a program on all that it finds."
        case "git":
            if {"push", "clean", "reset", "filter-branch", "gc"} & set(given) or _has_option(words, "D"):
                yield "git can lose work or publish it in this way."
        case "kill" | "killall" | "pkill":
            yield f"{name} ends programs."
        case "crontab" | "at" | "systemctl" | "service" | "launchctl":
            yield f"{name} changes what runs on this machine."
        case "eval" | "." | "source":
            yield f"{name} runs text as a program, which is not shown here."
        case "xargs":
            yield "xargs runs a program on words that are not known before."
        case "sed" | "perl" if _has_option(words, "i"):
            yield f"{name} -i changes files in place."
        case _ if name.startswith("mkfs"):
            yield f"{name} erases a whole disk."
    if name in _SHELLS or _VERSION.sub("", name) in _INTERPRETERS:
        if downloads:
            yield f"{name} runs what has been downloaded, which nobody has read."
        elif name in _SHELLS or _has_option(words, "c", "e", "E"):
            yield f"{name} runs a program of its own, which is not taken apart here."
    sends = re.compile(r"(-[A-Za-z]*[dFT]|--data.*|--form.*|--upload-file.*|--json.*|--post-.*|--body-.*)\b")
    if network and name in (
        "ssh",
        "scp",
        "sftp",
        "rsync",
        "nc",
        "ncat",
        "socat",
        "sendmail",
        "mail",
        "rclone",
    ):
        yield f"{name} can carry data out."
    elif network and name in _DOWNLOADERS and any(sends.match(word) for word in given):
        yield f"{name} sends data out."


def _outside(command: Command, folder: Path) -> Iterator[str]:
    """Yield a sentence for each place outside of the folder that would be written."""
    targets = [redirect.target for redirect in command.redirects if redirect.writes]
    for words in _programs(command):
        if _name(words[0]) in _CHANGING or (_name(words[0]) == "sed" and _has_option(words, "i")):
            targets += words[1:]
    for word in targets:
        text = word.raw if word.literal is None else word.literal
        if text.startswith("-") or text in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            continue
        place = Path(text)
        climbs = ".." in place.parts
        if text.startswith(("~", "$")) or (place.is_absolute() and (climbs or not _lies_in(place, folder))):
            yield f"It writes to {text}, outside of the folder or not known before."
        elif climbs:
            yield f"It writes to {text}, above the folder."


def _lies_in(place: Path, folder: Path) -> bool:
    return place.is_relative_to(folder)


def _programs(command: Command) -> Iterator[Sequence[Word]]:
    """Yield a command's words, and those of the program that it wraps (``env``, ``timeout`` …)."""
    words: Sequence[Word] = command.words
    while words:
        yield words
        if _name(words[0]) not in _WRAPPERS:
            return
        words = words[1:]
        while words and re.match(r"-|\w+=|[\d.]+[smhd]?$", words[0].literal or ""):
            words = words[1:]


def _name(word: Word) -> str:
    return (word.literal or "").rsplit("/", 1)[-1]


def _has_option(words: Sequence[Word], *letters: str) -> bool:
    """Return whether a short option is among the words, also in a bundle such as ``-rf``."""
    for word in words[1:]:
        text = word.literal or ""
        if text == "--":
            return False
        if re.match(r"-[^-]", text) and any(letter in text[1:] for letter in letters):
            return True
    return False
