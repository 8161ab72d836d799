"""Run records, their journals and the wishes of people, in SQLite."""

import sqlite3
from collections.abc import Iterator, Sequence

from msgspec.structs import astuple

from ralph.model.ports import JournalRow
from ralph.model.runs import CostlyTransition, NewRun, RunOwner, RunRecord
from ralph.stores.sqlite.database import DatabaseFile, identify_connection, read_by_name, transaction, wait_longer

FOLDER_KINDS = ("supervise", "story")  # of loops that start anew where they left off, in the same folder
_RECORD_QUERY = """
SELECT run.id AS id, run.kind AS kind, folder, agent, pid, ticks, boot, guardian, guardian_ticks, parent, task,
       host, pid_namespace, beat, started_at, ended_at, outcome, why,
       coalesce(iteration, 0) AS iteration, coalesce(limit_, 0) AS "limit", cost_usd,
       coalesce(doing, 'starting') AS doing, coalesce(last.at, 0.0) AS elapsed,
       coalesce(wall, started_at) AS changed_at,
       coalesce((SELECT by_ FROM pause WHERE pause.kind = 'run' AND name = run.id), CASE
                WHEN run.kind = 'execute' AND ended_at IS NULL THEN
                (SELECT by_ FROM pause WHERE (pause.kind, name) IN (VALUES ('task', run.task), ('execute', '')) LIMIT 1)
                END, '') AS paused_by,
       coalesce((SELECT text FROM question WHERE question.run = run.id), '') AS question,
       CASE WHEN ended_at IS NULL AND doing = 'wait' THEN wall + json_extract(CAST(decision AS TEXT), '$.seconds')
       END AS wakes_at
FROM run LEFT JOIN transition last ON last.run = run.id
 AND last.seq = (SELECT max(seq) FROM transition WHERE transition.run = run.id)
"""


class SqliteRunStore:
    """All runs of one repository. Every change is one committed transaction."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._database_file: DatabaseFile | None = None  # of a run of our own

    def begin(self, run: NewRun) -> None:
        """On disk before anything of it starts. What people told an earlier run of the same work, this one hears."""
        self._take_ownership()
        with transaction(self._database):
            self._database.execute(
                "INSERT INTO run(id, kind, folder, agent, request, pid, ticks, boot, guardian, guardian_ticks, host,"
                " pid_namespace, started_at, parent, task) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run.id, run.kind, run.folder, run.agent, run.request),
                    *astuple(run.owner),
                    *(run.started_at, run.parent, run.task),
                ),
            )
            self._inherit_wishes(run)

    def take_over(self, run: str, owner: RunOwner) -> None:
        """A run goes on in this process; wishes about its last life are void."""
        self._take_ownership()
        with transaction(self._database):
            self._database.execute(
                "UPDATE run SET pid=?, ticks=?, boot=?, guardian=?, guardian_ticks=?, host=?, pid_namespace=?,"
                " beat=NULL, ended_at=NULL, outcome=NULL, why=NULL WHERE id=?",
                (*astuple(owner), run),
            )
            self._database.execute("DELETE FROM wish WHERE run=?", (run,))
            self._database.execute("DELETE FROM question WHERE run=?", (run,))

    def append(self, row: JournalRow, heard: Sequence[int] = ()) -> None:
        """One transition: run, seq, wall, at, iteration, limit, cost, doing, seen, decision."""
        try:
            if heard:
                with transaction(self._database):
                    self._insert_transition(row)
                    self._database.executemany(
                        "UPDATE note SET heard_by=? WHERE id=?", [(row[0], number) for number in heard]
                    )
            else:
                self._insert_transition(row)
        finally:
            if self._database_file is not None:
                self._database_file.ensure_exists()  # after the write: what is there now will be read

    def move_folders(self, before: str, now: str) -> None:
        """What lies below a folder that was moved."""
        old, new = before.encode("utf-8", "surrogateescape"), now.encode("utf-8", "surrogateescape")
        with self._database:
            self._database.execute("BEGIN IMMEDIATE")
            for table in ("run", "attempt"):
                self._database.execute(
                    f"UPDATE {table} SET folder = ? || substr(folder, ?) WHERE folder = ? OR substr(folder, 1, ?) = ?",
                    (now, len(before) + 1, before, len(before) + 1, f"{before}/"),
                )
            for run, request in self._database.execute("SELECT id, request FROM run").fetchall():
                moved = request.replace(b'"%b/' % old, b'"%b/' % new).replace(b'"%b"' % old, b'"%b"' % new)
                if moved != request:
                    self._database.execute("UPDATE run SET request=? WHERE id=?", (moved, run))

    def beat(self, run: str, at: float) -> None:
        try:
            self._database.execute("UPDATE run SET beat=? WHERE id=?", (at, run))
        except sqlite3.OperationalError:
            pass  # a full disk costs the sign of life, never the run

    def append_missing(self, row: JournalRow) -> bool:
        """Of a run that is dead; False where somebody else has been first."""
        found = self._database.execute("INSERT OR IGNORE INTO transition VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return found.rowcount == 1

    def append_last(self, row: JournalRow, outcome: str, why: str, question: str = "") -> None:
        """The transition that ends the run, and the end itself, together; and what its agent asks."""
        with transaction(self._database):
            self.append(row)
            self.end(row[0], row[2], outcome, why)
            if question:
                self._database.execute("INSERT OR REPLACE INTO question VALUES(?, ?, ?)", (row[0], question, row[2]))

    def end(self, run: str, at: float, outcome: str, why: str) -> None:
        self._database.execute("UPDATE run SET ended_at=?, outcome=?, why=? WHERE id=?", (at, outcome, why, run))

    def list_transitions(self, run: str, after: int = 0) -> list[tuple[bytes, bytes]]:
        """(seen, decision) in order."""
        return self._database.execute(
            "SELECT seen, decision FROM transition WHERE run=? ORDER BY seq LIMIT -1 OFFSET ?", (run, after)
        ).fetchall()

    def list_costly_transitions(self, since: float) -> list[CostlyTransition]:
        """Those that may tell a cost: the others need not be decoded."""
        found = self._database.execute(
            "SELECT run.id AS run, kind, task, agent, request, wall, iteration, seen FROM transition"
            " JOIN run ON run.id = transition.run WHERE wall >= ?"
            " AND (instr(seen, CAST('\"cost_usd\"' AS BLOB)) OR instr(seen, CAST('\"usage\"' AS BLOB))"
            ' OR instr(seen, CAST(\'"type":"reported"\' AS BLOB)))'
            " ORDER BY wall, transition.run, seq",
            (since,),
        )
        return [CostlyTransition(**row) for row in read_by_name(found)]

    def list_unpriced_reports(self, run: str) -> list[bytes]:
        found = self._database.execute(
            'SELECT seen FROM transition WHERE run=? AND instr(seen, CAST(\'"type":"reported"\' AS BLOB))'
            " AND NOT instr(seen, CAST('\"cost_usd\":' AS BLOB)) ORDER BY seq",
            (run,),
        )
        return [seen for (seen,) in found]

    def read_request(self, run: str) -> bytes:
        found: tuple[bytes] = self._database.execute("SELECT request FROM run WHERE id=?", (run,)).fetchone()
        return found[0]

    def find_record(self, run: str) -> RunRecord | None:
        """One run, by its id or an unambiguous beginning of it."""
        pattern = run.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        found = list(self._select_records("WHERE run.id LIKE ? ESCAPE '\\' ORDER BY started_at DESC LIMIT 2", pattern))
        exact = [record for record in found if record.id == run]
        return exact[0] if exact else found[0] if len(found) == 1 else None

    def find_last_of_task(self, kind: str, task: str, since: float) -> str | None:
        """The newest of a task; those before are of another that had its name."""
        found = self._database.execute(
            "SELECT id FROM run WHERE kind=? AND task=? AND started_at >= ?"
            " ORDER BY started_at DESC, rowid DESC LIMIT 1",
            (kind, task, since),
        ).fetchone()
        return None if found is None else str(found[0])

    def list_latest(self, count: int, besides: str = "") -> list[RunRecord]:
        return list(
            self._select_records("WHERE kind != ? ORDER BY started_at DESC, run.rowid DESC LIMIT ?", besides, count)
        )

    def list_unfinished(self) -> list[RunRecord]:
        """Those without an end: running, or cut off."""
        return list(self._select_records("WHERE ended_at IS NULL ORDER BY started_at DESC"))

    def find_process_start(self, run: RunRecord) -> float:
        """When its process started its first run: `ralph execute` has one for each task."""
        same = (run.pid, run.ticks, run.boot)
        found = self._database.execute("SELECT min(started_at) FROM run WHERE pid=? AND ticks=? AND boot=?", same)
        return float(found.fetchone()[0])

    def list_unswept(self) -> list[RunRecord]:
        """Those that may have left processes behind: without an end, or lost and not swept since."""
        return list(self._select_records("WHERE guardian != 0 AND (ended_at IS NULL OR outcome = 'lost')"))

    def mark_swept(self, run: str) -> None:
        self._database.execute("UPDATE run SET guardian=0 WHERE id=?", (run,))

    def delete(self, run: str) -> None:
        with transaction(self._database):
            found = self._database.execute("DELETE FROM run WHERE id=? AND ended_at IS NOT NULL", (run,))
            for table in ("pause", "note") if found.rowcount else ():
                self._database.execute(f"DELETE FROM {table} WHERE kind='run' AND name=?", (run,))

    def add_wish(self, run: str, kind: str, at: float) -> None:
        """Leave a note for the process that runs it."""
        self._database.execute("INSERT INTO wish(run, kind, at) VALUES(?, ?, ?)", (run, kind, at))

    def has_wish(self, run: str, kind: str) -> bool:
        """Whether such a note is there."""
        found = self._database.execute("SELECT 1 FROM wish WHERE run=? AND kind=? LIMIT 1", (run, kind)).fetchone()
        return found is not None

    def _insert_transition(self, row: JournalRow) -> None:
        self._database.execute("INSERT INTO transition VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _inherit_wishes(self, run: NewRun) -> None:
        """Tasks keep their pauses and notes themselves; loops over a folder are known by that. Old questions are
        void: whoever started the work again knew of them."""
        if run.kind == "execute":
            earlier, values = "SELECT id FROM run WHERE kind=? AND task=? AND id != ?", (run.kind, run.task, run.id)
        elif run.kind in FOLDER_KINDS:
            earlier, values = "SELECT id FROM run WHERE kind=? AND folder=? AND id != ?", (run.kind, run.folder, run.id)
            for change in (
                "UPDATE note SET name=? WHERE kind='run' AND heard_by IS NULL",
                "UPDATE OR REPLACE pause SET name=? WHERE kind='run'",
            ):
                self._database.execute(f"{change} AND name IN ({earlier})", (run.id, *values))
        else:
            return
        self._database.execute(f"DELETE FROM question WHERE run IN ({earlier})", values)

    def _take_ownership(self) -> None:
        """It is a run of this process from now on."""
        self._database_file = identify_connection(self._database)
        wait_longer(self._database)

    def _select_records(self, rest: str, *values: object) -> Iterator[RunRecord]:
        return (RunRecord(**row) for row in read_by_name(self._database.execute(_RECORD_QUERY + rest, values)))
