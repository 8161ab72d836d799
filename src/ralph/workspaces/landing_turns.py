"""Tasks that run at once land in turns; and whoever else moves their target is noticed."""

import threading


class LandingTurns:
    """Of one process. `turn`: what is merged must have been verified merged, so one lands at a time."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self._lock = threading.Lock()
        self._ours: set[str] = set()
        self._seen: dict[str, str] = {}  # by branch: the commit it was at when last looked at

    def announce(self, commit: str) -> None:
        """A target is about to be moved there, by us."""
        with self._lock:
            self._ours.add(commit)

    def is_ours(self, commit: str) -> bool:
        with self._lock:
            return commit in self._ours

    def find_foreign_move(self, branch: str, commit: str) -> str:
        """Where the branch was when last looked at, if somebody else has moved it since; each move is told once."""
        with self._lock:
            before = self._seen.get(branch, commit)
            self._seen[branch] = commit
            return "" if commit in (before, *self._ours) else before
