"""`.ralph-active`: tells hooks that a loop is active and what an iteration may do. A copy for them; ours counts."""

import json
import os
import time

from ralph.core.review import mode_for, read, snapshot, snapshot_record
from ralph.model.loop import Brief
from ralph.model.story import StoryPlace, StoryRules


class Marker:
    """Written before each iteration, removed at the end, by its owner only."""

    def __init__(self, place: StoryPlace, rules: StoryRules) -> None:
        self._place = place
        self._rules = rules

    def write(self, brief: Brief) -> None:
        """For the iteration that is about to start."""
        stories = read(brief.tasks).stories
        content = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "pid": os.getpid(),
            "max_iterations": brief.limit,
            "mode": self._rules.run_mode,
            "skipReview": self._rules.skip_review,
            "reviewCap": self._rules.cap,
            "iterationMode": brief.role or mode_for(stories, self._rules.skip_review),
            "preIterationSnapshot": snapshot_record(snapshot(stories)),
            "ralphDir": os.path.relpath(self._place.folder, self._place.project),
        }
        write_whole(self._place.marker, json.dumps(content, indent=2) + "\n")

    def remove(self) -> None:
        """Only ours."""
        if owner(self._place.marker) == os.getpid():
            os.unlink(self._place.marker)


def owner(path: str) -> int:
    """The process a marker names; 0 when there is none, or it does not say."""
    try:
        with open(path, encoding="utf-8") as file:
            pid = json.load(file).get("pid")
    except (OSError, ValueError, AttributeError):
        return 0
    return pid if isinstance(pid, int) else 0


def write_whole(path: str, text: str) -> None:
    """All of it or nothing, on disk when this returns."""
    with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)
