"""What is SQLite's own about runs: how long a loop waits for a database that someone holds."""

from pathlib import Path

from contracts.store_kit import HEIR, make_run
from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.runs import SqliteRunStore


def open_runs(folder: Path) -> SqliteRunStore:
    return SqliteRunStore(sqlite.open_database(str(folder / "ralph.db")))


def read_busy_timeout(runs: SqliteRunStore) -> int:
    return int(runs._database.execute("PRAGMA busy_timeout").fetchone()[0])


def test_a_loop_waits_longer_for_a_held_database_than_who_only_asks(tmp_path: Path) -> None:
    asking = open_runs(tmp_path)
    assert read_busy_timeout(asking) == 10_000
    asking.begin(make_run("run-1"))
    assert read_busy_timeout(asking) == 60_000
    resumed = open_runs(tmp_path)
    assert read_busy_timeout(resumed) == 10_000
    resumed.take_over("run-1", HEIR)
    assert read_busy_timeout(resumed) == 60_000
