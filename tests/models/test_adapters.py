"""``botpsy model use … --lora``: what is kept, shown, and refused."""

from pathlib import Path

import pytest

from tests.cli.test_commands import botpsy
from tests.models.lora import write_adapter
from tests.models.synthetic import write_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "small.gguf", "dense")


def test_adapters_are_kept_shown_and_taken_off_again(tmp_path: Path, model: Path) -> None:
    one, two = write_adapter(tmp_path / "one.gguf"), write_adapter(tmp_path / "two.gguf", seed=1)
    used = botpsy(tmp_path, "model", "use", str(model), "--lora", f"{one}:0.5", "--lora", str(two))
    assert used.returncode == 0, used.stderr
    shown = f"{one}:0.5, {two}"
    assert used.stdout == f"small is the current model, with {shown}.\n"
    assert f"with {shown}" in botpsy(tmp_path, "model", "list").stdout
    assert shown in botpsy(tmp_path, "model", "info").stdout
    assert botpsy(tmp_path, "model", "use", "small").stdout == used.stdout, "they stay until taken off"
    assert '"scale": 0.5' in botpsy(tmp_path, "model", "list", "--json").stdout
    off = botpsy(tmp_path, "model", "use", "small", "--no-lora")
    assert off.stdout == "small is the current model.\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gone.gguf", "can't be read"),
        ("small.gguf", "is no LoRA adapter"),
        ("foreign.gguf", "was made for qwen35, and this model is qwen2"),
        ("mine.gguf:half", "'half' is no scale"),
        ("mine.gguf:nan", "'nan' is no scale"),
        ("mine.gguf:inf", "'inf' is no scale"),
    ],
)
def test_what_is_no_adapter_for_this_model_is_refused_and_changes_nothing(
    tmp_path: Path, model: Path, name: str, says: str
) -> None:
    write_adapter(tmp_path / "mine.gguf")
    write_adapter(tmp_path / "foreign.gguf", "qwen35")
    assert botpsy(tmp_path, "model", "use", str(model)).returncode == 0
    done = botpsy(tmp_path, "model", "use", "small", "--lora", str(tmp_path / name))
    assert done.returncode == 4
    assert says in done.stderr
    assert "with" not in botpsy(tmp_path, "model", "list").stdout.split("To be had")[0]


def test_an_adapter_that_went_away_stops_before_the_model_is_loaded(tmp_path: Path, model: Path) -> None:
    mine = write_adapter(tmp_path / "mine.gguf")
    assert botpsy(tmp_path, "model", "use", str(model), "--lora", str(mine)).returncode == 0
    mine.unlink()
    done = botpsy(tmp_path, "ask", "Hello")
    assert done.returncode == 4
    assert "mine.gguf can't be read" in done.stderr
    assert "Traceback" not in done.stderr
