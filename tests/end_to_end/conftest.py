"""The starter model, loaded once a worker, and a fresh Radicale for each test."""

import asyncio
import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from botpsy_tui.engine.local import LocalSession
from botpsy_tui.engine.types import Session
from tests.end_to_end.world import fill, write_settings
from tests.models.real import starter_model
from tests.servers.radicale import RadicaleServer, start_radicale


@pytest.fixture(autouse=True)
def the_cores_to_itself() -> Iterator[None]:
    """One test with a model at a time on this machine: two decoding at once are slower than in turn."""
    with (Path(tempfile.gettempdir()) / "botpsy-tests-decoding.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def starter() -> Path:
    return starter_model()


@pytest.fixture(scope="session")
def session(starter: Path) -> Iterator[Session]:
    session = asyncio.run(LocalSession.load(starter))
    yield session
    asyncio.run(session.close())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RadicaleServer]:
    with start_radicale(tmp_path / "radicale") as server:
        fill(server)
        write_settings(tmp_path / "home", server, monkeypatch)
        yield server
