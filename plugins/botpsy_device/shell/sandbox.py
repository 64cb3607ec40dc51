"""The fence around a command: bubblewrap on Linux, sandbox-exec on macOS, or none."""

import asyncio
import os
import pwd
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from botpsy_device.private import lies_in

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/run/current-system",
)
_SETTINGS = (
    "alternatives ca-certificates crypto-policies fonts gai.conf group host.conf hostname hosts "
    "java-11-openjdk java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d locale.alias "
    "locale.conf localtime magic mime.types nsswitch.conf os-release passwd perl pki protocols python3 "
    "python3.11 python3.12 python3.13 resolv.conf services ssl/certs ssl/openssl.cnf terminfo timezone "
    "xdg"
)
"""What programs need of /etc; what holds secrets is not among it."""
_KERNEL = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr")
"""What root could change through /proc, also without any capability (bubblewrap 0.8 leaves it writable)."""
_FIXED_PATH = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
_ROOM = 256 * 2**20
"""Bytes that the private folders in memory may hold."""
_LIMITS = ("--nproc=256", "--nofile=1024", "--core=0", f"--fsize={2**30}", f"--as={4 * 2**30}")


@dataclass(frozen=True)
class Fence:
    """What a command may reach."""

    folder: Path | None
    """The working folder; None for an empty one of its own."""
    opened: tuple[Path, ...] = ()
    """Folders that can be read."""
    private: tuple[Path, ...] = ()
    """What stays hidden, also inside of opened folders."""
    writes: bool = False
    """Whether the working folder can be written."""
    network: bool = False


class Sandbox(ABC):
    """A way to run a program inside a fence."""

    name: str
    """For the person; empty where there is no sandbox at all."""
    kind: Literal["bubblewrap", "sandbox-exec", "none"]

    @abstractmethod
    def argv(self, fence: Fence, argv: Sequence[str], temporary: Path, seccomp: int | None) -> list[str]:
        """Return what to start, to have `argv` run inside the fence. `seccomp`: a descriptor, or None."""


class Bubblewrap(Sandbox):
    """Linux namespaces, made by bubblewrap."""

    kind = "bubblewrap"

    def __init__(self, program: str) -> None:
        self._program = program
        self.name = "bubblewrap"

    def argv(self, fence: Fence, argv: Sequence[str], temporary: Path, seccomp: int | None) -> list[str]:
        """Build a file system of its own: the system read-only, the opened folders, nothing else."""
        return [
            self._program,
            *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
            *(("--share-net",) if fence.network else ()),
            *("--hostname", "sandbox"),
            *(() if seccomp is None else ("--seccomp", str(seccomp))),
            *_system_mounts(),
            *("--proc", "/proc"),
            *(part for name in _KERNEL for part in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")),
            *("--dev", "/dev"),
            *("--size", str(_ROOM), "--tmpfs", "/tmp", "--size", str(_ROOM), "--tmpfs", "/dev/shm"),
            *("--size", str(_ROOM), "--tmpfs", "/var/tmp", "--dir", "/run"),
            *(() if _home() == Path("/") else ("--size", str(_ROOM), "--tmpfs", str(_home()))),
            *_folder_mounts(fence),
            *("--remount-ro", "/"),
            *(part for pair in environment(inside=True).items() for part in ("--setenv", *pair)),
            *("--dir", "/tmp/work", "--chdir", str(fence.folder or "/tmp/work")),
            "--",
            *_limited(argv),
        ]


class SandboxExec(Sandbox):
    """The sandbox of macOS."""

    kind = "sandbox-exec"
    name = "sandbox-exec"

    def argv(self, fence: Fence, argv: Sequence[str], temporary: Path, seccomp: int | None) -> list[str]:
        """Hand `sandbox-exec` a profile that denies all that is not named."""
        return ["/usr/bin/sandbox-exec", "-p", profile(fence, temporary), *argv]


class NoSandbox(Sandbox):
    """No fence: the command can do all that the person can do."""

    kind = "none"
    name = ""

    def argv(self, fence: Fence, argv: Sequence[str], temporary: Path, seccomp: int | None) -> list[str]:
        """Return the program itself."""
        return list(argv)


async def find_sandbox() -> Sandbox:
    """Return the sandbox that works on this machine; that there is a program for it is not enough."""
    if sys.platform == "darwin":
        return SandboxExec() if os.access("/usr/bin/sandbox-exec", os.X_OK) else NoSandbox()
    program = shutil.which("bwrap")
    if program is None:
        return NoSandbox()
    sandbox = Bubblewrap(program)
    trial = sandbox.argv(Fence(None), ["true"], Path("/tmp"), None)
    try:
        process = await asyncio.create_subprocess_exec(
            *trial,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        return sandbox if await process.wait() == 0 else NoSandbox()
    except OSError:
        return NoSandbox()


def search_path() -> str:
    """Return the PATH of commands: the system's places, and those of the person's that lie in them."""
    own = [place for place in os.environ.get("PATH", "").split(":") if place.startswith("/")]
    places = [place for place in own if any(Path(place).is_relative_to(system) for system in _SYSTEM)]
    if sys.platform == "darwin":
        places = [place for place in own if place.startswith(("/usr/", "/bin", "/sbin", "/opt/"))]
    return ":".join(dict.fromkeys([*places, *_FIXED_PATH]))


def environment(*, inside: bool, temporary: Path | None = None) -> dict[str, str]:
    """Return a command's whole environment: nothing of the person's but language, name and zone."""
    kept = {name: value for name in ("LANG", "LC_ALL", "LC_CTYPE", "TZ") if (value := os.environ.get(name))}
    return {
        "LANG": "C.UTF-8",
        **kept,
        "HOME": str(_home()),
        "USER": _user(),
        "LOGNAME": _user(),
        "PATH": search_path(),
        "SHELL": "/bin/sh",
        "TMPDIR": "/tmp" if inside else str(temporary),
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
    }


def profile(fence: Fence, temporary: Path) -> str:
    """Return a macOS sandbox profile (SBPL). The last rule that fits decides."""
    readable = [
        "/usr",
        "/bin",
        "/sbin",
        "/opt",
        "/System",
        "/Library",
        "/private/etc",
        "/private/var/db",
        "/dev",
    ]
    writable = [str(temporary), *([str(fence.folder)] if fence.writes and fence.folder else [])]
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-fork process-exec)",
        "(allow signal (target same-sandbox))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        f"(allow file-read* {_subpaths([*readable, *map(str, fence.opened)])})",
        f"(allow file-read* file-write* {_subpaths(writable)})",
        '(allow file-write-data (literal "/dev/null"))',
    ]
    if fence.network:
        lines += ["(allow network-outbound)", "(allow system-socket)"]
        lines += ['(allow mach-lookup (global-name "com.apple.dnssd.service"))']
    if fence.private:
        lines.append(f"(deny file-read* file-write* {_subpaths(map(str, fence.private))})")
    return "\n".join(lines)


def _subpaths(places: Iterable[str]) -> str:
    quoted = ['"' + place.replace("\\", "\\\\").replace('"', '\\"') + '"' for place in places]
    return " ".join(f"(subpath {place})" for place in quoted)


def _home() -> Path:
    return Path.home()


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _system_mounts() -> Iterator[str]:
    for place in map(Path, _SYSTEM):
        if place.is_symlink() and place.parent == Path("/"):
            yield from ("--symlink", str(place.readlink()), str(place))
        elif place.exists():
            yield from ("--ro-bind", str(place), str(place))
    for name in _SETTINGS.split():
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _folder_mounts(fence: Fence) -> Iterator[str]:
    """Mount the opened folders, outer ones first; over them, nothing where something is private."""
    for folder in sorted({*fence.opened}, key=lambda path: len(path.parts)):
        yield from ("--ro-bind", str(folder), str(folder))
    if fence.folder is not None and fence.writes:
        yield from ("--bind", str(fence.folder), str(fence.folder))
        # A hook or a setting of git would run later, outside of the fence.
        for inner in ("hooks", "config"):
            place = fence.folder / ".git" / inner
            if place.exists():
                yield from ("--ro-bind", str(place), str(place))
    visible = {*fence.opened, *([fence.folder] if fence.folder else [])}
    for place in fence.private:
        if any(lies_in(place, folder) for folder in visible):
            if place.is_dir():
                yield from (
                    "--size",
                    "4096",
                    "--perms",
                    "0500",
                    "--tmpfs",
                    str(place),
                    "--remount-ro",
                    str(place),
                )
            elif place.exists():
                yield from ("--ro-bind", "/dev/null", str(place))


def _limited(argv: Sequence[str]) -> list[str]:
    """Return `argv` behind limits on processes, files and memory, where the system has the program for it."""
    program = shutil.which("prlimit", path=":".join(_FIXED_PATH))
    return [program, *_LIMITS, "--", *argv] if program else list(argv)
