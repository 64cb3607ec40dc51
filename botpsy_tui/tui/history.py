"""What the person typed before, kept across sessions: one JSON string a line."""

import json
from pathlib import Path

_MOST_KEPT = 1000


class History:
    """A list of earlier words, and a place in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = self._read()
        self._at = len(self._entries)
        self._draft = ""

    def add(self, words: str) -> None:
        """Keep what was just sent."""
        if not self._entries or self._entries[-1] != words:
            self._entries.append(words)
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(words) + "\n")
                self._path.chmod(0o600)
            except OSError:
                pass  # history is a comfort; the message is sent all the same
        self._at = len(self._entries)

    def earlier(self, draft: str) -> str | None:
        """Return what was typed before, or None at the beginning."""
        if self._at == 0:
            return None
        if self._at == len(self._entries):
            self._draft = draft
        self._at -= 1
        return self._entries[self._at]

    def later(self) -> str | None:
        """Return what was typed after, at last the draft, or None there."""
        if self._at >= len(self._entries):
            return None
        self._at += 1
        return self._draft if self._at == len(self._entries) else self._entries[self._at]

    def _read(self) -> list[str]:
        entries: list[str] = []
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines()[-_MOST_KEPT:]
        except (OSError, UnicodeDecodeError):
            return entries
        for line in lines:
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, str):
                entries.append(value)
        return entries
