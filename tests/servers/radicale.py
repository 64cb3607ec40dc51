"""A real Radicale on loopback, and a reader of what it holds that shares no code with ours."""

import base64
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USERNAME, PASSWORD = "nia", "correct horse"

_MKCALENDAR = """<?xml version="1.0" encoding="utf-8"?>
<C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop>
<D:displayname>Personal</D:displayname>
<C:supported-calendar-component-set><C:comp name="VEVENT"/></C:supported-calendar-component-set>
</D:prop></D:set></C:mkcalendar>"""


class RadicaleServer:
    """One server, its storage in a folder of the test's."""

    username = USERNAME
    password = PASSWORD

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.calendar_url = f"{self.url}{USERNAME}/personal/"

    def start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "users").write_text(f"{USERNAME}:{PASSWORD}\n")
        config = self._folder / "config"
        config.write_text(
            f"[server]\nhosts = 127.0.0.1:{self.port}\n"
            f"[auth]\ntype = htpasswd\nhtpasswd_filename = {self._folder}/users\n"
            "htpasswd_encryption = plain\ndelay = 0\n"
            f"[storage]\nfilesystem_folder = {self._folder}/storage\n"
            "[logging]\nlevel = warning\n"
        )
        log = (self._folder / "log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "radicale", "--config", str(config)],
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._wait()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def make_calendar(self) -> None:
        self.request("MKCALENDAR", self.calendar_url, _MKCALENDAR)

    def put(self, name: str, ics: str) -> None:
        self.request("PUT", f"{self.calendar_url}{name}.ics", ics, {"Content-Type": "text/calendar"})

    def names(self) -> list[str]:
        listing = self.request("PROPFIND", self.calendar_url, "", {"Depth": "1"})
        return sorted(re.findall(r"personal/([^<]+\.ics)</", listing))

    def texts(self) -> list[str]:
        return [self.request("GET", f"{self.calendar_url}{name}") for name in self.names()]

    def events(self) -> list[dict[str, str]]:
        """Every VEVENT as its properties, read with a few lines of text handling and no library of ours."""
        found: list[dict[str, str]] = []
        for text in self.texts():
            unfolded = text.replace("\r\n ", "").replace("\n ", "")
            for block in re.findall(r"BEGIN:VEVENT\r?\n(.*?)END:VEVENT", unfolded, re.DOTALL):
                event: dict[str, str] = {}
                for line in block.splitlines():
                    name, _, value = line.partition(":")
                    event[name.partition(";")[0]] = value
                    event[name] = value
                found.append(event)
        return found

    def request(self, method: str, url: str, body: str = "", headers: dict[str, str] | None = None) -> str:
        token = base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()
        request = urllib.request.Request(
            url,
            data=body.encode() if body else None,
            method=method,
            headers={"Authorization": f"Basic {token}", **(headers or {})},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def _wait(self) -> None:
        for _ in range(200):
            try:
                urllib.request.urlopen(self.url, timeout=1)
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError(f"Radicale did not start: {(self._folder / 'log').read_text()}")


@contextmanager
def start_radicale(folder: Path) -> Iterator[RadicaleServer]:
    """Run a server with one empty calendar, ``Personal``."""
    server = RadicaleServer(folder)
    server.start()
    try:
        server.make_calendar()
        yield server
    finally:
        server.stop()
