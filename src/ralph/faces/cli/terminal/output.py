"""The one way to the user's terminal. Whatever becomes of it, the run goes on."""

import codecs
import errno
import os
from typing import TextIO

from ralph.faces.cli.terminal.look import columns

PATIENCE = 2.0  # seconds a non-blocking reader may let us wait before text is dropped


class Output:
    """Writes all of it, or as much as the other end takes. A gone reader makes it silent, never loud."""

    def __init__(self, fd: int, encoding: str = "utf-8") -> None:
        self._fd = fd  # negative: nobody listens
        self._encoding = encoding
        self._patience = PATIENCE
        self._torn = False
        self.lost = ""  # why some of it was

    @classmethod
    def on(cls, stream: TextIO | None) -> "Output":
        """On a stream's descriptor. A stream closed at start has none: its number may by now be anyone's file."""
        if stream is None or stream.closed:
            return cls(-1)
        try:
            return cls(stream.fileno(), _known(stream.encoding))
        except OSError:  # what tests put in its place has no descriptor
            return Captured(stream)

    def __call__(self, text: str) -> None:
        """Show text."""
        self.send(text.encode(self._encoding, "replace"))

    def send(self, data: bytes) -> None:
        """Write bytes in full."""
        if self._fd < 0:
            return
        if self._torn:
            data = b"\n" + data
        try:
            self._torn = not self._sent(memoryview(data))
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self.lost = error.strerror or str(error)  # a full disk may get room again
            else:
                self._fd = -1

    def columns(self) -> int:
        """How wide the terminal is now."""
        return columns(self._fd)

    def _sent(self, data: memoryview) -> bool:
        while data:
            try:
                data = data[os.write(self._fd, data) :]
                self._patience = PATIENCE
            except BlockingIOError:
                if not self._writable():
                    self._patience = 0.0  # once is enough: a stuck reader must not slow the loop
                    return False
        return True

    def _writable(self) -> bool:
        import select  # only a non-blocking stdout needs it

        poll = select.poll()
        poll.register(self._fd, select.POLLOUT)
        return bool(poll.poll(self._patience * 1000))


class Captured(Output):
    """A stream without a descriptor."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(-1, _known(stream.encoding))
        self._stream = stream

    def send(self, data: bytes) -> None:
        """Write through the stream itself."""
        try:
            self._stream.write(data.decode(self._encoding))
            self._stream.flush()
        except (OSError, ValueError):
            pass


def _known(encoding: str | None) -> str:
    try:
        return codecs.lookup(encoding or "ascii").name
    except LookupError:
        return "ascii"
