"""A real ``llama_cpp.server`` on loopback. Run as a module it is the server, started as ours loads models.

Stock `Llama` takes llama.cpp's AMX kernels wherever the processor names them, and many virtual
machines name them and fault; the engine leaves them off, and so does this launcher.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.servers.ports import free_port

KEY = "sk-open-sesame"


@dataclass(frozen=True)
class LlamaServer:
    """Where it is, and its log."""

    url: str
    log: Path


@contextmanager
def start_llama_server(model: Path, folder: Path, *, chat_format: str) -> Iterator[LlamaServer]:
    """Start it with one model; it wants the API key `KEY`."""
    port = free_port()
    log = folder / "llama-server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.llama_server", str(model), str(port), chat_format],
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            cwd=Path(__file__).parents[2],
        )
        try:
            server = LlamaServer(f"http://127.0.0.1:{port}/v1", log)
            _wait(server, process)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait(server: LlamaServer, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            httpx.get(f"{server.url}/models", trust_env=False)
            return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise RuntimeError(f"llama_cpp.server did not start:\n{server.log.read_text()[-3000:]}")


def _serve(model: str, port: int, chat_format: str) -> None:
    import llama_cpp
    import uvicorn
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings

    stock = llama_cpp.llama_cpp.llama_model_default_params

    def without_amx() -> object:
        parameters = stock()
        parameters.use_extra_bufts = False
        return parameters

    llama_cpp.llama_cpp.llama_model_default_params = without_amx
    app = create_app(
        server_settings=ServerSettings(api_key=KEY, disable_ping_events=True),
        model_settings=[
            ModelSettings(
                model=model,
                model_alias="small",
                chat_format=chat_format,
                n_ctx=2048,
                n_threads=2,
                n_threads_batch=2,
                use_mmap=True,
                use_mlock=False,
                logits_all=False,
                verbose=False,
            )
        ],
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="info")


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
