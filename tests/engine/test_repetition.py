"""A model that goes round in circles is noticed soon; text that only looks alike is left in peace."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from botpsy_tui.engine.repetition import RepetitionWatch, find_loop, without_loop


def noticed_after(text: str, piece: int = 4) -> int | None:
    """How many characters of `text` are written before the loop is noticed, in pieces as a model writes."""
    watch = RepetitionWatch()
    for at in range(0, len(text), piece):
        if watch.repeats(text[at : at + piece]):
            return at + piece
    return None


ROW = "| Monday    | Review with Ana      | 09:00 | 30 min |\n"
LEGITIMATE = {
    "a numbered list": "".join(
        f"{i}. Buy {what}\n" for i, what in enumerate(["milk", "eggs", "rice"] * 14, 1)
    ),
    "a list with the same item": "- to be decided\n" * 14,
    "a table": "".join(ROW.replace("09", f"{hour:02}") for hour in range(24)),
    "an empty table": "<tr>" + "<td></td>" * 7 + "</tr>\n" + "<tr>" + "<td></td>" * 7 + "</tr>\n",
    "free half hours": "".join(f"{h:02}:{m:02} free\n" for h in range(24) for m in (0, 30)),
    "rules": ("=" * 80 + "\nTitle\n" + "-" * 80 + "\n") * 2,
    "the border of a table": "+-------" * 12 + "+\n" + "|       " * 12 + "|\n" + "+-------" * 12 + "+\n",
    "spaces": "x" + " " * 200 + "y",
    "zeros": "[" + "0, " * 100 + "0]",
    "a long number": "1" + "0" * 100 + " and " + "".join(str(i % 7) for i in range(200)),
    "digits of pi": "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899",
    "code": (
        "def area(self):\n    if self.width is None:\n        return None\n    if self.height is None:\n"
        "        return None\n    return self.width * self.height\n\n"
    )
    + "".join(f"def get_{n}(self):\n    return self._{n}\n\n" for n in "abcdefghijkl"),
    "closing braces": "".join(" " * (4 * i) + "}\n" for i in range(20, -1, -1)),
    "JSON": "[" + ", ".join(f'{{"id": {i}, "title": "Event", "notify": false}}' for i in range(40)) + "]",
    "a refrain": ("We all live in a yellow submarine,\n" * 2 + "yellow submarine, yellow submarine.\n") * 2,
    "laughing": "ha" * 40,
    "thanks": "Thank you! " * 10,
    "a chess board": ("♜♞♝♛♚♝♞♜\n" + "· · · · · · · ·\n" * 6) * 2,
}


@pytest.mark.parametrize("kind", LEGITIMATE)
def test_text_that_only_looks_alike_is_no_loop(kind: str) -> None:
    text = LEGITIMATE[kind]
    assert noticed_after(text, piece=1) is None
    assert noticed_after("Here it is:\n\n" + text + "\nAnything else?", piece=7) is None


@pytest.mark.parametrize(
    ("loop", "limit"),
    [
        ("I will check your calendar. ", 400),
        ("the ", 400),
        ("Wait, that is not right.\nLet me look again.\n", 400),
        ("no", 400),
        ("日程を確認します。", 400),
        ("\n", 800),
        (". ", 800),
        ('{"name": "list_events", "arguments": {"day": "tomorrow"}}\n', 400),
        ("This is one sentence of a paragraph that comes back. " * 4 + "Here it ends.\n\n", 3 * 225 + 60),
    ],
)
def test_a_loop_is_noticed_within_a_bounded_number_of_characters(loop: str, limit: int) -> None:
    found = noticed_after("You have two events tomorrow.\n" + loop * 1000)
    assert found is not None
    assert found - 30 <= limit


def test_lines_that_return_in_changing_order_are_a_loop() -> None:
    lines = ["Let me check the calendar.", "I should call the tool.", "Wait, I need the date first."]
    choose = random.Random(7)
    text = "".join(choose.choice(lines) + "\n" for _ in range(60))
    found = noticed_after(text)
    assert found is not None
    assert found < 700


def test_of_a_loop_the_first_round_is_kept() -> None:
    sentence = "I am sorry, I can't do that."
    assert without_loop("Hello. " + f"{sentence} " * 40) == f"Hello. {sentence}"
    assert without_loop("Hello." + " " * 800) == "Hello."
    assert without_loop("Two events: lunch and review.") == "Two events: lunch and review."


@settings(max_examples=60, deadline=None)
@given(
    before=st.text(alphabet="abc xyz.\n", max_size=200),
    unit=st.text(alphabet=st.characters(categories=["L", "N", "P", "Z"]), min_size=1, max_size=300),
    piece=st.integers(1, 30),
)
def test_whatever_repeats_exactly_is_noticed_in_time(before: str, unit: str, piece: int) -> None:
    limit = max(720, 3 * len(unit), 4 * min(len(unit), 120)) + len(unit) + 48 + 2 * piece + 32
    text = before + unit * (limit // len(unit) + 2)
    found = noticed_after(text, piece)
    assert found is not None
    assert found <= len(before) + limit
    kept = without_loop(text[:found])
    assert len(kept) <= len(before) + 2 * len(unit) + 48


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["red", "green", "blue", "one", "two", "three", "four"]), max_size=400))
def test_random_words_are_no_loop(words: list[str]) -> None:
    watch = RepetitionWatch()
    random.Random(1).shuffle(words)
    if len(set(words)) > 4:
        assert not any(watch.repeats(word + " ") for word in words)


def test_looking_is_cheap() -> None:
    """Not a time but a measure: a long text is only looked at in its last part."""
    text = "".join(f"Sentence number {i} is unlike the others. " for i in range(400))
    assert find_loop(text) is None
    loop = find_loop(text + "again and again " * 40)
    assert loop is not None
    assert loop.start > len(text)
