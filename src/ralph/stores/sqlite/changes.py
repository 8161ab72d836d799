"""Watching a database: whether it is still the same file, and whether anyone has written to it."""

import os

from ralph.stores.sqlite.stores import SqliteStores, connect_read_only_stores


class SqliteChanges:
    """Opens the file when it is there, and again when it is another one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: tuple[int, int] | None = None  # device and inode
        self._stores: SqliteStores | None = None

    def find_stores(self) -> SqliteStores | None:
        file = self._identify_file()
        if file != self._file or (file is not None and self._stores is None):
            self.close()
            self._file = file
            self._stores = connect_read_only_stores(self._path)
        return self._stores

    def read_version(self) -> int:
        assert self._stores is not None, "there was nothing to read"
        return self._stores.read_version()

    def close(self) -> None:
        if self._stores is not None:
            self._stores.close()
            self._stores = None

    def _identify_file(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_dev, found.st_ino
