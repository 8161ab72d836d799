"""What all runs of this machine spent since midnight, for a budget per day."""

import time
from collections.abc import Mapping
from datetime import datetime

from ralph.app.paths import Paths
from ralph.app.runs.spending import list_all_expenses, parse_since
from ralph.model.loop import AnswersLost, Fact, Interrupted, Landed, Reported, Saved, Verified

MAX_AGE_SECONDS = 2.0  # of a sum: other runs spend slowly, and a loop asks often


class DaySpending:
    """Reported and estimated together; safe to ask often."""

    def __init__(self, here: Paths, variables: Mapping[str, str]) -> None:
        self._here, self._variables = here, variables
        self._sum, self._summed_at = 0.0, -MAX_AGE_SECONDS

    def sum_with(self, fact: Fact) -> float:
        """What is on record, and the fact that is about to be: a budget must not lag an agent behind."""
        now, cost = time.monotonic(), _read_cost(fact)
        if cost or now - self._summed_at >= MAX_AGE_SECONDS:
            since = parse_since("today", datetime.now().astimezone())
            expenses = list_all_expenses(self._variables, self._here, since)
            self._sum = cost + sum((each.cost_usd or 0.0) + (each.estimated_usd or 0.0) for each in expenses)
            self._summed_at = now
        return self._sum


def _read_cost(fact: Fact) -> float:
    if isinstance(fact, Reported) and fact.cost_usd is None:
        return fact.estimated_usd or 0.0
    if isinstance(fact, Reported | Saved | Verified | Landed | Interrupted | AnswersLost):
        return fact.cost_usd or 0.0
    return 0.0
