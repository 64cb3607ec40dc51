"""Which process is which: its number alone is used again, with its start and the boot it is not."""

import os
import subprocess
from functools import cache
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def this_process() -> str:
    """Return what names this process among all that ever ran on this machine."""
    return _identity(os.getpid())


def is_running(process: str) -> bool:
    """Say whether the process of that name still runs."""
    boot, _, rest = process.partition("/")
    number, _, started = rest.partition("/")
    return boot == _boot() and number.isdigit() and bool(started) and started == _started(int(number))


@cache
def _identity(number: int) -> str:
    return f"{_boot()}/{number}/{_started(number)}"


@cache
def _boot() -> str:
    if _BOOT_ID.exists():
        return _BOOT_ID.read_text().strip()
    return _printed("sysctl", "-n", "kern.bootsessionuuid").replace("/", "-")  # macOS


def _started(number: int) -> str:
    """Return when a process began, in the system's own words; nothing where it is not there or has ended."""
    if not _BOOT_ID.exists():
        return _printed("ps", "-o", "lstart=", "-p", str(number)).replace("/", "-")
    try:
        # proc(5): the name may hold spaces and brackets, what follows the last bracket begins with field 3.
        fields = Path(f"/proc/{number}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    state, start_time = fields[0], fields[19]
    return "" if state in ("Z", "X") else start_time


def _printed(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
