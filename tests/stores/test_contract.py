"""Every database keeps what the ports promise. Another one is another class in DATABASES."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from contracts.control_store_kit import ControlStoreContract
from contracts.store_kit import (
    AttemptStoreContract,
    ChangesContract,
    ConnectionContract,
    DatabaseUnderTest,
    RunStoreContract,
)
from contracts.task_store_kit import SpecStoreContract, TaskHistoryContract, TaskStoreContract
from ralph.stores.sqlite.changes import SqliteChanges
from ralph.stores.sqlite.database import translate_errors
from ralph.stores.sqlite.stores import SqliteStores, connect_stores


class SqliteUnderTest:
    """A database in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "state" / "ralph.db"
        self._opened: list[SqliteStores | SqliteChanges] = []

    def connect(self, *, shared: bool = False) -> SqliteStores:
        stores = connect_stores(str(self._path), shared=shared)
        self._opened.append(stores)
        return stores

    def watch(self) -> SqliteChanges:
        changes = SqliteChanges(str(self._path))
        self._opened.append(changes)
        return changes

    def friendly_errors(self) -> AbstractContextManager[None]:
        return translate_errors(str(self._path))

    def delete(self) -> None:
        shutil.rmtree(self._path.parent)

    def exists(self) -> bool:
        return self._path.exists()

    @property
    def opening(self) -> str:
        return f"from ralph.stores.sqlite.stores import connect_stores\nstores = connect_stores({str(self._path)!r})"

    def check_integrity(self) -> None:
        assert sqlite3.connect(self._path).execute("PRAGMA integrity_check").fetchone() == ("ok",)

    def close(self) -> None:
        for opened in self._opened:
            opened.close()


DATABASES = {"sqlite": SqliteUnderTest}


@pytest.fixture(params=DATABASES.values(), ids=list(DATABASES))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DatabaseUnderTest]:
    database = request.param(tmp_path)
    yield database
    database.close()


class TestConnections(ConnectionContract):
    pass


class TestChanges(ChangesContract):
    pass


class TestRuns(RunStoreContract):
    pass


class TestAttempts(AttemptStoreContract):
    pass


class TestTasks(TaskStoreContract):
    pass


class TestTaskHistory(TaskHistoryContract):
    pass


class TestSpecs(SpecStoreContract):
    pass


class TestControl(ControlStoreContract):
    pass
