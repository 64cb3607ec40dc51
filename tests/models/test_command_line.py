"""`botpsy model` as a person types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from botpsy_tui.cli.exits import Exit
from botpsy_tui.cli.model import app, ensure_model
from tests.models.fake_hub import FakeHub
from tests.models.tiny import tiny_gguf


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def botpsy_hub(hub: FakeHub) -> FakeHub:
    hub.repositories["qvac/botpsy-0.8b-GGUF"] = {"botpsy-q4.gguf": tiny_gguf("botpsy")}
    return hub


def run(*words: str, answer: str = "") -> tuple[int, str]:
    """Return the exit code, and what was printed on both streams."""
    result = CliRunner().invoke(app, list(words), input=answer)
    return result.exit_code, result.output


def test_neither_the_screen_nor_the_hubs_library_is_loaded_for_a_list() -> None:
    program = "import sys, botpsy_tui.cli.model as m; m.list_models(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "botpsy_tui" in loaded
    assert loaded.isdisjoint({"textual", "huggingface_hub", "llama_cpp"})


def test_list_says_what_can_be_had_when_nothing_is_here() -> None:
    code, output = run("list")
    assert code == 0
    assert "No model is here yet." in output
    assert "starter" in output
    assert "botpsy-0.8b" in output


@pytest.mark.usefixtures("botpsy_hub")
def test_pull_list_info_and_remove(home: Path) -> None:
    code, output = run("pull", "botpsy-0.8b")
    assert (code, "it is the current model" in output) == (0, True)
    assert "found qvac/botpsy-0.8b-GGUF/botpsy-q4.gguf" in output

    code, output = run("list", "--json")
    listed = json.loads(output)
    assert listed["current"] == "botpsy-0.8b"
    assert listed["installed"][0]["path"] == str(home / "data" / "models" / "botpsy-0.8b.gguf")
    assert "* botpsy-0.8b" in run("list")[1]

    assert "needs about" in run("info")[1]
    about = json.loads(run("info", "botpsy-0.8b", "--json", "--context", "4096")[1])
    assert (about["architecture"], about["memory"]["context"]) == ("qwen2", 4096)

    assert run("remove", "botpsy-0.8b") == (
        Exit.USAGE,
        "botpsy: Removing botpsy-0.8b needs a yes: add --yes.\n",
    )
    assert run("remove", "botpsy-0.8b", "--yes")[0] == 0
    assert json.loads(run("list", "--json")[1])["installed"] == []


def test_use_takes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(tiny_gguf())
    assert run("use", str(path)) == (0, "mine is the current model.\n")
    assert ensure_model(None, interactive=False).path == path
    assert ensure_model("mine", interactive=False).path == path


@pytest.mark.usefixtures("no_hub")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("pull", "botpsy-0.8b"), "can't be reached"),
        (("pull", "nonsense"), "There is no model named nonsense"),
        (("use", "starter"), "botpsy model pull starter"),
        (("info",), "botpsy model pull"),
        (("info", "starter"), "botpsy model pull starter"),
        (("remove", "starter", "--yes"), "not installed"),
    ],
)
def test_what_goes_wrong_is_one_sentence(words: tuple[str, ...], told: str) -> None:
    code, output = run(*words)
    assert code == Exit.NO_MODEL
    assert told in output
    assert "Traceback" not in output


def test_a_damaged_list_is_one_sentence(home: Path) -> None:
    listed = home / "data" / "models" / "models.json"
    listed.parent.mkdir(parents=True)
    listed.write_text("{")
    code, output = run("list")
    assert (code, "models.json.broken" in output) == (Exit.NO_MODEL, True)


def test_without_a_terminal_and_a_model_the_command_to_type_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(typer.Exit) as stopped:
        ensure_model(None, interactive=False)
    assert stopped.value.exit_code == Exit.NO_MODEL
    assert "botpsy model pull botpsy-0.8b" in capsys.readouterr().err


def test_a_named_model_is_pulled_without_a_question(botpsy_hub: FakeHub) -> None:
    model = ensure_model("botpsy-0.8b", interactive=False)
    assert model.path.read_bytes() == tiny_gguf("botpsy")


@pytest.mark.parametrize(("answer", "code"), [("\n", 0), ("1\n", 0), ("3\n", Exit.NO_MODEL)])
def test_a_first_start_asks_one_question(botpsy_hub: FakeHub, answer: str, code: int) -> None:
    asking = typer.Typer()

    @asking.command()
    def ask() -> None:
        typer.echo(f"took {ensure_model(None, interactive=True).name}")

    result = CliRunner().invoke(asking, input=answer)
    assert result.exit_code == code
    assert "Which one?" in result.output
    assert ("took botpsy-0.8b" in result.output) == (code == 0)
