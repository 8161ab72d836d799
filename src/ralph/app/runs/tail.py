"""The end of a file that grows: whole lines as they come, also across its rotation."""

import os
from collections.abc import Iterator
from io import FileIO

_BLOCK_BYTES = 1 << 20


class FileTail:
    """Never waits: it gives what is there. With `last`, so many bytes at a time at most: what is older is skipped."""

    def __init__(self, path: str, last: int | None = None) -> None:
        self._path = path
        self._max_bytes = last
        self._file: FileIO | None = None
        self._partial_line = b""  # the beginning of a line whose end has not come yet

    def read_blocks(self) -> Iterator[bytes]:
        """Whole lines that came since the last time. A file that is rotated away is read to its end first."""
        self._file = self._file or self._open()
        while self._file is not None:
            yield from self._read_new(self._file)
            if not self._is_replaced(self._file):
                return
            self.close()
            self._file = self._open()

    def partial_line(self) -> bytes:
        return self._partial_line

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read_new(self, file: FileIO) -> Iterator[bytes]:
        skipped = self._skip_old(file)
        while data := file.read(_BLOCK_BYTES):
            if skipped:  # most likely in the middle of a line
                _, _, data = data.partition(b"\n")
                skipped = False
            block, found, self._partial_line = (self._partial_line + data).rpartition(b"\n")
            if found:
                yield block + b"\n"

    def _skip_old(self, file: FileIO) -> bool:
        size, at = os.fstat(file.fileno()).st_size, file.tell()
        if self._max_bytes is None or size - at <= self._max_bytes:
            return False
        file.seek(size - self._max_bytes)
        self._partial_line = b""
        return True

    def _open(self) -> FileIO | None:
        try:
            return open(self._path, "rb", buffering=0)
        except OSError:
            return None

    def _is_replaced(self, file: FileIO) -> bool:
        try:
            return os.stat(self._path).st_ino != os.fstat(file.fileno()).st_ino
        except OSError:
            return False
