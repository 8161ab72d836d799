"""What is SQLite's own about the board of tasks: columns, migrations, constraints, locks."""

import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from contracts.task_store_kit import make_task
from ralph.model.board import Spec
from ralph.model.errors import CorruptState
from ralph.model.spec import Task
from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.tasks import SqliteTaskStore


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "ralph.db")


@pytest.fixture
def tasks(path: str) -> Iterator[SqliteTaskStore]:
    database = sqlite.open_database(path)
    store = SqliteTaskStore(database)
    store.specs.add_new(Spec(id="auth", title="Auth", text="Tokens everywhere."))
    yield store
    database.close()


def test_completion_criteria_are_a_json_column(tasks: SqliteTaskStore, path: str) -> None:  # 002-04
    tasks.add_new([make_task("T-1"), Task("T-2", "auth", "From before")])
    rows = sqlite3.connect(path).execute(
        "SELECT json_extract(completion_spec, '$.coder.verification_method') FROM task ORDER BY id"
    )
    assert rows.fetchall() == [("external",), (None,)]
    assert tasks.get("T-2").task.completion_spec is None  # C15


def test_a_database_from_before_gets_the_tables_and_keeps_its_runs(path: str) -> None:  # 002-04
    folder = Path(sqlite.__file__).parent / "migrations"
    old = sqlite3.connect(path, isolation_level=None)
    for name in ("0001_runs.sql", "0002_tasks.sql"):
        old.executescript((folder / name).read_text())
    old.execute(
        "INSERT INTO run VALUES('r', 'run', '', 'claude', x'', 1, 1, '', 0, 0, 1.0, 2.0, 'completed', '', NULL, '')"
    )
    old.execute("PRAGMA user_version=2")
    old.close()
    database = sqlite.open_database(path)
    assert SqliteTaskStore(database).list_cards() == []
    assert database.execute("SELECT id FROM run").fetchall() == [("r",)]


def test_a_damaged_record_is_told_not_dumped(tasks: SqliteTaskStore, path: str) -> None:
    tasks.add_new([make_task("T-1")])
    other = sqlite3.connect(path)
    other.execute("UPDATE task SET completion_spec='{\"outcome\": 3}'")
    other.commit()
    with pytest.raises(CorruptState, match="task 'T-1' is damaged"):
        tasks.get("T-1")
    assert [card.id for card in tasks.list_cards()] == ["T-1"]


def test_the_database_itself_allows_no_worker_without_work(tasks: SqliteTaskStore, path: str) -> None:  # §3-15
    tasks.add_new([make_task("T-1")])
    other = sqlite3.connect(path)
    for change in ("status='in_progress'", "worker='me'", "status='finished'", "stage='boss'"):
        with pytest.raises(sqlite3.IntegrityError):
            other.execute(f"UPDATE task SET {change}")


def test_a_claim_waits_for_who_came_first(tasks: SqliteTaskStore, path: str) -> None:
    tasks.add_new([make_task("T-1"), make_task("T-2")])
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("BEGIN IMMEDIATE")
    first.execute("UPDATE task SET status='in_progress', worker='run-1' WHERE id='T-1'")
    with ThreadPoolExecutor() as pool:
        second = pool.submit(lambda: SqliteTaskStore(sqlite.open_database(path)).claim("run-2"))
        time.sleep(0.3)
        first.execute("COMMIT")
        claimed = second.result(30)
    assert claimed
    assert claimed.task.id == "T-2"
