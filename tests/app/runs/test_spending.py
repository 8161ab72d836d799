"""What expenses come to."""

from ralph.app.runs.spending import Expense, sum_expenses
from ralph.model.events import NO_USAGE


def spend(cost_usd: float | None) -> Expense:
    return Expense(
        at=0.0,
        repository="r",
        run="1",
        kind="run",
        task="",
        agent="claude",
        model="",
        iteration=1,
        cost_usd=cost_usd,
        usage=NO_USAGE,
    )


def test_many_small_amounts_come_to_what_they_are() -> None:
    total = sum_expenses([spend(0.1), spend(0.1), spend(0.1), spend(None)])
    assert (total.cost_usd, total.calls, total.unpriced) == (0.3, 4, 1)
