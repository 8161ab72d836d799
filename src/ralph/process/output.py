"""What a child prints: raw bytes into a bounded log, whole lines onward, never more than a line in memory."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import hashlib

MAX_LINE_BYTES = 16 << 20
LOG_HEAD_BYTES = 8 << 20
LOG_TAIL_BYTES = 8 << 20
_COPY_BLOCK_BYTES = 1 << 20
_MAX_SECRET_BYTES = 1 << 15


FindSecrets = Callable[[bytes], Iterable[tuple[int, int]]]  # begin and end of each


class BoundedLog:
    """The first LOG_HEAD_BYTES, then the last LOG_TAIL_BYTES. While it is written the tail is a ring in `PATH.tail`
    (the same pages again: three times as fast as rotating files); at close it is put behind the head, with a
    mark where bytes were cut. A full disk or a folder that is gone costs the log, never the run."""

    def __init__(self, path: str, head: int = LOG_HEAD_BYTES, tail: int = LOG_TAIL_BYTES) -> None:
        self.path = path
        self.size = 0
        self._head, self._tail = head, tail
        self.failure = ""
        self.is_there = False  # known at close: whether the path leads to what was written
        self._fd = self._open_log()
        self._ring: int | None = None

    def fileno(self) -> int:
        """For who writes on where we were, when we are gone."""
        return self._fd

    def write(self, data: bytes) -> None:
        """All of it, somewhere, or none of it and a note in `failed`."""
        if self.failure:
            return
        try:
            if self.size + len(data) <= self._head:
                written = os.write(self._fd, data)
                self.size += written
                if written == len(data):
                    return
                data = data[written:]
            self._spill(memoryview(data))
        except OSError as error:
            self.failure = error.strerror or str(error)

    def close(self, find_secrets: FindSecrets | None = None) -> None:
        """Put the tail behind the head. Stars in the place of what is found: the log keeps its length and its lines."""
        try:
            if self._ring is not None:
                self._append_tail(self._ring)
            if find_secrets is not None:
                mask_secrets(self._fd, find_secrets)  # by the file that was written, whatever is at its path by now
        except OSError as error:
            self.failure = error.strerror or str(error)
        finally:
            self.is_there = _is_file_at(self.path, self._fd)
            os.close(self._fd)
            if self._ring is not None:
                os.close(self._ring)

    def _open_log(self) -> int:
        try:
            try:
                return self._open(self.path)
            except FileNotFoundError:  # an agent's `git clean` takes our folder along
                os.mkdir(os.path.dirname(self.path))
                return self._open(self.path)
        except OSError as error:
            self.failure = error.strerror or str(error)
            return self._open(os.devnull)

    def _spill(self, view: memoryview) -> None:
        while view:
            if self.size < self._head:
                done = os.write(self._fd, view[: self._head - self.size])
            else:
                if self._ring is None:
                    self._ring = self._open(f"{self.path}.tail")
                at = (self.size - self._head) % self._tail
                done = os.pwrite(self._ring, view[: self._tail - at], at)
            self.size += done
            view = view[done:]

    def _append_tail(self, ring: int) -> None:
        beyond = self.size - self._head
        start = beyond % self._tail if beyond > self._tail else 0
        if beyond > self._tail:
            os.write(self._fd, b"\n... [%d bytes cut] ...\n" % (beyond - self._tail))
        kept = min(beyond, self._tail)
        for begin, end in ((start, kept), (0, start)):
            for at in range(begin, end, _COPY_BLOCK_BYTES):
                os.write(self._fd, os.pread(ring, min(_COPY_BLOCK_BYTES, end - at), at))
        os.unlink(f"{self.path}.tail")

    @staticmethod
    def _open(path: str) -> int:
        """Not through a link, which an agent may have put there, nor a pipe that nobody reads."""
        if os.path.islink(path):
            os.unlink(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        return os.open(path, flags, 0o644)


def mask_secrets(fd: int, find_secrets: FindSecrets) -> None:
    """Block by block: a log is larger than what one wants to have in memory."""
    for at in range(0, os.fstat(fd).st_size, _COPY_BLOCK_BYTES):
        data = os.pread(fd, _COPY_BLOCK_BYTES + _MAX_SECRET_BYTES, at)
        for begin, end in find_secrets(data):
            os.pwrite(fd, b"*" * (end - begin), at + begin)


def _is_file_at(path: str, fd: int) -> bool:
    """Not where the file could not be made, nor where it was deleted since."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except OSError:
        return False


class OutputDigest:
    """SHA-256 of a stream."""

    def __init__(self) -> None:
        self._hash: hashlib._Hash | None = None

    def write(self, data: bytes) -> None:
        self._load().update(data)

    def hexdigest(self) -> str:
        return self._load().hexdigest()

    def _load(self) -> "hashlib._Hash":
        if self._hash is None:
            import hashlib  # 3 ms: loaded while the child is at work

            self._hash = hashlib.sha256()
        return self._hash


class LineSplitter:
    """Cuts a byte stream into blocks of whole lines. A line over the limit is dropped; its size is kept."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._dropping = 0
        self.oversize_sizes: list[int] = []

    def feed(self, data: bytes) -> bytes | bytearray:
        """Every line that `data` completes, as one block with its newlines."""
        end = data.rfind(b"\n") + 1
        if not end:
            self._keep_rest(data)
            return b""
        if self._dropping:
            first = data.index(b"\n") + 1
            self.oversize_sizes.append(self._dropping + first)
            self._dropping = 0
            block: bytes | bytearray = data[first:end]
        elif self._rest:
            block, self._rest = self._rest, bytearray()
            block += memoryview(data)[:end]
        else:
            block = data if end == len(data) else data[:end]
        if end < len(data):
            self._rest += memoryview(data)[end:]
        return block

    def finish(self) -> bytes | bytearray:
        """What came after the last newline."""
        if self._dropping:
            self.oversize_sizes.append(self._dropping)
            self._dropping = 0
        rest, self._rest = self._rest, bytearray()
        return rest

    def _keep_rest(self, data: bytes) -> None:
        if self._dropping:
            self._dropping += len(data)
        elif len(self._rest) + len(data) > self._limit:
            self._dropping = len(self._rest) + len(data)
            self._rest = bytearray()
        else:
            self._rest += data


class Excerpt:
    """The first and the last bytes of a stream, in memory, with a mark where some are missing between them."""

    def __init__(self, head: int, tail: int) -> None:
        self._room, self._tail = head, tail
        self._first = bytearray()
        self._last = bytearray()
        self._cut = 0

    def write(self, data: bytes) -> None:
        if self._room:
            part = data[: self._room]
            self._first += part
            self._room -= len(part)
            data = data[len(part) :]
        if data:
            self._last += data
            if len(self._last) > 2 * self._tail:
                self._trim()

    def text(self) -> str:
        """What is kept, decoded with replacement."""
        self._trim()
        mark = b"\n... [%d bytes cut] ...\n" % self._cut if self._cut else b""
        return (bytes(self._first) + mark + bytes(self._last)).decode("utf-8", "replace")

    def _trim(self) -> None:
        excess = len(self._last) - self._tail
        if excess > 0:
            del self._last[:excess]
            self._cut += excess
