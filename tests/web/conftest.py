"""A small web on loopback for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.web.world import Web, small_web


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with small_web() as web:
        yield web
