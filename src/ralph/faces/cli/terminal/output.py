"""The one way to the user's terminal. Whatever becomes of it, the run goes on."""

import codecs
import errno
import os
from typing import TextIO

from ralph.faces.cli.terminal.look import read_terminal_width

MAX_WRITE_WAIT_SECONDS = 2.0  # seconds a non-blocking reader may let us wait before text is dropped


class Output:
    """Writes in full to a descriptor, or as much as it takes. If the reader is gone it goes silent; it never raises."""

    def __init__(self, fd: int, encoding: str = "utf-8") -> None:
        self._fd = fd  # negative: nobody listens
        self._encoding = encoding
        self._max_wait_seconds = MAX_WRITE_WAIT_SECONDS
        self._is_torn = False
        self.write_error = ""  # why some of it was

    @classmethod
    def for_stream(cls, stream: TextIO | None) -> "Output":
        """Writes to the stream's descriptor. For a stream closed at start it writes nowhere: the number may be
        anyone's file by now."""
        if stream is None or stream.closed:
            return cls(-1)
        try:
            return cls(stream.fileno(), _normalize_encoding(stream.encoding))
        except OSError:  # what tests put in its place has no descriptor
            return StreamOutput(stream)

    def __call__(self, text: str) -> None:
        self.write_bytes(text.encode(self._encoding, "replace"))

    def write_bytes(self, data: bytes) -> None:
        if self._fd < 0:
            return
        if self._is_torn:
            data = b"\n" + data
        try:
            self._is_torn = not self._write_all(memoryview(data))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self.write_error = error.strerror or str(error)  # a full disk may get room again
            else:
                self._fd = -1

    def read_width(self) -> int:
        """How wide the terminal is now."""
        return read_terminal_width(self._fd)

    def _write_all(self, data: memoryview) -> bool:
        while data:
            try:
                data = data[os.write(self._fd, data) :]
                self._max_wait_seconds = MAX_WRITE_WAIT_SECONDS
            except BlockingIOError:
                if not self._wait_until_writable():
                    self._max_wait_seconds = 0.0  # once is enough: a stuck reader must not slow the loop
                    return False
        return True

    def _wait_until_writable(self) -> bool:
        import select  # only a non-blocking stdout needs it

        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        return bool(poll.poll(self._max_wait_seconds * 1000))


class StreamOutput(Output):
    """A stream without a descriptor."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(-1, _normalize_encoding(stream.encoding))
        self._stream = stream

    def write_bytes(self, data: bytes) -> None:
        """Write through the stream itself."""
        try:
            self._stream.write(data.decode(self._encoding))
            self._stream.flush()
        except (OSError, ValueError):
            pass


def _normalize_encoding(encoding: str | None) -> str:
    try:
        return codecs.lookup(encoding or "ascii").name
    except LookupError:
        return "ascii"
