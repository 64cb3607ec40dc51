"""What is told beforehand of a model's memory is what llama.cpp then takes; what can't fit is not loaded."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import llama_cpp
import pytest

from botpsy_tui.application import Application
from botpsy_tui.engine import runtime
from botpsy_tui.engine.runtime import ContextSettings, KvType, Runtime
from botpsy_tui.engine.types import CHECKPOINT_BYTES
from botpsy_tui.models import MemoryNeed, ModelProblem, memory, memory_need, read_header
from tests.cli.test_commands import botpsy
from tests.models.real import small_model

MIB = 1024 * 1024
GB = 1_000_000_000


@pytest.fixture
def allocations(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, ContextSettings], dict[str, float]]:
    """Load a model and read from llama.cpp's log what buffers it has made, in bytes."""
    lines: list[str] = []

    @llama_cpp.llama_log_callback
    def keep(_level: int, text: bytes, _data: object) -> None:
        lines.append(text.decode(errors="replace"))

    silent = runtime._be_silent  # pyright: ignore

    def load(path: Path, settings: ContextSettings) -> dict[str, float]:
        lines.clear()
        monkeypatch.setattr(runtime, "_be_silent", keep)
        try:
            Runtime(path, settings).close()
        finally:
            llama_cpp.llama_log_set(silent, None)
        found = re.findall(r"(\w+) buffer size = +([\d.]+) MiB", "".join(lines))
        sizes: dict[str, float] = {}
        for kind, size in found:
            sizes[kind] = sizes.get(kind, 0) + float(size) * MIB
        return sizes

    return load


def check(path: Path, settings: ContextSettings, sizes: dict[str, float]) -> None:
    need = memory_need(read_header(path), path.stat().st_size, settings.size, kv_type=settings.kv_type)
    assert need.allocated == pytest.approx(sum(sizes.values()), rel=0.1)
    assert need.cache == pytest.approx(sizes.get("KV", 0), rel=0.02, abs=0.01 * MIB)
    assert need.state == pytest.approx(sizes.get("RS", 0), rel=0.02, abs=0.01 * MIB)


@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
@pytest.mark.parametrize("size", [1024, 8192])
@pytest.mark.parametrize("kind", ["dense_model", "hybrid_model", "recurrent_model", "windowed_model"])
def test_it_is_within_a_tenth_on_tiny_models(
    kind: str,
    size: int,
    kv_type: KvType,
    allocations: Callable[..., dict[str, float]],
    request: pytest.FixtureRequest,
) -> None:
    path = request.getfixturevalue(kind)
    settings = ContextSettings(size=size, threads=1, kv_type=kv_type)
    check(path, settings, allocations(path, settings))


@pytest.mark.model
@pytest.mark.xdist_group("model")
@pytest.mark.parametrize("settings", [ContextSettings(), ContextSettings(size=32768, kv_type="q8_0")])
def test_it_is_within_a_tenth_on_a_real_model(
    settings: ContextSettings, allocations: Callable[..., dict[str, float]]
) -> None:
    path = small_model()
    check(path, settings, allocations(path, settings))


def test_a_mapped_file_may_be_larger_than_what_is_free_but_not_than_the_machine() -> None:
    need = MemoryNeed(
        weights=4 * GB,
        cache=GB,
        state=0,
        compute=0,
        checkpoints=0,
        mapped=True,
        available=2 * GB,
        installed=16 * GB,
    )
    assert need.fits
    assert not replace(need, mapped=False).fits, "a copy needs all of it free"
    assert not replace(need, available=GB).fits
    assert not replace(need, installed=5 * GB).fits
    assert replace(need, available=0, installed=0).fits, "where the system doesn't tell, it is tried"
    assert "only 1.00 GB are free" in replace(need, available=GB).sentence


async def test_a_model_that_cannot_fit_is_refused_in_a_sentence_before_it_is_loaded(
    tmp_path: Path, dense_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))
    monkeypatch.setattr(memory, "available_memory", lambda: 20_000_000)
    application = Application.open()
    used = botpsy(tmp_path, "model", "use", str(dense_model))
    assert used.returncode == 0, used.stderr
    with pytest.raises(
        ModelProblem, match=r"only 20 MB are free.*smaller `context`.*made of: model"
    ) as refused:
        await application.load_session()
    assert "\n" not in str(refused.value)
    await application.close()


def test_the_person_can_ask_beforehand_what_a_choice_will_need(tmp_path: Path, dense_model: Path) -> None:
    info = botpsy(tmp_path, "model", "info", str(dense_model), "--context", "4096", "--kv-type", "q8_0")
    assert info.returncode == 0, info.stderr
    assert "(4096 tokens of context, q8_0)" in info.stdout
    assert "conversation 2 MB" in info.stdout
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("[engine]\ncontext = 8192\nmmap = false\n")
    told = botpsy(tmp_path, "model", "info", str(dense_model)).stdout
    assert "(8192 tokens of context, f16)" in told
    assert "model, copied" in told


def test_what_checkpoints_may_take_is_as_set(tmp_path: Path, dense_model: Path, hybrid_model: Path) -> None:
    def checkpoints(model: Path) -> int:
        told = botpsy(tmp_path, "model", "info", str(model), "--json")
        return json.loads(told.stdout)["memory"]["checkpoints"]

    assert checkpoints(hybrid_model) == CHECKPOINT_BYTES
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("[engine]\ncache_mb = 300\n")
    assert checkpoints(hybrid_model) == 300_000_000
    assert checkpoints(dense_model) == 0, "its memory can be cut anywhere"
