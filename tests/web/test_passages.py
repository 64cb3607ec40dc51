"""A text is cut to what was asked, and nothing of it is lost between its parts."""

import pytest
from botpsy_web.passages import asked_words, fitting, parts_of
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.text("ab .\n# ", max_size=80), max_size=12), st.integers(10, 100))
def test_parts_hold_all_letters_in_order_and_none_is_too_long(blocks: list[str], size: int) -> None:
    parts = parts_of(blocks, size)
    assert all(len(part) <= size for part in parts)
    assert "".join("".join(parts).split()) == "".join("".join(blocks).split())


def test_a_heading_stays_with_what_it_heads() -> None:
    blocks = ["x" * 80, "# Museum", "It opens at ten."]
    assert parts_of(blocks, 100) == ["x" * 80, "# Museum\nIt opens at ten."]


@given(
    st.lists(st.text("abc .", max_size=60), max_size=10),
    st.frozensets(st.sampled_from("abc")),
    st.integers(20, 200),
)
def test_what_fits_is_never_longer_than_it_may_be(
    blocks: list[str], words: frozenset[str], size: int
) -> None:
    assert len(fitting(blocks, words, size)) <= size


def test_what_fits_is_the_rare_word_and_not_the_common_one() -> None:
    blocks = (
        ["The town is old and the town is nice."] * 5
        + ["Tickets cost four crowns."]
        + ["The town is old."] * 5
    )
    assert fitting(blocks, asked_words("what do tickets for the town cost?"), 60).startswith("Tickets cost")


def test_a_heading_lends_its_words() -> None:
    blocks = ["# Ferry", "Daily at noon.", "# Bus", "Daily at nine.", "# Taxi", "At any time."]
    assert fitting(blocks, asked_words("When does the bus leave?"), 40) == "# Bus\nDaily at nine."


def test_what_does_not_fit_is_not_given() -> None:
    assert fitting(["The town is old."], asked_words("price of a kettle"), 100) == ""


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Read https://example.org/prices?x=1 please", set()),
        ("What are the opening hours on www.example.org?", {"opening", "hour"}),
        ("Summarise this page", set()),
        ("How much is the kettle?", {"much", "kettle"}),
        ("Wann hat das Museum geöffnet?", {"wann", "hat", "das", "museum", "geöffnet"}),
    ],
)
def test_what_is_asked_is_what_is_not_about_the_asking(sentence: str, words: set[str]) -> None:
    assert asked_words(sentence) == words
