"""What all runs of this machine spent since midnight, for a budget per day."""

import time
from collections.abc import Mapping
from datetime import datetime

from ralph.app.paths import Paths
from ralph.app.runs.spending import list_all_expenses, parse_since

MAX_AGE_SECONDS = 2.0  # of a sum: other runs spend slowly, and a loop asks often


class DaySpending:
    """Reported and estimated together; safe to ask often."""

    def __init__(self, here: Paths, variables: Mapping[str, str]) -> None:
        self._here, self._variables = here, variables
        self._sum, self._summed_at = 0.0, -MAX_AGE_SECONDS

    def sum(self) -> float:
        now = time.monotonic()
        if now - self._summed_at >= MAX_AGE_SECONDS:
            since = parse_since("today", datetime.now().astimezone())
            expenses = list_all_expenses(self._variables, self._here, since)
            self._sum = sum((each.cost_usd or 0.0) + (each.estimated_usd or 0.0) for each in expenses)
            self._summed_at = now
        return self._sum
