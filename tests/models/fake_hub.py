"""A model hub on localhost that speaks as much of the hub's API as one download needs."""

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

REVISION = "0123456789abcdef0123456789abcdef01234567"


class FakeHub:
    """Repositories of files in memory; it can break off, refuse, and lie about a sha256."""

    def __init__(self) -> None:
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.gated: set[str] = set()
        self.wrong_sha256: set[str] = set()
        self.busy_answers = 0
        self.ranges: list[str] = []
        self.searches: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _listing(self, query: Mapping[str, list[str]]) -> list[object]:
        search = query.get("search", [""])[0].lower()
        author = query.get("author", [""])[0].lower()
        if search:
            self.searches.append(search)
        names = [
            name
            for name in self.repositories
            if name.lower().startswith(f"{author}/") and search in name.lower()
        ]
        return [{"id": name, "modelId": name} for name in names]

    def _repository(self, name: str) -> object:
        siblings = [
            {
                "rfilename": file,
                "size": len(data),
                "blobId": "0",
                "lfs": {"sha256": self._sha256(file, data), "size": len(data), "pointerSize": 134},
            }
            for file, data in self.repositories[name].items()
        ]
        return {"id": name, "modelId": name, "sha": REVISION, "siblings": siblings}

    def _sha256(self, file: str, data: bytes) -> str:
        return "0" * 64 if file in self.wrong_sha256 else hashlib.sha256(data).hexdigest()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                parts = url.path.strip("/").split("/")
                if url.path == "/api/models":
                    self._json(hub._listing(parse_qs(url.query)))
                elif parts[:2] == ["api", "models"]:
                    self._guarded("/".join(parts[2:4]))
                else:
                    data = hub.repositories["/".join(parts[:2])]["/".join(parts[4:])]
                    self._file(data)

            def _guarded(self, name: str) -> None:
                if name in hub.gated:
                    self._json({}, 403, {"X-Error-Code": "GatedRepo"})
                elif name not in hub.repositories:
                    self._json({}, 404, {"X-Error-Code": "RepoNotFound"})
                else:
                    self._json(hub._repository(name))

            def _file(self, data: bytes) -> None:
                if hub.busy_answers:
                    hub.busy_answers -= 1
                    self._json({}, 503)
                    return
                wanted = self.headers["Range"]
                hub.ranges.append(wanted)
                start, end = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
                body = data[start : end + 1]
                self.send_response(206)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _json(self, value: object, status: int = 200, headers: Mapping[str, str] = {}) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                for key, text in headers.items():
                    self.send_header(key, text)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler
