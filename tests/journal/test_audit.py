"""The audit: it only grows, it says who decided what, and a byte that was changed anywhere is found."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from botpsy_tui.approval import Edit, Reject
from botpsy_tui.journal import CallState, Journal
from botpsy_tui.journal.audit import problems
from tests.agent.fakes import FakeSession, yes
from tests.journal.world import MILK, assistant, call_in, events_of, journal_in


async def filled(folder: Path) -> Path:
    journal = journal_in(folder)
    for state in (CallState.DONE, CallState.REJECTED, CallState.PENDING, CallState.HELD, CallState.FAILED):
        await call_in(journal, state, f"{state.value} Grüße")
    assert await journal.verify() == []
    journal.close()
    return folder / "journal.sqlite"


def found_in(path: Path) -> list[str]:
    with sqlite3.connect(path) as connection:
        found = problems(connection)
    connection.close()
    return found


async def test_it_tells_what_was_proposed_edited_decided_and_done(journal: Journal) -> None:
    await events_of(assistant(journal, FakeSession(MILK, "Done."), Edit({"text": "oat milk"}), yes))
    await events_of(assistant(journal, FakeSession(MILK, "Hm."), Reject("we have some")))
    entries = await journal.audit()
    assert [(e.number, e.call, e.state.value) for e in entries] == [
        (1, 1, "proposed"),
        (2, 1, "replaced"),
        (3, 2, "proposed"),
        (4, 2, "approved"),
        (5, 2, "started"),
        (6, 2, "done"),
        (7, 3, "proposed"),
        (8, 3, "rejected"),
    ]
    assert entries[0].proposal["arguments"] == {"text": "milk"}
    assert entries[1].detail["arguments"] == {"text": "oat milk"}
    assert entries[3].detail["by"] == "person"
    assert entries[3].detail["digest"] == (await journal.call(2)).proposal.digest
    assert entries[5].detail["result"] == "Noted."
    assert entries[7].detail["reason"] == "we have some"
    assert [e.number for e in await journal.audit(call=3)] == [7, 8]
    assert await journal.audit(since=entries[-1].at.replace(year=2999)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET detail = '{}'",
        "DELETE FROM audit WHERE id = 1",
        "UPDATE call SET proposal = '{}'",
        "DELETE FROM call",
        "INSERT OR REPLACE INTO audit VALUES (1, '', 1, 'proposed', '', '{}', '')",
        "INSERT INTO audit VALUES (99, '', 1, 'done', '', '{}', '')",
    ],
)
async def test_the_database_itself_refuses_to_change_what_is_on_record(
    tmp_path: Path, statement: str
) -> None:
    path = await filled(tmp_path)
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    connection.close()
    assert found_in(path) == []


def changed(path: Path, change: Callable[[sqlite3.Connection], None]) -> None:
    """Change the file as someone would who has taken the triggers out, and put them back."""
    connection = sqlite3.connect(path, isolation_level=None)
    triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    change(connection)
    for _, sql in triggers:
        connection.execute(sql)
    connection.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import asyncio

    return asyncio.run(filled(tmp_path_factory.mktemp("whole")))


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_byte_anywhere_in_the_rows_is_found(
    whole: Path, tmp_path: Path, data: st.DataObject
) -> None:
    path = tmp_path / "journal.sqlite"
    shutil.copy(whole, path)
    table = data.draw(st.sampled_from(["audit", "call"]))

    def flip(connection: sqlite3.Connection) -> None:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        row = data.draw(st.integers(1, connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]))
        column = data.draw(st.sampled_from(columns))
        (value,) = connection.execute(f"SELECT {column} FROM {table} WHERE id = ?", (row,)).fetchone()
        if value is None:
            other: object = data.draw(st.integers(1, 99))
        elif isinstance(value, int):
            other = value ^ (1 << data.draw(st.integers(0, 40)))
        else:
            raw = bytearray(value.encode())
            raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
            try:
                other = raw.decode()
            except UnicodeDecodeError:
                other = bytes(raw)
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (other, row))
        except sqlite3.IntegrityError:  # that id is another row's: they change places
            connection.execute(f"UPDATE {table} SET id = -1 WHERE id = ?", (other,))

    changed(path, flip)
    assert found_in(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM audit WHERE id = 3", "Entries are missing before entry 4"),
        ("DELETE FROM call WHERE id = 2", "Call 2 is gone"),
        ("DELETE FROM audit WHERE call = 5", "Call 5 was put in from outside"),
        ("UPDATE audit SET detail = '{}' WHERE id = 2", "Entry 2"),
        ("UPDATE call SET risk = 'read' WHERE id = 1", "Call 1 is not as it was proposed"),
    ],
)
async def test_what_was_changed_is_named(tmp_path: Path, change: str, said: str) -> None:
    path = await filled(tmp_path)
    changed(path, lambda connection: connection.execute(change) and None)
    assert any(said in problem for problem in found_in(path))


async def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    with path.open("r+b") as file:
        file.seek(4096 * 2 + 100)
        file.write(b"\xff" * 4096)
    assert "damaged" in " ".join(found_in(path)) or "can't be read" in " ".join(found_in(path))
