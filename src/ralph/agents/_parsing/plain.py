"""Any program's stdout as an answer: nothing is known about it but its words."""

from collections.abc import Sequence

from ralph.core.text.plain import strip_escapes
from ralph.model.events import AgentEvent, Said
from ralph.model.ports import ParsedRun

MAX_ANSWER_BYTES = 16 << 20  # of a longer answer the first and the last half of so much is read
_HALF = MAX_ANSWER_BYTES // 2


class PlainParser:
    """Keeps an answer whole; of a flood its beginning and its end, so a tag in either survives."""

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
        """The text, without what only a terminal understands; whether it was a success only the exit code can tell."""
        self._trim_tail()
        mark = f"\n... [{self._dropped} bytes left out] ...\n".encode() if self._dropped else b""
        text = b"".join((self._head, mark, self._tail)).decode("utf-8", "replace")
        return ParsedRun(closing="unknown", text=strip_escapes(text))

    def _keep_ends(self, data: bytes | bytearray) -> None:
        room = _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * _HALF:
            self._trim_tail()

    def _trim_tail(self) -> None:
        excess = len(self._tail) - _HALF
        if excess > 0:
            self._dropped += excess
            del self._tail[:excess]
