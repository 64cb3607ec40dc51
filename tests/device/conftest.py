"""A machine for each test."""

from pathlib import Path

import pytest

from tests.device.world import Machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)
