"""The order of the restart loop, step by step."""

from ralph.core.policies.done_file import COMPLETED_REASON, NO_AGENT_REASON, DoneFilePolicy, DoneFileState
from ralph.core.step import Rules, step
from ralph.model.loop import (
    Await,
    Awaited,
    Began,
    Check,
    Checked,
    Decision,
    Fact,
    Feedback,
    GateResult,
    Interrupted,
    Limits,
    Look,
    Looked,
    LoopState,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    RunOutcome,
    Stop,
    Wait,
    Waited,
)

RULES = Rules(DoneFilePolicy(restart_delay=2.0, wait_timeout=30.0), None)
OPEN, DONE = Looked(), Looked(done=True)
FAILED = Reported(outcome="crashed", exit_code=1)
WELL = Reported(outcome="finished", exit_code=0)


def decided(*facts: Fact, limit: int = 5) -> list[Decision]:
    state: LoopState[DoneFileState] | None = None
    decisions = []
    for number, fact in enumerate((Began(Limits(limit)), *facts)):
        state, decision = step(RULES, state, Observation(fact=fact, at=float(number)))
        decisions.append(decision)
    return decisions


def kinds(decisions: list[Decision]) -> list[type]:
    return [type(decision) for decision in decisions]


def test_done_before_the_first_run_runs_nothing() -> None:  # 003-02, 003-04
    *before, last = decided(DONE, Awaited())
    assert before == [Look(), Await("children", 30.0)]
    assert last == Stop(Outcome.COMPLETED, f"{COMPLETED_REASON}; {NO_AGENT_REASON}")


def test_the_order_is_done_run_done_delay_and_again() -> None:  # 003-02, 003-03
    facts = (OPEN, WELL, OPEN, Waited(), OPEN, FAILED, DONE, Awaited())
    assert kinds(decided(*facts)) == [Look, RunAgent, Look, Wait, Look, RunAgent, Look, Await, Stop]


def test_the_delay_applies_after_exit_0_too() -> None:  # 003-03
    assert decided(OPEN, WELL, OPEN)[-1] == Wait(2.0, "before the restart")


def test_a_limit_with_a_known_end_is_waited_out() -> None:
    limited = Reported(outcome="limited", exit_code=1, reset_at=1000.0)
    rules = Rules(DoneFilePolicy(restart_delay=2.0, max_wait=3600.0), None)

    def decide(limits: Limits, wall: float) -> Decision:
        state, _ = step(rules, None, Observation(fact=Began(limits)))
        for fact in (OPEN, limited, OPEN):
            state, decision = step(rules, state, Observation(fact=fact, at=1.0, wall=wall))
        return decision

    assert decide(Limits(5), 400.0) == Wait(605.0, "The account's limit is reached.")
    assert decide(Limits(5), 1001.0) == Wait(2.0, "before the restart")
    late = Stop(Outcome.EXHAUSTED, "the account's limit ends in 10m: after the time limit of 60s")
    assert decide(Limits(5, seconds=60.0), 400.0) == late
    assert decide(Limits(5), -4000.0) == Stop(
        Outcome.FAILED, "the account's limit ends in 1h23m20s: longer than ralph waits (1h)"
    )


def test_a_limit_with_a_known_end_spends_no_restart_unless_it_never_ends() -> None:
    limited = Reported(outcome="limited", exit_code=1, reset_at=1000.0)
    rules = Rules(DoneFilePolicy(max_wait=3600.0), None)
    state, _ = step(rules, None, Observation(fact=Began(Limits(5))))
    spent = []
    for _ in range(102):
        for fact in (OPEN, limited, OPEN, Waited()):
            state, _ = step(rules, state, Observation(fact=fact, wall=990.0))
        spent.append(state.tally.iterations)
    assert (spent[:100], spent[100]) == ([0] * 100, 1)


def test_exit_0_never_completes() -> None:  # 003-03
    decisions = decided(*[fact for _ in range(5) for fact in (OPEN, WELL, OPEN, Waited())], OPEN)
    assert decisions[-1] == Stop(Outcome.EXHAUSTED, "max restarts exceeded")
    assert kinds(decisions).count(RunAgent) == 5


def test_max_restarts_0_runs_nothing() -> None:  # 003-02
    assert decided(OPEN, limit=0)[-1] == Stop(Outcome.EXHAUSTED, "max restarts exceeded")


def test_done_while_it_waited_for_the_restart_counts() -> None:  # 003-02
    assert isinstance(decided(OPEN, WELL, OPEN, Waited(), DONE)[-1], Await)


def test_children_that_outlive_the_wait_are_named_and_the_task_is_done() -> None:  # 003-05
    stop = decided(DONE, Awaited(("run-7",)))[-1]
    assert isinstance(stop, Stop)
    assert stop.outcome is Outcome.COMPLETED
    assert "run-7" in stop.why


def test_a_directory_for_a_mark_is_an_error() -> None:  # 003-04
    stop = decided(Looked(problem="DONE is a directory"))[-1]
    assert stop == Stop(Outcome.UNUSABLE, "DONE is a directory")


def test_exit_42_is_not_restarted() -> None:  # 003-13
    stop = decided(OPEN, Reported(outcome="crashed", exit_code=42), OPEN)[-1]
    assert stop == Stop(Outcome.BLOCKED, "wait-without-restart: the agent ended with exit code 42")
    assert stop.outcome.exit_code == 3


def test_a_wish_by_file_or_bus_is_not_restarted() -> None:  # 003-13
    stop = decided(OPEN, WELL, Looked(waits="it said so"))[-1]
    assert stop == Stop(Outcome.BLOCKED, "wait-without-restart: it said so")


def test_done_is_stronger_than_a_wish_to_wait() -> None:  # 003-13
    assert isinstance(decided(OPEN, Reported(outcome="crashed", exit_code=42), DONE)[-1], Await)


def test_an_old_wish_does_not_keep_the_first_run_from_starting() -> None:  # 003-13
    assert isinstance(decided(Looked(waits="old"))[-1], RunAgent)


def test_trouble_is_restarted_with_the_delay_and_counts() -> None:  # 003-14
    outcomes: tuple[RunOutcome, ...] = ("limited", "overloaded", "offline", "timed_out", "idle", "empty")
    for outcome in outcomes:
        decisions = decided(OPEN, Reported(outcome=outcome), OPEN)
        assert decisions[-1] == Wait(2.0, "before the restart")


def test_what_cannot_work_stops_at_once() -> None:  # 003-15
    stop = decided(OPEN, Reported(outcome="unusable", detail="not found"))[-1]
    assert stop == Stop(Outcome.UNUSABLE, "not found")


def test_an_interruption_restarts_nothing() -> None:  # 003-06
    assert decided(OPEN, Interrupted("received SIGTERM"))[-1] == Stop(Outcome.INTERRUPTED, "received SIGTERM")


def test_a_task_waits_for_the_tasks_it_needs() -> None:
    decisions = decided(Looked(needs=("a",)), Awaited(), OPEN)
    assert kinds(decisions) == [Look, Await, Look, RunAgent]
    assert decisions[1] == Await("dependencies")


RED = Checked((GateResult(gate="make test", passed=False, exit_code=1, feedback=Feedback("It failed")),))
GREEN = Checked((GateResult(gate="make test", passed=True),))
CHECKED = DoneFilePolicy(gates=("make test",))


def checked(*facts: Fact, limit: int = 5) -> list[Decision]:
    state, found = None, []
    for fact in (Began(Limits(limit)), *facts):
        state, decision = step(Rules(CHECKED, None), state, Observation(fact=fact))
        found.append(decision)
    return found


def test_done_counts_when_the_checks_pass() -> None:
    *_, check, end = checked(Looked(done=True), Awaited(), GREEN)
    assert check == Check(("make test",), 0)
    assert isinstance(end, Stop)
    assert end.outcome is Outcome.COMPLETED
    assert end.why.endswith("checks passed: make test")


def test_a_check_that_fails_voids_done_and_is_told_to_the_next_agent() -> None:
    *_, wait, _, run = checked(Looked(done=True), Awaited(), RED, Waited(), Looked())
    assert isinstance(wait, Wait)
    assert isinstance(run, RunAgent)
    assert run.brief.feedback == (Feedback("It failed"),)


def test_what_failed_is_told_once_and_named_at_the_end() -> None:
    told = (Looked(done=True), Awaited(), RED, Waited(), Looked(), Reported(outcome="finished"), Looked(), Waited())
    *_, again = checked(*told, Looked(), limit=9)
    assert isinstance(again, RunAgent)
    assert again.brief.feedback == ()
    *_, end = checked(*told, Looked(), limit=1)
    assert isinstance(end, Stop)
    assert end.why == "max restarts exceeded: DONE was there, but these checks failed: make test"


def test_children_that_outlive_the_wait_are_named_when_the_checks_pass() -> None:
    *_, end = checked(Looked(done=True), Awaited(("child-1",)), GREEN)
    assert isinstance(end, Stop)
    assert "child-1" in end.why
