"""Why the iterations of `ralph run` did not complete it, in words."""

import pytest

from ralph.core.policies.tagged import TagPolicy
from ralph.core.step import Rules
from ralph.model.loop import GateResult, Limits, Outcome, Reported
from support.scripted_world import AgentTurn, ScriptedEffects, play_loop

DONE = Reported(outcome="finished", text="<response>DONE</response>")
WORKING = Reported(outcome="finished", text="still at it")
CRASHED = Reported(outcome="crashed", detail="The agent ended with exit code 1 and no result.")
REFUSED = Reported(outcome="refused", text=DONE.text, detail="refused", refused_tools=("Bash",))
BAD = Reported(outcome="finished", text="<promise>DONE</promise>, I think")
GREEN: frozenset[str] = frozenset()
TEST, LINT, BOTH = frozenset({"make test"}), frozenset({"ruff"}), frozenset({"make test", "ruff"})


def explain(turns: list[tuple[Reported, frozenset[str]]], *gates: str, signals: tuple[str, ...] = ("response",)) -> str:
    """The last words of a run that had no more iterations than these."""
    world = ScriptedEffects([AgentTurn(reported=reported, red=red) for reported, red in turns])
    rules = Rules(TagPolicy(gates=gates, signals=signals))
    stop, _, _ = play_loop(rules, world, limits=Limits(len(turns)))
    assert stop.outcome is Outcome.EXHAUSTED
    return stop.why.removeprefix(f"maximum iterations reached ({len(turns)}) without completion: ")


@pytest.mark.parametrize(
    ("turns", "says"),
    [
        (
            [(WORKING, GREEN)] * 3,
            "guardrails were green in 3 of 3 iterations, but the agent never answered <response>DONE</response>",
        ),
        (
            [(WORKING, TEST), (DONE, TEST), (DONE, TEST)],
            "the claim came in iterations 2 and 3, `make test` was red both times: 1 failed, 12 passed",
        ),
        ([(DONE, TEST)], "the claim came in iteration 1, `make test` was red: 1 failed, 12 passed"),
        (
            [(DONE, TEST)] * 3,
            "the claim came in iterations 1, 2 and 3, `make test` was red all 3 times: 1 failed, 12 passed",
        ),
        (
            [(DONE, TEST), (DONE, LINT)],
            "the claim came in iterations 1 and 2, guardrails were red both times: last `ruff`: exit code 1",
        ),
        (
            [(DONE, BOTH)],
            "the claim came in iteration 1, `ruff` and `make test` were red: last `make test`: 1 failed, 12 passed",
        ),
        (
            [(DONE, TEST), (WORKING, GREEN)],
            (
                "the claim came in iteration 1, `make test` was red: 1 failed, 12 passed; guardrails were green in 1 of"
                " 2 iterations without a claim"
            ),
        ),
        (
            [(WORKING, TEST)] * 2,
            (
                "`make test` failed in every one of 2 iterations: 1 failed, 12 passed; the agent never answered"
                " <response>DONE</response>"
            ),
        ),
        ([(CRASHED, GREEN)] * 2, "no iteration finished: The agent ended with exit code 1 and no result."),
        (
            [(WORKING, GREEN), (CRASHED, GREEN)],
            (
                "guardrails were green in 2 of 2 iterations, but the agent never answered <response>DONE</response>;"
                " 1 of 2 iterations did not finish: The agent ended with exit code 1 and no result."
            ),
        ),
    ],
)
def test_a_run_that_did_not_complete_says_why(turns: list[tuple[Reported, frozenset[str]]], says: str) -> None:
    assert explain(turns, "ruff", "make test") == says


def test_many_iterations_are_counted_not_listed() -> None:
    assert explain([(DONE, TEST)] * 6, "make test").startswith("the claim came in 6 iterations, last in 6, ")


@pytest.mark.parametrize(
    ("reported", "signals", "says"),
    [
        (WORKING, ("response",), "the agent never answered <response>DONE</response> in 1 iteration"),
        (WORKING, ("promise",), "the agent never promised <promise>DONE</promise> in 1 iteration"),
        (
            WORKING,
            ("response", "file:out/OK"),
            "the agent never answered <response>DONE</response> or created out/OK in 1 iteration",
        ),
        (
            BAD,
            ("promise",),
            (
                "the agent never promised <promise>DONE</promise>:"
                " its promise was not alone on the last line in iteration 1"
            ),
        ),
        (
            REFUSED,
            ("response",),
            "the claim in iteration 1 does not count: the agent was refused something, and no guardrail can confirm it",
        ),
    ],
)
def test_without_guardrails_it_names_the_missing_signal(
    reported: Reported, signals: tuple[str, ...], says: str
) -> None:
    assert explain([(reported, GREEN)], signals=signals) == says


def test_a_red_baseline_is_no_iteration() -> None:
    world = ScriptedEffects([AgentTurn(reported=WORKING)])
    rules = Rules(TagPolicy(gates=("make test",), baseline=True))
    stop, _, _ = play_loop(rules, world, limits=Limits(1))
    assert "green in 1 of 1 iteration," in stop.why


def test_secrets_in_a_guardrail_are_not_told() -> None:
    assert "hunter2" not in explain([(DONE, frozenset({"check --password=hunter2"}))], "check --password=hunter2")


def test_a_check_of_an_older_version_has_no_summary() -> None:
    assert GateResult(gate="make test", passed=False, exit_code=2).summary == ""
