"""Estimates by tokens, and budgets that are kept by them."""

import pytest

from ralph.core.policies.staged import PipelinePolicy, StagePlan
from ralph.core.policies.tagged import TagPolicy
from ralph.core.price import estimate_cost, find_price
from ralph.core.step import Rules, step
from ralph.model.events import Usage
from ralph.model.loop import Began, Limits, Observation, Outcome, Reported, RunAgent, Stop
from ralph.model.price import TokenPrice
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

PRICE = TokenPrice(input=1.0, output=10.0, cache_read=0.1)
USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=500_000)


@pytest.mark.parametrize(
    ("price", "usage", "counts_cached", "cost"),
    [
        (PRICE, USAGE, False, 2.05),
        (PRICE, USAGE, True, 1.55),  # what was cached is half of the input
        (TokenPrice(input=1.0, output=10.0), USAGE, False, 2.5),
        (TokenPrice(input=3.0, output=15.0), Usage(input_tokens=1_000_000), False, 3.0),
        (TokenPrice(input=3.0, output=0.0, cache_write=4.0), Usage(cache_write_tokens=500_000), False, 2.0),
        (TokenPrice(input=3.0, output=0.0), Usage(cache_write_tokens=500_000), False, 1.5),
        (PRICE, Usage(input_tokens=10, cache_read_tokens=1_000_000), True, 0.1),  # never less than nothing
        (PRICE, Usage(), False, None),
        (None, USAGE, False, None),
    ],
)
def test_tokens_have_a_price(price: TokenPrice | None, usage: Usage, counts_cached: bool, cost: float | None) -> None:
    assert estimate_cost(price, usage, counts_cached=counts_cached) == cost


def test_input_is_told_apart_from_the_cache_unless_somebody_says_otherwise() -> None:
    assert estimate_cost(PRICE, USAGE) == estimate_cost(PRICE, USAGE, counts_cached=False)


def test_the_model_decides_before_the_agent() -> None:
    prices = {"gpt-5": PRICE, "codex": TokenPrice(input=9, output=9)}
    assert find_price(prices, "codex", "gpt-5") == PRICE
    assert find_price(prices, "codex", "") == prices["codex"]
    assert find_price(prices, "claude", "opus") is None


def test_an_estimate_counts_against_the_budget_and_stays_apart() -> None:
    world = ScriptedEffects([AgentTurn(reported=Reported(outcome="finished", text="at it", estimated_usd=0.6))])
    stop, _, state = play_loop(Rules(TagPolicy()), world, limits=Limits(9, cost_usd=1.0))
    assert stop.outcome is Outcome.OVER_BUDGET
    assert stop.why.startswith("≈$1.20 of the $1.00 budget spent")
    assert (state.tally.cost_usd, state.tally.estimated_usd) == (None, 1.2)
    assert [round(brief.budget_usd or 0, 2) for brief in world.briefs] == [1.0, 0.4]


def test_what_is_reported_is_not_estimated_besides() -> None:
    both = Reported(outcome="finished", text="at it", cost_usd=0.6, estimated_usd=0.6)
    _, _, state = play_loop(Rules(TagPolicy()), ScriptedEffects([AgentTurn(reported=both)]), limits=Limits(1))
    assert (state.tally.cost_usd, state.tally.estimated_usd) == (0.6, 0.0)


@pytest.mark.parametrize(
    ("today", "left"),
    [(0.0, 0.5), (4.75, 0.25), (None, 0.5)],
)
def test_the_smaller_of_both_budgets_is_what_an_agent_may_spend(today: float | None, left: float) -> None:
    seen = Observation(fact=Began(Limits(9, cost_usd=0.5, day_usd=5.0)), today_usd=today)
    _, decision = step(Rules(TagPolicy()), None, seen)
    assert isinstance(decision, RunAgent)
    assert decision.brief.budget_usd == left


def test_the_budget_of_a_day_is_that_of_all_runs() -> None:
    seen = Observation(fact=Began(Limits(9, day_usd=5.0)), today_usd=5.0)
    _, decision = step(Rules(TagPolicy()), None, seen)
    spent = "$5.00 of the $5.00 for a day spent, by all runs of this machine (budgetUsdPerDay)"
    assert decision == Stop(Outcome.OVER_BUDGET, spent)


@pytest.mark.parametrize(
    ("role", "spent", "left"),
    [("coder", 0.0, 0.9), ("reviewer", 0.0, 1.0), ("coder", 0.95, None), ("reviewer", 0.95, 0.05), ("", 0.95, 0.05)],
)
def test_who_writes_leaves_a_reserve_for_who_reviews(role: str, spent: float, left: float | None) -> None:
    policy = PipelinePolicy(task="TASK-001", stages=(StagePlan(role=role, promise="DONE", limit=5),))
    seen = Observation(fact=Began(Limits(9, cost_usd=1.0, reserve_usd=0.1), spent))
    _, decision = step(Rules(policy), None, seen)
    if left is None:
        assert isinstance(decision, Stop)
        assert "the other $0.10 are reserved for reviews" in decision.why
    else:
        assert isinstance(decision, RunAgent)
        assert round(decision.brief.budget_usd or 0.0, 9) == left
