"""What a run that took long says at its end, besides how it ended."""

import os
from collections.abc import Sequence

from ralph.app.paths import find_project_paths
from ralph.model.errors import RalphError
from ralph.model.events import Event, RunEnded

MIN_AWAY_SECONDS = 600.0  # nobody watches a run for longer


class RunEndKeeper:
    """A Watcher: after a run that took long, says what who was away wants to know."""

    def __init__(self, min_seconds: float = MIN_AWAY_SECONDS) -> None:
        self._min_seconds = min_seconds
        self._ended: RunEnded | None = None

    def __call__(self, at: float, iteration: int, events: Sequence[Event]) -> None:
        self._ended = next((event for event in events if isinstance(event, RunEnded)), self._ended)

    def describe(self, folder: str) -> list[str]:
        """How it was verified, what came of it, what is left to do; nothing of a short run: its lines are in sight."""
        if self._ended is None or self._ended.seconds < self._min_seconds:
            return []
        from ralph.app.reports.report import build_report
        from ralph.faces.reports.report_words import list_afterword

        try:
            (run,) = build_report(find_project_paths(folder), self._ended.run, os.environ).runs
        except (RalphError, ValueError, OSError):
            return []  # of a task kept elsewhere; or its state, or the folder, is gone
        return list_afterword(run)
