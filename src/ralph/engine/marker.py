"""`.ralph-active`: tells hooks that a loop is active and what an iteration may do. A copy for them; ours counts."""

import json
import os
import time
from typing import Any

from ralph.core.stories.review import choose_mode, parse_story_file, render_review_snapshot, take_review_snapshot
from ralph.model.loop import Brief
from ralph.model.story import StoryPaths, StoryRules
from ralph.process.atomic_file import read_regular_file, remove_path, write_atomic
from ralph.process.identity import identify_process, identify_self, read_pid_namespace


class MarkerFile:
    """Written before each iteration, removed at the end, by its owner only."""

    def __init__(self, place: StoryPaths, rules: StoryRules) -> None:
        self._place = place
        self._rules = rules

    def write(self, brief: Brief) -> None:
        """For the iteration that is about to start."""
        stories = parse_story_file(brief.tasks).stories
        me = identify_self()
        content = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "pid": me.pid,
            "ticks": me.ticks,
            "boot": me.boot,
            "pidNamespace": read_pid_namespace(),
            "max_iterations": brief.limit,
            "mode": self._rules.run_mode,
            "skipReview": self._rules.skip_review,
            "reviewCap": self._rules.cap,
            "iterationMode": brief.role or choose_mode(stories, self._rules.skip_review),
            "preIterationSnapshot": render_review_snapshot(take_review_snapshot(stories)),
            "ralphDir": os.path.relpath(self._place.folder, self._place.project),
        }
        write_atomic(self._place.marker, json.dumps(content, indent=2) + "\n")

    def remove(self) -> None:
        """Unless it is another's: what an agent made of ours would hold back every session to come."""
        if not find_owner_pid(self._place.marker):
            remove_path(self._place.marker)


def find_owner_pid(path: str) -> int:
    """The other living process that a marker names; 0 when there is none."""
    content = _read_content(path)
    pid = content.get("pid")
    living = identify_process(pid) if isinstance(pid, int) and pid > 0 and pid != os.getpid() else None
    if living is None:
        return 0
    # A pid alone, as other tools write it, has to do; with more we know whether it is someone else's by now.
    recorded = (content.get("ticks", living.ticks), content.get("boot", living.boot))
    return living.pid if recorded == (living.ticks, living.boot) else 0


def _read_content(path: str) -> dict[str, Any]:
    try:
        found = json.loads(read_regular_file(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
