"""Runs one program to its end: output as it comes, limits, and everything that it started ended with it."""

import asyncio
import codecs
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import psutil

from botpsy_device.shell.sandbox import Fence, Sandbox, environment
from botpsy_device.shell.seccomp import seccomp_program

_CHUNK = 65536
_KEPT = 16_000
"""Characters of output that are kept from each of its two ends."""
_MOST_OUTPUT = 8 * 2**20
"""Bytes after which a program that goes on and on is ended."""

End = Literal["exited", "time", "stopped", "output"]


@dataclass(frozen=True)
class Run:
    """How a program ended, and what it wrote (both of its outputs, in the order in which it came)."""

    end: End
    status: int
    """Its exit status; 128 and the signal's number where it was ended."""
    beginning: str
    rest: str
    """The end of the output, where something is left out between."""
    left_out: int
    """Characters left out between `beginning` and `rest`."""
    seconds: float


async def run(
    argv: Sequence[str],
    sandbox: Sandbox,
    fence: Fence,
    *,
    seconds: float,
    progress: Callable[[str], None],
    stopping: asyncio.Event,
) -> Run:
    """Run `argv` inside the fence. Raises `OSError` where it can't be started."""
    started = time.monotonic()
    output = _Output(progress)
    async with AsyncExitStack() as stack:
        temporary = _resolved(stack.enter_context(tempfile.TemporaryDirectory(prefix="botpsy-")))
        seccomp = stack.enter_context(_filter(sandbox))
        written, writing = await stack.enter_async_context(_pipe())
        process = await asyncio.create_subprocess_exec(
            *sandbox.argv(fence, argv, temporary, seccomp),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writing,
            stderr=writing,
            cwd="/" if sandbox.kind == "bubblewrap" else fence.folder or temporary,
            env=environment(inside=sandbox.kind == "bubblewrap", temporary=temporary),
            start_new_session=True,
            pass_fds=() if seccomp is None else (seccomp,),
        )
        writing.close()
        try:
            end = await _until_it_ends(output.read(written, process), seconds, stopping)
        finally:
            _end_all(process)
            await process.wait()
    status = process.returncode or 0
    return Run(
        end,
        128 - status if status < 0 else status,
        *output.taken(),
        seconds=time.monotonic() - started,
    )


async def _until_it_ends(
    to_its_end: Coroutine[None, None, End],
    seconds: float,
    stopping: asyncio.Event,
) -> End:
    reading = asyncio.ensure_future(to_its_end)
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({reading, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            return reading.result()
        return "stopped" if stopped.done() else "time"
    finally:
        reading.cancel()
        stopped.cancel()
        await asyncio.wait({reading, stopped})


def _end_all(process: asyncio.subprocess.Process) -> None:
    """End a program, its process group, and whatever else it has started."""
    if process.returncode is not None and not _in_group(process.pid):
        return
    others: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        others = psutil.Process(process.pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for other in others:
        with contextlib.suppress(psutil.Error):
            other.kill()


def _in_group(group: int) -> bool:
    """Return whether a process group still has members: else its number may be another's by now."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


@contextlib.asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, BinaryIO]]:
    """Give both ends of a pipe. A process's own pipe would keep its end waiting for what others write."""
    reading, writing = os.pipe()
    reader = asyncio.StreamReader()
    with os.fdopen(writing, "wb", buffering=0) as writer:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0)
        )
        try:
            yield reader, writer
        finally:
            transport.close()


@contextlib.contextmanager
def _filter(sandbox: Sandbox) -> Iterator[int | None]:
    """Give the descriptor of the filter of kernel calls, where the sandbox takes one."""
    program = seccomp_program() if sandbox.kind == "bubblewrap" else None
    if program is None:
        yield None
        return
    descriptor = os.memfd_create("seccomp")
    try:
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _resolved(folder: str) -> Path:
    """Return a path without symlinks, as the sandbox of macOS wants it."""
    return Path(folder).resolve()


class _Output:
    """What a program writes: told as it comes, kept from both ends."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._told = 0
        self._beginning = ""
        self._rest = ""
        self._left_out = 0

    async def read(self, written: asyncio.StreamReader, process: asyncio.subprocess.Process) -> End:
        """Read to the end of the output and of the program."""
        total = 0
        leaving = asyncio.ensure_future(process.wait())
        try:
            while True:
                reading = asyncio.ensure_future(written.read(_CHUNK))
                await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():  # it has ended, and something that it left behind holds its output
                    await asyncio.wait({reading}, timeout=0.2)
                if not reading.done():
                    reading.cancel()
                    break
                piece = reading.result()
                if not piece:
                    break
                total += len(piece)
                self._take(self._decoder.decode(piece))
                if total > _MOST_OUTPUT:
                    return "output"
            self._take(self._decoder.decode(b"", final=True))
            await leaving
            return "exited"
        finally:
            leaving.cancel()

    def _take(self, text: str) -> None:
        if text and self._told < _KEPT:
            self._progress(text[: _KEPT - self._told])
            self._told += len(text)
        room = _KEPT - len(self._beginning)
        self._beginning += text[:room]
        self._rest += text[room:]
        if len(self._rest) > 2 * _KEPT:
            self._cut()

    def _cut(self) -> None:
        self._left_out += max(len(self._rest) - _KEPT, 0)
        self._rest = self._rest[-_KEPT:]

    def taken(self) -> tuple[str, str, int]:
        """Return the beginning, the rest, and how much is left out between."""
        self._cut()
        return self._beginning, self._rest, self._left_out
