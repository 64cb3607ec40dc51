"""Indexes, hubs and stores for the tests of models; none reaches beyond this machine."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from botpsy_tui.models.hub import Hub
from botpsy_tui.models.store import ModelStore
from tests.models.fake_hub import FakeHub
from tests.models.fake_index import FakeIndex

NOBODY = "http://127.0.0.1:9"  # the discard port: nothing listens there


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    """A package index that pip is pointed at, as a person would point it."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    fake = FakeIndex()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", fake.url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield fake
    fake.close()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that answers."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    fake = FakeHub()
    monkeypatch.setenv("HF_ENDPOINT", fake.url)
    yield fake
    fake.close()


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hub answers."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_ENDPOINT", NOBODY)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """An empty store whose hub is what HF_ENDPOINT says at the time of asking."""
    return ModelStore(tmp_path / "models", Hub(os.environ.get("HF_ENDPOINT", NOBODY)))
