"""Runs and their journals, in a real file."""

import shutil
from pathlib import Path

import pytest

from ralph.model.errors import StateGone
from ralph.model.ports import JournalRow
from ralph.model.runs import NewRun, RunOwner
from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.runs import SqliteRunStore

KEEPER = RunOwner(pid=1, ticks=2, boot="boot", guardian=3, guardian_ticks=4)


def row(number: int) -> JournalRow:
    return ("run-1", number, 1.0, 1.0, 1, 10, None, "check", b"{}", b"{}")


def begun(folder: Path) -> SqliteRunStore:
    runs = SqliteRunStore(sqlite.open_database(str(folder / "ralph.db")))
    runs.begin(NewRun(id="run-1", kind="run", folder="/", agent="a", request=b"{}", owner=KEEPER, started_at=1.0))
    runs.append(row(1))
    return runs


def test_what_is_appended_is_there_for_others(tmp_path: Path) -> None:
    begun(tmp_path).append_last(row(2), "failed", "why")
    others = SqliteRunStore(sqlite.open_database(str(tmp_path / "ralph.db")))
    assert len(others.list_transitions("run-1")) == 2
    assert others.list_latest(1)[0].outcome == "failed"


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "made anew"])
@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
def test_nothing_is_appended_where_nobody_would_find_it(tmp_path: Path, again: bool, resumed: bool) -> None:
    folder = tmp_path / "state"
    runs = begun(folder)
    if resumed:
        runs = SqliteRunStore(sqlite.open_database(str(folder / "ralph.db")))
        runs.take_over("run-1", KEEPER)
    shutil.rmtree(folder)
    if again:
        sqlite.open_database(str(folder / "ralph.db"))
    with pytest.raises(StateGone, match=f"{folder} was deleted while the run went on"):
        runs.append(row(2))
    with pytest.raises(StateGone):
        runs.append_last(row(3), "completed", "why")
    assert folder.exists() is again


def test_a_loop_waits_longer_for_a_held_database_than_who_only_asks(tmp_path: Path) -> None:
    def patience(runs: SqliteRunStore) -> int:
        return int(runs._database.execute("PRAGMA busy_timeout").fetchone()[0])

    assert patience(begun(tmp_path)) == 60_000
    resumed = SqliteRunStore(sqlite.open_database(str(tmp_path / "ralph.db")))
    assert patience(resumed) == 10_000
    resumed.take_over("run-1", KEEPER)
    assert patience(resumed) == 60_000
