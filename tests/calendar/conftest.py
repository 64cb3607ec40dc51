"""Marks the phrases that the grammar is known to misread, so that each is on record with its right value."""

from pathlib import Path

import pytest

_MISREAD = frozenset((Path(__file__).parent / "misread.txt").read_text(encoding="utf-8").splitlines())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.split("tests/calendar/")[-1] in _MISREAD:
            item.add_marker(pytest.mark.xfail(reason="the grammar misreads this phrase", strict=False))
