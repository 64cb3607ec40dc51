"""The real thing: models of real size out of the person's package index."""

import pytest

from botpsy_tui.models import CATALOGUE, read_header
from tests.models.real import SMALL, STARTER, small_model, starter_model


def test_the_catalogue_and_the_tests_mean_the_same_starter() -> None:
    starter = next(entry for entry in CATALOGUE if entry.name == "starter")
    assert starter.parts == STARTER


@pytest.mark.model
def test_the_small_model_is_whole() -> None:
    path = small_model()
    header = read_header(path)
    assert path.stat().st_size == SMALL.size
    assert (header.architecture, header.number("block_count")) == ("qwen2", 24)


@pytest.mark.model
def test_the_starter_is_whole() -> None:
    header = read_header(starter_model())
    assert (header.architecture, header.number("block_count")) == ("qwen2", 28)
    assert "<tool_call>" in header.text("tokenizer.chat_template")
