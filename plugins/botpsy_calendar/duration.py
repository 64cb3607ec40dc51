"""How long something takes, as people write it."""

import re
from datetime import timedelta

_NUMBER_WORDS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40,
    "forty-five": 45, "forty five": 45, "sixty": 60, "ninety": 90,
}  # fmt: skip
_NUMBER = r"(\d+(?:[.,]\d+)?|" + "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True)) + r")"
_SPECIAL: list[tuple[re.Pattern[str], timedelta]] = [
    (re.compile(r"\b(?:three[- ]quarters of an hour)\b"), timedelta(minutes=45)),
    (re.compile(r"\b(?:half an|a half|half) hour\b"), timedelta(minutes=30)),
    (re.compile(r"\b(?:a )?quarter (?:of an )?hour\b"), timedelta(minutes=15)),
]
_COMPACT = re.compile(r"(?<!at )\b(\d{1,2})\s*h\s*(\d{1,2})(?:\s*m(?:in)?)?\b(?!\s*:)")
_PART = re.compile(
    rf"(?<![\w:.]){_NUMBER}[\s-]*(minutes?|mins?|min|m|hours?|hrs?|hr|h|days?|weeks?)(?![\w:])"
)
_UNIT = r"(?:minutes?|mins?|hours?|hrs?|days?|weeks?)"
_NO_LENGTH = re.compile(
    rf"\bin\s+(?:half an hour|{_NUMBER}\s*{_UNIT})\b"  # in two hours
    rf"|\b{_NUMBER}\s*{_UNIT}\s+(?:ago|later|from|before|after)\b"  # two days later
    rf"|\b(?:next|last|past|coming)\s+{_NUMBER}\s*{_UNIT}\b"  # the next two weeks
    r"|\bat\s+\d{1,2}h\d{0,2}\b"  # at 14h30
)
"""Words that name a moment or a span of the calendar, though they look like a length."""
_AND_A_HALF = re.compile(rf"\b{_NUMBER} (?:hours? and a half|and a half hours?)\b")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
LONGEST = timedelta(days=366)


def find_duration(text: str) -> timedelta | None:
    """Return the length that `text` names, or None where it names none.

    Takes "30 minutes", "half an hour", "1h30", "1 hour 15 minutes", "an hour and a half", "2.5 h".
    Words around it do not matter; "in 2 hours" names a moment, not a length.
    """
    text = _NO_LENGTH.sub(" ", text.lower())
    if half := _AND_A_HALF.search(text):
        return _sane(timedelta(hours=_number(half[1]), minutes=30))
    for pattern, length in _SPECIAL:
        if pattern.search(text):
            return length
    if compact := _COMPACT.search(text):
        return _sane(timedelta(hours=int(compact[1]), minutes=int(compact[2])))
    total = timedelta()
    end = None
    for part in _PART.finditer(text):
        # Parts of one length stand side by side: "1 hour and 15 minutes".
        if end is not None and re.sub(r"[\s,]|and", "", text[end : part.start()]):
            break
        total += _number(part[1]) * _UNITS[part[2][0]]
        end = part.end()
    return _sane(total)


def _number(text: str) -> float:
    return _NUMBER_WORDS[text] if text in _NUMBER_WORDS else float(text.replace(",", "."))


def _sane(length: timedelta) -> timedelta | None:
    return length if timedelta() < length <= LONGEST else None
