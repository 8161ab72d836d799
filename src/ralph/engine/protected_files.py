"""prompt.md, prd.md and progress.txt of a story loop, as they were when last seen: what an agent loses is put back."""

import errno
import os
from collections.abc import Iterable

from ralph.engine.atomic_file import read_whole, write_whole

NAMES = ("prompt.md", "prd.md", "progress.txt")
READ_ONLY = ("prompt.md", "prd.md")  # for agents; a person may change them at any time


class LoopFiles:
    """Remembers their texts for as long as a loop lasts. What was never there is not missed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kept: dict[str, str] = {}
        self.look()

    def look(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Which are gone or empty, and which of the read-only ones have another text than at the last look."""
        lost, rewritten = [], []
        for name in NAMES:
            text = self._text(name)
            if text is None:
                continue
            if not text.strip():
                lost += [name] if name in self._kept else []
                continue
            if name in READ_ONLY and self._kept.get(name, text) != text:
                rewritten.append(name)
            self._kept[name] = text
        return tuple(lost), tuple(rewritten)

    def put_back(self, names: Iterable[str]) -> None:
        """As they were when last seen."""
        for name in names:
            write_whole(os.path.join(self._folder, name), self._kept[name])

    def _text(self, name: str) -> str | None:
        """Empty when there is none. A log may have grown too large to be kept: None, for then it is surely not lost."""
        try:
            return read_whole(os.path.join(self._folder, name))
        except OSError as error:
            return None if error.errno == errno.EFBIG and name not in READ_ONLY else ""
