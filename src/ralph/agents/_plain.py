"""Any program's stdout as an answer: nothing is known about it but its words."""

from collections.abc import Sequence

from ralph.model.events import AgentEvent, Said
from ralph.model.ports import ParsedRun

MAX_KEPT_BYTES = 256 << 10  # bytes of the beginning, and as many of the end


class PlainParser:
    """Keeps the first and the last part, so a tag in either survives a flood between them."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def feed(self, lines: bytes | bytearray) -> Sequence[AgentEvent]:
        """What was said, a block at a time."""
        self._keep_ends(lines)
        text = lines.decode("utf-8", "replace").rstrip("\r\n")
        return (Said(text),) if text.strip() else ()

    def summarize_run(self) -> ParsedRun:
        """The text; whether it was a success only the exit code can tell."""
        mark = f"\n... [{self._dropped} bytes left out] ...\n".encode() if self._dropped else b""
        return ParsedRun(closing="unknown", text=bytes(self._head + mark + self._tail).decode("utf-8", "replace"))

    def _keep_ends(self, data: bytes | bytearray) -> None:
        room = MAX_KEPT_BYTES - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * MAX_KEPT_BYTES:
            self._dropped += len(self._tail) - MAX_KEPT_BYTES
            del self._tail[:-MAX_KEPT_BYTES]
