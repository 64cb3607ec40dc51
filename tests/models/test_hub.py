"""A model comes from the hub: looked up, resumed, verified; every failure is one sentence."""

import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from botpsy_tui.models import CATALOGUE, HubUnreachable, ModelProblem, Progress, PullCancelled, first_choice
from botpsy_tui.models.hub import Hub, HubFile
from botpsy_tui.models.lookup import find_in_catalogue, find_in_repository
from botpsy_tui.models.sources import HubSource
from tests.models.fake_hub import REVISION, FakeHub
from tests.models.tiny import tiny_gguf

BOTPSY = CATALOGUE[0]
CONTENT = tiny_gguf(weights=1_500_000)


def ignore(_progress: Progress) -> None:
    """Nobody looks at the progress."""


def put_botpsy(hub: FakeHub) -> None:
    hub.repositories["qvac/BotPsy-0.8B"] = {"model.safetensors": b"x"}
    hub.repositories["qvac/BotPsy-0.8B-GGUF"] = {
        "BotPsy-0.8B-Q8_0.gguf": tiny_gguf("q8"),
        "botpsy-0.8b-q4_k_m.GGUF": CONTENT,
        "BotPsy-0.8B-BF16.gguf": tiny_gguf("bf16"),
        "mmproj-BotPsy-0.8B-Q4_K_M.gguf": tiny_gguf("eyes"),
        "README.md": b"",
    }


def the_file(hub: FakeHub) -> HubFile:
    put_botpsy(hub)
    return find_in_catalogue(Hub(), BOTPSY, "q4", ignore)


@pytest.mark.parametrize(
    ("quantisation", "file"),
    [("q4", "botpsy-0.8b-q4_k_m.GGUF"), ("q8", "BotPsy-0.8B-Q8_0.gguf"), ("bf16", "BotPsy-0.8B-BF16.gguf")],
)
def test_botpsy_is_found_by_search_and_never_its_projector(
    hub: FakeHub, quantisation: str, file: str
) -> None:
    put_botpsy(hub)
    seen: list[str] = []
    found = find_in_catalogue(Hub(), BOTPSY, quantisation, lambda progress: seen.append(progress.detail))
    assert (found.repository, found.file, found.revision) == ("qvac/BotPsy-0.8B-GGUF", file, REVISION)
    assert f"found qvac/BotPsy-0.8B-GGUF/{file}" in seen[-1]


def test_two_files_that_fit_are_both_named_and_none_is_taken(hub: FakeHub) -> None:
    hub.repositories["qvac/botpsy-0.8b-a"] = {"a-q4_0.gguf": b"a"}
    hub.repositories["qvac/botpsy-0.8b-b"] = {"b-q4_0.gguf": b"b"}
    with pytest.raises(
        ModelProblem, match=r"several files: .*hf:qvac/botpsy-0.8b-a:.*hf:qvac/botpsy-0.8b-b:"
    ):
        find_in_catalogue(Hub(), BOTPSY, "q4", ignore)


def test_a_missing_quantisation_names_those_that_are_there(hub: FakeHub) -> None:
    hub.repositories["qvac/botpsy-0.8b"] = {"m-q8_0.gguf": b"a"}
    with pytest.raises(
        ModelProblem, match=r"not among the files found: pull one of hf:qvac/botpsy-0.8b:m-q8_0"
    ):
        find_in_catalogue(Hub(), BOTPSY, "q4", ignore)


def test_a_repository_with_a_longer_name_is_not_taken_for_a_known_one(hub: FakeHub) -> None:
    qwen = next(entry for entry in CATALOGUE if entry.name == "qwen3.5-0.8b")
    hub.repositories["unsloth/Qwen3.5-0.8B-GGUF"] = {"Qwen3.5-0.8B-Q4_K_M.gguf": b"a"}
    hub.repositories["unsloth/Other-Qwen3.5-0.8B-GGUF"] = {"other-Q4_K_M.gguf": b"b"}
    assert find_in_catalogue(Hub(), qwen, "q4", ignore).repository == "unsloth/Qwen3.5-0.8B-GGUF"


def test_an_empty_organisation_is_said_so(hub: FakeHub) -> None:
    with pytest.raises(ModelProblem, match="was not found in the hub's qvac organisation"):
        find_in_catalogue(Hub(), BOTPSY, "q4", ignore)


@pytest.mark.parametrize(
    ("chosen", "file"),
    [
        ({}, "m-Q4_K_M.gguf"),
        ({"quantisation": "q4"}, "m-Q4_K_M.gguf"),
        ({"quantisation": "q4_0"}, "m-Q4_0.gguf"),
        ({"file": "M-UD-Q4_K_XL.gguf"}, "m-UD-Q4_K_XL.gguf"),
    ],
)
def test_one_file_of_a_repository(hub: FakeHub, chosen: dict[str, str], file: str) -> None:
    names = ("m-Q4_0.gguf", "m-Q4_K_M.gguf", "m-UD-Q4_K_XL.gguf", "m-BF16-00001-of-00002.gguf")
    hub.repositories["who/m-GGUF"] = {name: name.encode() for name in names}
    assert find_in_repository(Hub(), HubSource("who/m-GGUF", **chosen), ignore).file == file


def test_a_repository_that_is_not_there_or_locked(hub: FakeHub) -> None:
    with pytest.raises(ModelProblem, match="The hub has no who/m"):
        find_in_repository(Hub(), HubSource("who/m"), ignore)
    hub.gated.add("who/m")
    with pytest.raises(ModelProblem, match="licence"):
        find_in_repository(Hub(), HubSource("who/m"), ignore)


def test_a_file_is_fetched_and_verified(hub: FakeHub, tmp_path: Path) -> None:
    seen: list[Progress] = []
    Hub().download(the_file(hub), tmp_path / "m.gguf", seen.append)
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT
    assert [progress.stage for progress in seen][-1] == "verifying"
    assert seen[0].total == len(CONTENT)


def test_a_cancelled_download_goes_on_at_its_byte(hub: FakeHub, tmp_path: Path) -> None:
    file, cancelled = the_file(hub), threading.Event()
    with pytest.raises(PullCancelled):
        Hub().download(file, tmp_path / "m.gguf", lambda _progress: cancelled.set(), cancelled)
    assert not (tmp_path / "m.gguf").exists()
    fetched = next(tmp_path.glob("*.partial")).stat().st_size
    assert 0 < fetched < len(CONTENT)
    hub.ranges.clear()
    Hub().download(file, tmp_path / "m.gguf", ignore)
    assert hub.ranges[0].startswith(f"bytes={fetched}-")
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT


def test_a_busy_hub_is_asked_again(hub: FakeHub, tmp_path: Path) -> None:
    file = the_file(hub)
    hub.busy_answers = 1
    Hub().download(file, tmp_path / "m.gguf", ignore)
    assert (tmp_path / "m.gguf").read_bytes() == CONTENT


def test_another_sha256_than_the_hubs_removes_the_file(hub: FakeHub, tmp_path: Path) -> None:
    hub.wrong_sha256.add("botpsy-0.8b-q4_k_m.GGUF")
    with pytest.raises(ModelProblem, match="sha256 differs"):
        Hub().download(the_file(hub), tmp_path / "m.gguf", ignore)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_before_the_download(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1))
    with pytest.raises(ModelProblem, match="free disk space"):
        Hub().download(the_file(hub), tmp_path / "m.gguf", ignore)
    assert hub.ranges == []


@pytest.mark.usefixtures("no_hub")
def test_no_hub_is_noticed_fast() -> None:
    began = time.monotonic()
    with pytest.raises(HubUnreachable, match="starter"):
        Hub().require_reachable()
    assert time.monotonic() - began < 8


@pytest.mark.usefixtures("no_hub")
def test_a_first_start_without_a_hub_takes_the_starter_and_says_why() -> None:
    choice = first_choice()
    assert (choice.spec, choice.hub_reachable) == ("starter", False)
    assert "can't be reached" in choice.sentence


def test_a_first_start_with_a_hub_takes_botpsy(hub: FakeHub) -> None:
    put_botpsy(hub)
    choice = first_choice()
    assert (choice.spec, choice.size) == ("botpsy-0.8b", len(CONTENT))
    assert "qvac/BotPsy-0.8B-GGUF" in choice.sentence


def test_a_first_start_with_a_hub_that_lacks_botpsy_takes_the_starter(hub: FakeHub) -> None:
    choice = first_choice()
    assert (choice.spec, choice.hub_reachable) == ("starter", True)
