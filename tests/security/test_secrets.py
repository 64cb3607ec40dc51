"""A password, however it is had, and a server that sends it back: it is found where it is kept, only."""

import base64
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from botpsy_tui.tui import BotPsyApp
from tests.agent.fakes import FakeSession
from tests.tui.fakes import FakeHouse

SECRET = "hunter2 Äö&<s3cret>/42"
FORMS = (
    SECRET,
    quote(SECRET),
    quote(SECRET, safe=""),
    base64.b64encode(f"nia:{SECRET}".encode()).decode(),
    ascii(SECRET)[1:-1],
    "s3cret",
)
KEYRING = """
import json, os
from pathlib import Path
from keyring.backend import KeyringBackend

class FileKeyring(KeyringBackend):
    priority = 1
    place = Path(os.environ["KEYRING_FILE"])

    def _all(self):
        return json.loads(self.place.read_text()) if self.place.exists() else {}

    def get_password(self, service, username):
        return self._all().get(service + username)

    def set_password(self, service, username, password):
        self.place.write_text(json.dumps({**self._all(), service + username: password}))

    def delete_password(self, service, username):
        self.place.write_text(json.dumps({k: v for k, v in self._all().items() if k != service + username}))
"""
TURN = """
import asyncio
from botpsy_tui.agent.assistant import Assistant
from botpsy_tui.application import Application
from botpsy_tui.cli.reporting import JsonReporter, TextReporter
from botpsy_tui.engine.types import ToolCall
from tests.agent.fakes import FakeSession, ScriptedApprover, yes

async def main():
    application = Application.open()
    assert application.settings.accounts, "there is no account"
    session = FakeSession(
        ToolCall("list_events", {"when": "tomorrow"}),
        ToolCall("create_event", {"title": "Lunch", "when": "tomorrow at noon"}),
        "That did not work.",
    )
    assistant = Assistant(
        session=session, tools=application.tools, approver=ScriptedApprover(yes, yes),
        journal=application.journal, clock=application.clock,
    )
    async for event in assistant.turn("What is on tomorrow? Lunch tomorrow at noon"):
        for reporter in (JsonReporter(), TextReporter(with_calls=True)):
            reporter.report(event)
    print("PROMPTS", session.requests)
    await application.close()

asyncio.run(main())
"""


class EchoingServer:
    """Answers every request with a failure that holds the log-in that it was given."""

    def __init__(self, status: int) -> None:
        heard = self.heard = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                given = self.headers.get("Authorization", "")
                login = base64.b64decode(given.removeprefix("Basic ")).decode() if given else ""
                if login:
                    heard.append(login)
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = f"<error>{login} {given} {SECRET if given else ''}</error>".encode()
                self.send_response(status if given else 401, f"No {quote(login)} {given}")
                self.send_header("WWW-Authenticate", f'Basic realm="{quote(login)} {given}"')
                self.send_header("Content-Type", "text/xml")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_PROPFIND = do_REPORT = do_OPTIONS = answer  # noqa: N815

            def log_message(self, *_arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/dav/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def run(folder: Path, *command: str, words: str = "") -> str:
    """Run a command; return what it printed to either stream."""
    done = subprocess.run(
        [sys.executable, *command],
        input=words,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
        env={
            **os.environ,
            "BOTPSY_HOME": str(folder / "home"),
            "PYTHONPATH": str(folder),
            "KEYRING_FILE": str(folder / "kept" / "keyring.json"),
            "PYTHON_KEYRING_BACKEND": "file_keyring.FileKeyring",
            "WORK_PASSWORD": SECRET,
        },
    )
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    (tmp_path / "file_keyring.py").write_text(KEYRING)
    (tmp_path / "kept" / "password").write_text(SECRET)
    return tmp_path


def add_account(folder: Path, server: EchoingServer, way: str) -> str:
    """Add an account as a person does; then write it down by hand, for the server refuses the log-in."""
    command = ("-m", "botpsy_tui", "account", "add", "caldav", server.url, "--user", "nia", "--name", "work")
    password = f"cat {folder / 'kept' / 'password'}"
    how = {
        "keyring": ((), "", f"{SECRET}\n"),
        "command": (
            ("--password-command", password),
            f'password_command = ["cat", "{folder}/kept/password"]',
            "",
        ),
        "environment": (("--password-env", "WORK_PASSWORD"), 'password_env = "WORK_PASSWORD"', ""),
    }
    options, line, words = how[way]
    said = run(folder, *command, *options, words=words)
    if way == "keyring":
        said += run(
            folder,
            "-c",
            f"import keyring; keyring.set_password('botpsy', 'caldav:work', {SECRET!r}); print('kept')",
        )
    settings = folder / "home" / "config" / "settings.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        f'[[accounts]]\nname = "work"\nkind = "caldav"\n{line}\n'
        f'[accounts.settings]\nurl = "{server.url}"\nusername = "nia"\n'
    )
    return said


def leaks(folder: Path, said: str) -> list[str]:
    """Return where the secret, in any of its forms, is found."""
    found = ["what was printed"] if any(form in said for form in FORMS) else []
    for path in (folder / "home").rglob("*"):
        if path.is_file() and any(form.encode() in path.read_bytes() for form in FORMS):
            found.append(str(path))
    return found


@pytest.mark.parametrize(
    ("way", "status"),
    [("keyring", 401), ("command", 500), ("environment", 207), ("command", 429), ("environment", 403)],
)
def test_a_server_that_sends_the_password_back_is_not_quoted(folder: Path, way: str, status: int) -> None:
    server = EchoingServer(status)
    said = add_account(folder, server, way)
    said += run(folder, "-c", TURN)
    said += run(folder, "-m", "botpsy_tui", "account", "list")
    server.close()
    assert f"nia:{SECRET}" in server.heard, said
    assert "PROMPTS" in said, said
    assert (folder / "home" / "data" / "journal.sqlite").exists()
    assert leaks(folder, said) == [], said


def test_a_password_command_that_fails_is_not_quoted(folder: Path) -> None:
    server = EchoingServer(401)
    command = f"sh -c 'echo {base64.b64encode(SECRET.encode()).decode()} | base64 -d >&2; exit 3'"
    said = run(
        folder, "-m", "botpsy_tui", "account", "add", "caldav", server.url,
        "--user", "nia", "--password-command", command,
    )  # fmt: skip
    server.close()
    assert "ended with status 3" in said
    assert leaks(folder, said) == []


BREAKS = f"""
import sys
from botpsy_tui.cli import main, account
def broken(*_arguments, **_options):
    password = {SECRET!r}
    raise RuntimeError("it broke \\x1b]52;c;aGk=\\x07")
import botpsy_tui.config as config
config.load_settings = broken
sys.argv = ["botpsy", "account", "list"]
main()
"""


def test_the_report_of_a_crash_says_where_and_not_with_what(folder: Path) -> None:
    said = run(folder, "-c", BREAKS)
    assert "BotPsy broke" in said
    assert "RuntimeError: it broke ␛]52" in said
    assert "\x1b" not in said
    assert leaks(folder, said) == []


async def test_the_report_of_a_crash_in_the_chat_holds_no_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOTPSY_HOME", str(tmp_path))
    app = BotPsyApp(FakeHouse(tmp_path, FakeSession()))

    def breaks() -> None:
        password = "".join(SECRET)
        raise RuntimeError(f"{len(password)} \x1b[2J")

    async def run_and_break() -> None:
        async with app.run_test() as pilot:
            app.call_later(breaks)
            await pilot.pause(0.2)

    with pytest.raises(RuntimeError):
        await run_and_break()
    report = capsys.readouterr().err
    assert "in breaks" in report
    assert "␛[2J" in report
    assert "\x1b[2J" not in report
    assert not any(form in report for form in FORMS)
