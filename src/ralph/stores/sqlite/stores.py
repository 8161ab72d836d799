"""One connection to the database, and every store on it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from ralph.stores.sqlite import database as sqlite
from ralph.stores.sqlite.runs import SqliteRunStore

if TYPE_CHECKING:
    from ralph.stores.sqlite.attempts import SqliteAttemptStore
    from ralph.stores.sqlite.control import SqliteControlStore
    from ralph.stores.sqlite.tasks import SqliteTaskStore


class SqliteStores:
    """Opened by `connect_stores`; raises the database's own errors, see `database.translate_errors`."""

    def __init__(self, database: sqlite3.Connection, path: str) -> None:
        self._database = database
        self.file = sqlite.identify_database(path)
        self.runs = SqliteRunStore(database)

    @cached_property
    def tasks(self) -> "SqliteTaskStore":
        from ralph.stores.sqlite.tasks import SqliteTaskStore  # `ralph run` has none, and they load 10 ms of modules

        return SqliteTaskStore(self._database)

    @cached_property
    def attempts(self) -> "SqliteAttemptStore":
        from ralph.stores.sqlite.attempts import SqliteAttemptStore  # the same for `ralph status`

        return SqliteAttemptStore(self._database)

    @cached_property
    def control(self) -> "SqliteControlStore":
        from ralph.stores.sqlite.control import SqliteControlStore  # the same

        return SqliteControlStore(self._database)

    @contextmanager
    def read_consistently(self) -> Iterator[None]:
        self._database.execute("BEGIN")
        try:
            yield
        finally:
            self._database.execute("COMMIT")

    def read_version(self) -> int:
        """Another one once any other connection has committed something."""
        return int(self._database.execute("PRAGMA data_version").fetchone()[0])

    def close(self) -> None:
        self._database.close()


def connect_stores(path: str, *, shared: bool = False) -> SqliteStores:
    """Made where there are none. Those that threads share, they take turns with."""
    return SqliteStores(sqlite.open_database(path, shared=shared), path)


def connect_read_only_stores(path: str) -> SqliteStores | None:
    """They cannot write and hardly wait; None while there is nothing to read yet."""
    database = sqlite.open_read_only(path)
    return None if database is None else SqliteStores(database, path)
