"""One budget for several tasks at once."""

import threading
from collections.abc import Iterator

import pytest

from ralph.app.pipeline.budget import SharedBudget
from support.quiet_inbox import QuietInbox


@pytest.fixture
def inbox() -> Iterator[QuietInbox]:
    made = QuietInbox()
    yield made
    made.close()


def test_one_budget_is_shared_by_all() -> None:  # 000-22
    budget = SharedBudget(1.0)

    def pay() -> None:
        for _ in range(100):
            budget.add_cost(0.001)

    payers = [threading.Thread(target=pay) for _ in range(4)]
    for payer in payers:
        payer.start()
    for payer in payers:
        payer.join()
    budget.add_cost(None)
    left = budget.remaining_usd()
    assert left is not None
    assert abs(left - 0.6) < 1e-9
    assert SharedBudget(None).remaining_usd() is None


def test_several_at_once_have_no_more_than_there_is(inbox: QuietInbox) -> None:  # 000-22
    budget = SharedBudget(1.0)
    with budget.join(), budget.join(), budget.join():
        with budget.reserve(inbox) as one, budget.reserve(inbox) as other:
            assert one == pytest.approx(1 / 3)
            assert other == pytest.approx(1 / 3)
            budget.add_cost(0.1)
        with budget.reserve(inbox) as again:  # what was not spent is there for all
            assert again == pytest.approx(0.3)
    with budget.join(), budget.reserve(inbox) as alone:
        assert alone == pytest.approx(0.9)
        budget.add_cost(alone)
    with budget.join(), budget.reserve(inbox) as nothing:
        assert nothing == 0


def test_money_somebody_has_in_hand_is_waited_for(inbox: QuietInbox) -> None:
    budget = SharedBudget(1.0)
    with budget.join(), budget.reserve(inbox) as first:
        assert first == 1.0
        threading.Timer(0.3, lambda: setattr(inbox, "by", "cancelled")).start()
        with budget.join(), budget.reserve(inbox) as late:
            assert (late, inbox.poll_interruption()) == (0, "cancelled")  # nobody waits longer than wanted


def test_without_a_limit_nobody_waits(inbox: QuietInbox) -> None:
    budget = SharedBudget(None)
    with budget.join(), budget.reserve(inbox) as one, budget.reserve(inbox) as other:
        assert (one, other) == (None, None)


def test_who_writes_leaves_what_is_kept_for_reviews(inbox: QuietInbox) -> None:
    budget = SharedBudget(1.0, kept_usd=0.1)
    with budget.join():
        with budget.reserve(inbox, "coder") as usd:
            assert usd == pytest.approx(0.9)
            budget.add_cost(0.95)  # agents are stopped a little late
        with budget.reserve(inbox, "coder") as usd:
            assert usd == 0
        with budget.reserve(inbox, "reviewer") as usd:
            assert usd == pytest.approx(0.05)
