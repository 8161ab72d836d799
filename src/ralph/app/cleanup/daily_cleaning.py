"""What later runs clean up by themselves: once a day, what `ralph clean` would remove of runs that ended long ago."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress

from ralph.app.paths import Paths

STAMP_NAME = "cleaned"
_DAY_SECONDS = 86_400


def clean_up_once_a_day(paths: Paths, keep_days: int, variables: Mapping[str, str]) -> None:
    """After a run. `keep_days` 0: everything stays. Trouble with it is the next run's turn."""
    if not keep_days or not os.path.isdir(paths.state):
        return
    stamp = os.path.join(paths.state, STAMP_NAME)
    with suppress(OSError):
        is_new = not os.path.exists(stamp)  # nothing here is old yet, or nobody has stated that it would go
        if not is_new and os.stat(stamp).st_mtime > time.time() - _DAY_SECONDS:
            return
        with open(stamp, "wb"):
            pass
        if not is_new:
            from ralph.app.cleanup.cleaning import clean_up, plan_cleaning  # once a day

            clean_up(plan_cleaning(paths, keep_days * _DAY_SECONDS, variables), paths, variables)
