"""The command line without a model: help, accounts, exit codes, and what it does not import."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.radicale import start_radicale


def botpsy(home: Path, *arguments: str, words: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "botpsy_tui", *arguments],
        input=words,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "BOTPSY_HOME": str(home), **env},
    )


def test_an_account_is_added_after_a_log_in_and_its_password_is_not_written(tmp_path: Path) -> None:
    with start_radicale(tmp_path / "radicale") as server:
        added = botpsy(
            tmp_path, "account", "add", "caldav", server.url, "--user", server.username,
            "--name", "work", "--password-env", "WORK_PASSWORD", WORK_PASSWORD=server.password,
        )  # fmt: skip
        assert added.returncode == 0, added.stderr
        assert added.stdout.startswith("work: 1 calendar found: Personal.")
    listed = botpsy(tmp_path, "account", "list")
    assert listed.stdout == f"work\tcaldav\t{server.username}\t{server.url}\n"
    assert server.password not in (tmp_path / "config" / "settings.toml").read_text()
    assert botpsy(tmp_path, "account", "remove", "work").returncode == 0
    assert botpsy(tmp_path, "account", "list").stdout == ""


def test_a_wrong_password_is_one_sentence_and_nothing_is_kept(tmp_path: Path) -> None:
    with start_radicale(tmp_path / "radicale") as server:
        done = botpsy(
            tmp_path,
            "account",
            "add",
            "caldav",
            server.url,
            "--user",
            "nia",
            "--password-env",
            "P",
            P="wrong",
        )
    assert done.returncode == 5
    assert "does not accept the user name or password" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "config" / "settings.toml").exists()


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    done = botpsy(
        tmp_path,
        "account",
        "add",
        "caldav",
        "http://127.0.0.1:9/",
        "--user",
        "nia",
        "--password-env",
        "P",
        P="x",
    )
    assert done.returncode == 5
    assert "can't be reached" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["account", "add", "carrier-pigeon", "x"], 2, "There is no kind of account 'carrier-pigeon'"),
        (["account", "remove", "nobody"], 1, "There is no account nobody"),
        (["ask", "--model", "/no/such/file.gguf", "Hello"], 4, "no/such/file.gguf"),
        (["ask", "   "], 2, "There is nothing to ask"),
        ([], 2, "The chat needs a terminal"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    done = botpsy(tmp_path, *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_ask_without_a_model_and_without_a_terminal_names_the_command_to_type(tmp_path: Path) -> None:
    done = botpsy(tmp_path, "ask", "Hello")
    assert done.returncode == 4
    assert "botpsy model" in done.stderr


def test_settings_that_are_wrong_stop_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.toml").write_text("[engine]\ncontext = 1\n")
    done = botpsy(tmp_path, "account", "list")
    assert done.returncode == 1
    assert "engine.context" in done.stderr


def test_commands_load_neither_textual_nor_the_engine() -> None:
    script = (
        "import sys, botpsy_tui.cli\n"
        "heavy = {'textual', 'llama_cpp', 'huggingface_hub', 'caldav', 'icalendar'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
