"""Opening what ralph remembers: what looking creates, what is closed, whose errors are told."""

import os
import sqlite3
from pathlib import Path

import pytest

from contracts.store_kit import make_run
from ralph.app.paths import Paths, find_paths
from ralph.app.stores import friendly_errors, has_stores, open_existing_stores, open_stores, watch_changes
from ralph.model.errors import CorruptState, MachineError, StateBusy


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths(str(tmp_path))


def test_looking_creates_nothing(paths: Paths) -> None:
    with open_existing_stores(paths) as stores:
        assert stores is None
    assert watch_changes(paths).find_stores() is None
    assert not has_stores(paths)
    assert not os.path.exists(paths.state)


def test_what_one_block_wrote_the_next_one_finds(paths: Paths) -> None:
    with open_stores(paths) as stores:
        stores.runs.begin(make_run("run-1"))
    with open_existing_stores(paths) as found:
        assert found
        assert found.runs.find_record("run-1")


def test_stores_are_closed_after_the_block_even_if_it_fails(paths: Paths) -> None:
    with pytest.raises(ZeroDivisionError), open_stores(paths) as stores:
        raise ZeroDivisionError
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        stores.runs.list_latest(1)


def test_what_the_database_gets_wrong_in_the_block_is_an_error_of_ours(paths: Paths) -> None:
    with open_stores(paths) as stores:
        stores.runs.begin(make_run("run-1"))
        sqlite3.connect(paths.database).execute("DROP TABLE wish")
        with pytest.raises(MachineError, match="no such table"), friendly_errors(paths):
            stores.runs.has_wish("run-1", "cancel")


def test_what_is_no_database_is_told(paths: Paths) -> None:
    os.makedirs(paths.state)
    Path(paths.database).write_bytes(b"not a database at all, and long enough to be looked at " * 40)
    with pytest.raises(CorruptState, match="is not a ralph database"), open_stores(paths):
        pass


def test_a_database_that_someone_holds_is_busy_for_now(paths: Paths) -> None:
    with open_stores(paths) as stores:
        stores.runs.begin(make_run("run-1"))
    holder = sqlite3.connect(paths.database, isolation_level=None)
    holder.execute("PRAGMA locking_mode=EXCLUSIVE")  # nobody else may even read
    holder.execute("BEGIN EXCLUSIVE")
    changes = watch_changes(paths)
    with pytest.raises(StateBusy, match="locked"), friendly_errors(paths):
        changes.find_stores()
    holder.close()
    assert changes.find_stores()
    changes.close()
