"""Pauses, notes, questions and answers in SQLite. Every change is one committed transaction."""

import sqlite3

from ralph.model.control import OpenQuestion, PauseRecord, PersonNote, StoredNote, Subject
from ralph.stores.sqlite.database import read_by_name, transaction

_NOTE_QUERY = "SELECT id, kind, name, text, by_, at, question, heard_by FROM note "
_QUESTION_QUERY = """
SELECT question.run AS run, run.kind AS kind, run.task AS task, text, at
FROM question JOIN run ON run.id = question.run
"""


class SqliteControlStore:
    """What people want of the runs and tasks of one repository."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def pause(self, pause: PauseRecord) -> None:
        """In the place of an earlier one."""
        values = (pause.subject.kind, pause.subject.name, pause.by, pause.at, pause.now)
        self._database.execute("INSERT OR REPLACE INTO pause(kind, name, by_, at, now) VALUES(?, ?, ?, ?, ?)", values)

    def lift(self, subject: Subject) -> bool:
        """Whether it was paused."""
        found = self._database.execute("DELETE FROM pause WHERE kind=? AND name=?", (subject.kind, subject.name))
        return found.rowcount == 1

    def find_pause(self, subject: Subject) -> PauseRecord | None:
        found = self._select_pauses(" WHERE kind=? AND name=?", subject.kind, subject.name)
        return found[0] if found else None

    def list_pauses(self) -> list[PauseRecord]:
        return self._select_pauses(" ORDER BY at")

    def add_note(self, subject: Subject, text: str, *, by: str, at: float) -> PersonNote:
        return self._insert_note(subject, text, by=by, at=at, question="")

    def list_unheard(self, subject: Subject) -> list[PersonNote]:
        rest = "WHERE kind=? AND name=? AND heard_by IS NULL ORDER BY id"
        return [found.note for found in self._select_notes(rest, subject.kind, subject.name)]

    def list_notes(self, subject: Subject) -> list[StoredNote]:
        return self._select_notes("WHERE kind=? AND name=? ORDER BY id", subject.kind, subject.name)

    def list_questions(self) -> list[OpenQuestion]:
        return [
            OpenQuestion(
                run=row["run"],
                subject=Subject("task", row["task"]) if row["kind"] == "execute" else Subject("run", row["run"]),
                text=row["text"],
                at=row["at"],
            )
            for row in read_by_name(self._database.execute(_QUESTION_QUERY + "ORDER BY at"))
        ]

    def answer(self, question: OpenQuestion, text: str, *, by: str, at: float) -> PersonNote | None:
        """None where somebody else was first."""
        with transaction(self._database):
            found = self._database.execute("DELETE FROM question WHERE run=? AND text=?", (question.run, question.text))
            if found.rowcount != 1:
                return None
            return self._insert_note(question.subject, text, by=by, at=at, question=question.text)

    def wish_execute_end(self, kind: str, at: float) -> None:
        self._database.execute("INSERT OR REPLACE INTO execute_wish VALUES(?, ?)", (kind, at))

    def list_execute_wishes(self) -> frozenset[str]:
        return frozenset(row[0] for row in self._database.execute("SELECT kind FROM execute_wish"))

    def clear_execute_wishes(self) -> None:
        self._database.execute("DELETE FROM execute_wish")

    def _insert_note(self, subject: Subject, text: str, *, by: str, at: float, question: str) -> PersonNote:
        made = self._database.execute(
            "INSERT INTO note(kind, name, text, by_, at, question) VALUES(?, ?, ?, ?, ?, ?)",
            (subject.kind, subject.name, text, by, at, question),
        )
        return PersonNote(id=int(made.lastrowid or 0), text=text, by=by, question=question)

    def _select_pauses(self, rest: str, *values: object) -> list[PauseRecord]:
        rows = self._database.execute(f"SELECT kind, name, by_, at, now FROM pause{rest}", values)
        return [
            PauseRecord(subject=Subject(row["kind"], row["name"]), by=row["by_"], at=row["at"], now=bool(row["now"]))
            for row in read_by_name(rows)
        ]

    def _select_notes(self, rest: str, *values: object) -> list[StoredNote]:
        return [
            StoredNote(
                note=PersonNote(id=row["id"], text=row["text"], by=row["by_"], question=row["question"]),
                subject=Subject(row["kind"], row["name"]),
                at=row["at"],
                heard_by=row["heard_by"] or "",
            )
            for row in read_by_name(self._database.execute(_NOTE_QUERY + rest, values))
        ]
