"""The database: opened, brought up to date, and kept small."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from ralph.core.text.write_error import explain_write_error
from ralph.model.errors import CorruptState, MachineError, StateBusy, StateGone

BUSY_TIMEOUT_MS = 10_000
LOOP_BUSY_TIMEOUT_MS = (
    60_000  # a backup may hold the database; what a loop cannot write was paid for, and would be done again
)
LOG_INDEX_BYTES = 64 << 10  # what SQLite needs beside a database to read it, and a little more
WATCH_BUSY_TIMEOUT_MS = 50  # who watches looks again soon
_MIGRATIONS_DIR = os.path.join(os.path.dirname(__file__), "migrations")
LATEST_SCHEMA_VERSION = 8  # the highest number in migrations/


class DatabaseFile(Struct, frozen=True):
    """The file a connection is open on. One that was deleted can still be written to, and nobody will ever read it."""

    path: str
    file: tuple[int, int] | None  # device and inode; None: it was gone before it was looked at
    log: tuple[int, int] | None = None  # the same of the write-ahead log, which is there while anyone has it open

    @property
    def is_gone(self) -> bool:
        """Whether its path leads to another file by now, or nowhere."""
        try:
            return self.file is None or _read_inode(self.path) != self.file
        except OSError:
            return False  # where nobody may look, it may well be

    def ensure_exists(self) -> None:
        """For before anything is done that must be on record. What was written last may be in the log beside it."""
        if self.is_gone:
            raise StateGone(
                f"{os.path.dirname(self.path)} was deleted during the run, with all records of runs and tasks."
                " The work tree is as the agent left it; start a new run"
            )
        if self.log is not None and _read_inode(f"{self.path}-wal") != self.log:
            raise StateGone(
                f"{self.path}-wal was deleted during the run, with the newest records. The work tree is as the agent"
                " left it"
            )


def wait_longer(database: sqlite3.Connection) -> None:
    """From now on it waits as long as a loop can; a person who asks is told sooner."""
    database.execute(f"PRAGMA busy_timeout={LOOP_BUSY_TIMEOUT_MS}")


def identify_connection(database: sqlite3.Connection) -> DatabaseFile:
    """Asked right after it was opened."""
    found = identify_database(str(database.execute("PRAGMA database_list").fetchone()[2]))
    return DatabaseFile(found.path, found.file, _read_inode(f"{found.path}-wal"))


def identify_database(path: str) -> DatabaseFile:
    return DatabaseFile(path, _read_inode(path))


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing; others wait."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        yield


def read_by_name(rows: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    """Each row as its values by the names of their columns, so that no order can be got wrong."""
    names = [column[0] for column in rows.description]
    return (dict(zip(names, row, strict=True)) for row in rows)


def open_database(path: str, *, shared: bool = False) -> sqlite3.Connection:
    """A connection to an up-to-date database, made if it is not there. One that threads share, they take turns with."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise explain_write_error(os.path.dirname(path), error) from error
    with translate_errors(path):
        database = _connect(path, shared)
        if (version := _read_version(database)) != LATEST_SCHEMA_VERSION:
            _migrate(database, version, path)
    return database


@contextmanager
def translate_errors(path: str) -> Iterator[None]:
    """Turns the database's errors inside the block into ones a user can act on."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _translate_error(error, path) from error


def open_read_only(path: str) -> sqlite3.Connection | None:
    """A connection that cannot write and hardly waits; None while there is nothing to read yet."""
    if not os.path.exists(path):
        return None
    database = _connect_read_only(path)
    version = _read_version(database)
    if version == LATEST_SCHEMA_VERSION:
        return database
    database.close()
    if version == 0:  # someone is about to make it
        return None
    open_database(path).close()  # an older one is brought up to date, as by every command
    return _connect_read_only(path)


def _read_inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _connect_read_only(path: str) -> sqlite3.Connection:
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(
        f"file:{escaped}?mode=ro", uri=True, isolation_level=None, timeout=WATCH_BUSY_TIMEOUT_MS / 1000
    )


def _connect(path: str, shared: bool) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000, check_same_thread=not shared)
    database.execute("PRAGMA synchronous=FULL")
    database.execute("PRAGMA foreign_keys=ON")
    database.execute("PRAGMA cache_size=-256")  # kB; a loop only appends, and pages it won't see again are memory
    # A log that is soon reused stops growing: a commit then syncs data only, not the file system's own journal.
    database.execute("PRAGMA wal_autocheckpoint=64")
    return database


def _read_version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _migrate(database: sqlite3.Connection, version: int, path: str) -> None:
    if version > LATEST_SCHEMA_VERSION:
        raise CorruptState(
            f"{path} was written by a newer ralph (schema {version}, known: {LATEST_SCHEMA_VERSION})", "update ralph"
        )
    if version == 0:
        database.execute("PRAGMA journal_mode=WAL")
    database.execute("BEGIN IMMEDIATE")
    try:
        for number, script in _read_migrations():
            if number > _read_version(database):  # asked again: another process may have been first
                for statement in _split_statements(script):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version={number}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def _read_migrations() -> list[tuple[int, str]]:
    found = []
    for name in sorted(os.listdir(_MIGRATIONS_DIR)):
        if name.endswith(".sql"):
            with open(os.path.join(_MIGRATIONS_DIR, name), encoding="utf-8") as file:
                found.append((int(name[:4]), file.read()))
    return found


def _split_statements(script: str) -> list[str]:
    found, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    return found


def _translate_error(error: sqlite3.DatabaseError, path: str) -> CorruptState | MachineError:
    text = str(error)
    if isinstance(error, sqlite3.OperationalError) and ("full" in text or _has_no_room(text, path)):
        return MachineError(f"the disk is full: {path}", "free some space, then try again; resume a run with --resume")
    if isinstance(error, sqlite3.OperationalError):
        kind = StateBusy if _is_busy(error) else MachineError
        return kind(f"cannot use {path}: {text}", "is the folder writable, and not held by another program?")
    return CorruptState(f"{path} is not a ralph database: {text}", f"to start over: mv {path} {path}.broken")


def _has_no_room(text: str, path: str) -> bool:
    """Who only reads needs some room, too, for the index of the log; without it, SQLite speaks of an I/O error."""
    if "disk I/O error" not in text:
        return False
    try:
        room = os.statvfs(os.path.dirname(path))
    except OSError:
        return False
    return room.f_bavail * room.f_frsize < LOG_INDEX_BYTES


def _is_busy(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
