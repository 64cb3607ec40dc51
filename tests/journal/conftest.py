"""A journal in the test's own folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from botpsy_tui.journal import Journal
from tests.journal.world import journal_in


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = journal_in(tmp_path)
    yield journal
    journal.close()
