"""A small web on loopback for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.world import Web, small_web


@pytest.fixture
async def web(tmp_path: Path) -> AsyncIterator[Web]:
    async with small_web(tmp_path) as web:
        yield web
