"""The journal: each event is on the disk before its effect is attempted."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from botpsy_tui.journal import audit, schema
from botpsy_tui.journal.history import PastConversation, read_history
from botpsy_tui.journal.processes import is_running
from botpsy_tui.journal.records import CallRecord, CallRequest, read_calls, request_as_values
from botpsy_tui.journal.rulings import Ruling, read_rulings
from botpsy_tui.journal.states import CallState, JournalProblem, moved
from botpsy_tui.plugin import Outcome, Proposal

Result = TypeVar("Result")


class Journal:
    """One SQLite file in WAL mode, written by one thread of its own. Several programs may have it open."""

    def __init__(self, path: Path) -> None:
        """Open or make the journal at `path`; an older one is carried over. Raises `JournalProblem`."""
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._connection = self._thread.submit(self._open).result()

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
            self._path.chmod(0o600)  # before there is anything in it
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            schema.prepare(connection)
        except schema.NewerJournal:
            raise JournalProblem(
                f"The journal {self._path} was written by a newer version of BotPsy TUI; update this one."
            ) from None
        except (OSError, sqlite3.Error, ValueError) as error:
            raise JournalProblem(f"The journal {self._path} can't be opened: {error}.") from error
        return connection

    # -- conversations

    async def begin_conversation(self, model: str) -> int:
        """Begin a conversation; return its number."""
        return await self._insert(
            "INSERT INTO conversation (started_at, model) VALUES (?, ?)", (audit.now(), _text(model))
        )

    async def add_message(
        self,
        conversation: int,
        role: str,
        content: str,
        calls: list[dict[str, Any]] | None = None,
        *,
        sources: Sequence[str] = (),
        shown_ids: Mapping[str, tuple[str, str]] | None = None,
    ) -> None:
        """Keep a message of a conversation.

        `sources`: whose words, from outside, it holds. `shown_ids`: the ids that were shown with it
        for the first time, and what each stands for, as `References.as_dict` has them.
        """
        await self._insert(
            "INSERT INTO message (conversation, at, role, content, calls, sources, shown_ids)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                conversation,
                audit.now(),
                role,
                _text(content),
                audit.as_json(calls or []),
                audit.as_json(list(sources)),
                audit.as_json(dict(shown_ids or {})),
            ),
        )

    async def history(self, numbers: Sequence[int] = ()) -> list[PastConversation]:
        """Return these conversations with their calls' decisions; all where none is named, oldest first."""
        return await self._run(lambda connection: read_history(connection, numbers))

    async def conversation(self, number: int) -> PastConversation:
        """Return one conversation. Raises `JournalProblem` where there is none of that number."""
        found = await self.history([number])
        if not found:
            raise JournalProblem(f"There is no conversation {number} in the journal.")
        return found[0]

    async def latest_conversation(self) -> int | None:
        """Return the number of the conversation in which something was said last, or None."""

        def work(connection: sqlite3.Connection) -> int | None:
            row = connection.execute("SELECT conversation FROM message ORDER BY id DESC LIMIT 1").fetchone()
            return row[0] if row else None

        return await self._run(work)

    async def taint(self, conversation: int) -> tuple[str, ...]:
        """Return whose words, from outside, a conversation holds."""
        return (await self.conversation(conversation)).sources

    # -- calls

    async def propose(
        self,
        conversation: int,
        call_id: str,
        proposal: Proposal,
        request: CallRequest | None = None,
        *,
        replaces: int | None = None,
        waits: bool = False,
        undoes: int | None = None,
    ) -> int:
        """Keep a proposal; return its number.

        `replaces`: the call whose place it takes; `undoes`: the one that it takes back; with `waits`
        it is pending at once. Raises `CallMoved` where the call that it replaces is elsewhere.
        """

        def work(connection: sqlite3.Connection) -> int:
            number = connection.execute(
                "INSERT INTO call (conversation, call_id, tool, risk, digest, proposal, request, undoes)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    conversation,
                    call_id,
                    proposal.tool,
                    proposal.risk,
                    proposal.digest,
                    audit.as_json(asdict(proposal)),
                    audit.as_json(request_as_values(request)),
                    undoes,
                ),
            ).lastrowid
            assert number is not None
            if replaces is not None:
                by = {"by": number, "arguments": dict(request.arguments) if request else {}}
                audit.append(connection, replaces, CallState.REPLACED, by)
            audit.append(connection, number, CallState.PROPOSED)
            if waits:
                audit.append(connection, number, CallState.PENDING)
            return number

        return await self._run(work)

    async def record(self, number: int, state: CallState, detail: Mapping[str, Any] | None = None) -> None:
        """Move a call to `state`. On return it is on the disk.

        Raises `CallMoved` where it can't go there: it was decided on or done elsewhere meanwhile.
        """

        def work(connection: sqlite3.Connection) -> None:
            audit.append(connection, number, state, detail)
            if state is CallState.STARTED:
                _only_one_undoes(connection, number)

        await self._run(work)

    async def finish(self, number: int, outcome: Outcome) -> None:
        """Keep what a call did, and how it can be undone; one that it takes back is undone by that."""

        def work(connection: sqlite3.Connection) -> None:
            undo = asdict(outcome.undo) if outcome.undo else None
            end = {"result": outcome.text, "undo": undo, "sources": list(outcome.sources)}
            audit.append(connection, number, CallState.DONE, end)
            undoes = connection.execute("SELECT undoes FROM call WHERE id = ?", (number,)).fetchone()[0]
            if undoes is not None:
                audit.append(connection, undoes, CallState.UNDONE, {"by": number})

        await self._run(work)

    async def unfinished(self) -> list[CallRecord]:
        """Return the calls that runs which have ended left half-way, and mark them unknown.

        They are never retried. What such a run had not begun is cancelled.
        """

        def work(connection: sqlite3.Connection) -> list[CallRecord]:
            left = [
                call
                for call in read_calls(
                    connection,
                    "state IN (?, ?, ?)",
                    (CallState.PROPOSED, CallState.APPROVED, CallState.STARTED),
                )
                if not is_running(call.process)
            ]
            for call in left:
                began = call.state is CallState.STARTED
                why = {"reason": "The run that did it ended before it was done."}
                audit.append(
                    connection, call.number, CallState.UNKNOWN if began else CallState.CANCELLED, why
                )
            return [call for call in left if call.state is CallState.STARTED]

        return await self._run(work)

    async def calls(self) -> list[CallRecord]:
        """Return all calls, oldest first."""
        return await self._run(read_calls)

    async def call(self, number: int) -> CallRecord:
        """Return one call. Raises `JournalProblem` where there is none of that number."""
        found = await self._run(lambda connection: read_calls(connection, "id = ?", (number,)))
        if not found:
            raise JournalProblem(f"There is no call {number} in the journal.")
        return found[0]

    async def pending(self) -> list[CallRecord]:
        """Return the calls that wait for a decision, oldest first."""
        return await self._run(lambda c: read_calls(c, "state = ?", (CallState.PENDING,)))

    async def held(self) -> list[CallRecord]:
        """Return the calls in the outbox, oldest first."""
        return await self._run(lambda c: read_calls(c, "state = ?", (CallState.HELD,)))

    async def undoable(self, number: int | None = None) -> CallRecord | None:
        """Return that call, or the last one that changed something, was done and is not undone."""
        if number is not None:
            return await self.call(number)

        def work(connection: sqlite3.Connection) -> CallRecord | None:
            done = "state = ? AND risk != 'read' AND undoes IS NULL"
            found = read_calls(
                connection,
                f"id = (SELECT id FROM call_now WHERE {done} ORDER BY at DESC, id DESC LIMIT 1)",
                (CallState.DONE,),
            )
            return found[0] if found else None

        return await self._run(work)

    async def uses(self, rule_id: str, since: datetime) -> int:
        """Return how often a rule of the policy has approved a call since then."""

        def work(connection: sqlite3.Connection) -> int:
            count = connection.execute(
                "SELECT count(*) FROM audit WHERE state = ? AND at >= ?"
                " AND json_extract(detail, '$.rule') = ?",
                (CallState.APPROVED, audit.moment(since), rule_id),
            ).fetchone()[0]
            return int(count)

        return await self._run(work)

    async def rulings(self, rule_id: str, most: int) -> Sequence[Ruling]:
        """Return the last calls that a rule of the policy decided, the last one first."""
        return await self._run(lambda connection: read_rulings(connection, rule_id, most))

    # -- the audit

    async def audit(
        self, *, call: int | None = None, since: datetime | None = None
    ) -> list[audit.AuditEntry]:
        """Return the events of one call, or from a moment on, or all; oldest first."""
        return await self._run(lambda connection: audit.entries(connection, call=call, since=since))

    async def verify(self) -> list[str]:
        """Return a sentence for each place that was changed after it was written; none where all is whole."""
        return await self._run(audit.problems)

    def close(self) -> None:
        """Close the file."""
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()

    async def _insert(self, statement: str, values: tuple[Any, ...]) -> int:
        def work(connection: sqlite3.Connection) -> int:
            row = connection.execute(statement, values).lastrowid
            assert row is not None
            return row

        return await self._run(work)

    async def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Run `work` as one durable transaction on the journal's thread."""

        def transaction() -> Result:
            try:
                with closing(self._connection.cursor()) as cursor:
                    cursor.execute("BEGIN IMMEDIATE")
                    try:
                        result = work(self._connection)
                    except BaseException:
                        cursor.execute("ROLLBACK")
                        raise
                    cursor.execute("COMMIT")
                    return result
            except sqlite3.Error as error:
                raise JournalProblem(
                    f"The journal {self._path} can't be written ({error}), so nothing was done."
                ) from error

        # A write that has begun is not left half-way when the one who asked for it is cancelled.
        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, transaction))


def _only_one_undoes(connection: sqlite3.Connection, number: int) -> None:
    """Raise `CallMoved` where a call takes back what is taken back already, or is just being."""
    undoes = connection.execute("SELECT undoes FROM call WHERE id = ?", (number,)).fetchone()[0]
    if undoes is None:
        return
    (state,) = connection.execute("SELECT state FROM call_now WHERE id = ?", (undoes,)).fetchone()
    others = connection.execute(
        "SELECT 1 FROM call_now WHERE undoes = ? AND id != ? AND state = ?",
        (undoes, number, CallState.STARTED),
    ).fetchone()
    if state != CallState.DONE or others:
        raise moved(undoes, CallState(state))


def _text(text: str) -> str:
    """Return a text that SQLite can hold: halves of surrogate pairs become question marks."""
    return text.encode(errors="replace").decode()
