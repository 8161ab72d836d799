"""prompt.md, prd.md and progress.txt of a story loop, as they were when last seen: what an agent loses is put back."""

import errno
import os
from collections.abc import Iterable

from ralph.process.atomic_file import read_regular_file, write_atomic

PROTECTED_FILE_NAMES = ("prompt.md", "prd.md", "progress.txt")
READ_ONLY_FILE_NAMES = ("prompt.md", "prd.md")  # for agents; a person may change them at any time


class ProtectedFiles:
    """Remembers their texts for as long as a loop lasts. What was never there is not missed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._last_seen: dict[str, str] = {}
        self.find_changes()

    def find_changes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Which are gone or empty, and which of the read-only ones have another text than at the last look."""
        lost, rewritten = [], []
        for name in PROTECTED_FILE_NAMES:
            text = self._read_text(name)
            if text is None:
                continue
            if not text.strip():
                lost += [name] if name in self._last_seen else []
                continue
            if name in READ_ONLY_FILE_NAMES and self._last_seen.get(name, text) != text:
                rewritten.append(name)
            self._last_seen[name] = text
        return tuple(lost), tuple(rewritten)

    def restore_files(self, names: Iterable[str]) -> None:
        for name in names:
            write_atomic(os.path.join(self._folder, name), self._last_seen[name])

    def _read_text(self, name: str) -> str | None:
        """Empty when there is none. A log may have grown too large to be kept: None, for then it is surely not lost."""
        try:
            return read_regular_file(os.path.join(self._folder, name))
        except OSError as error:
            return None if error.errno == errno.EFBIG and name not in READ_ONLY_FILE_NAMES else ""
