"""The command line with a model elsewhere."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.test_commands import botpsy
from tests.servers.fake_endpoint import FakeEndpoint, call, ended, fake_endpoint, said
from tests.servers.ports import free_port


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    """A scripted endpoint in a thread of its own, for commands that are processes of their own."""
    started: list[FakeEndpoint] = []
    ready, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with fake_endpoint() as fake:
            started.append(fake)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    yield started[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def settings_of(home: Path) -> str:
    return (home / "config" / "settings.toml").read_text()


def test_a_model_elsewhere_is_set_told_asked_and_left_again(tmp_path: Path, endpoint: FakeEndpoint) -> None:
    done = botpsy(tmp_path, "model", "endpoint", endpoint.url + "/", "--key-env", "LLM_KEY", LLM_KEY="sk-1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"fake at {endpoint.url} is used")
    assert "sk-1" not in settings_of(tmp_path)
    assert endpoint.url in botpsy(tmp_path, "model", "info").stdout

    endpoint.scripts.append([said("Good "), said("morning."), ended(), "data: [DONE]"])
    asked = botpsy(tmp_path, "ask", "Hello", LLM_KEY="sk-1")
    assert asked.returncode == 0, asked.stderr
    assert asked.stdout.strip() == "Good morning."
    assert "Bearer sk-1" in endpoint.headers[-1]

    assert botpsy(tmp_path, "model", "endpoint", "--none").returncode == 0
    assert "endpoint" not in settings_of(tmp_path)
    assert botpsy(tmp_path, "ask", "Hello").returncode == 4, "and there is no model here"


def test_a_call_from_elsewhere_waits_for_approval_like_any_other(
    tmp_path: Path, endpoint: FakeEndpoint
) -> None:
    assert botpsy(tmp_path, "model", "endpoint", endpoint.url).returncode == 0
    wanted = call(0, '{"when": "tomorrow"}', "list_events")
    endpoint.scripts.append([said(tool_calls=[wanted]), ended("tool_calls"), "data: [DONE]"])
    asked = botpsy(tmp_path, "ask", "What is on tomorrow?")
    assert asked.returncode == 3, asked.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["http://llm.example.org/v1"], 2, "is another machine, and http is not encrypted"),
        (["ftp://127.0.0.1/v1"], 2, "is no web address"),
        (["https://me:sk@llm.example.org/v1"], 2, "must hold no password or key"),
        (["http://127.0.0.1:1/v1", "--key", "--key-env", "X"], 2, "Name one place for the key"),
        (["http://127.0.0.1:1/v1", "--key-env", "NOT_SET"], 4, "$NOT_SET, which is not set"),
        ([f"http://127.0.0.1:{free_port()}/v1"], 4, "No model server answers"),
    ],
)
def test_what_cannot_be_an_endpoint_is_said_and_not_kept(
    tmp_path: Path, arguments: list[str], code: int, says: str
) -> None:
    done = botpsy(tmp_path, "model", "endpoint", *arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "config" / "settings.toml").exists()


def test_plain_http_to_another_machine_needs_a_word_in_the_settings(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "settings.toml"
    file.write_text('[engine]\nendpoint = "http://192.168.1.7:8080/v1"\n')
    done = botpsy(tmp_path, "model", "info")
    assert done.returncode == 1
    assert "endpoint_insecure" in done.stderr
    file.write_text(file.read_text() + "endpoint_insecure = true\n")
    assert botpsy(tmp_path, "model", "info").returncode == 0
