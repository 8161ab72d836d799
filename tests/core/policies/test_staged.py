"""The pipeline of one task, played in memory: promises are verified, changes sent back, only what is proven lands."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.claims import MISPLACED_PROMISE_REASON
from ralph.core.policies.staged import (
    MERGED_REASON,
    PipelinePolicy,
    StagedState,
    StagePlan,
    explain_missing_promise,
)
from ralph.core.step import Rules, replay, step
from ralph.core.tasks.landing_state import MAX_CONFLICTS, MAX_STALE_LOOKS, LandingState
from ralph.model.loop import (
    Began,
    Brief,
    Decision,
    Fact,
    Forbidden,
    Land,
    Landed,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Stop,
    Verified,
    Verify,
)

PROMISES = {
    "coder": "IMPLEMENTATION_COMPLETE",
    "reviewer": "REVIEW_PASSED",
    "tester": "TESTS_PASSED",
    "qa": "QA_PASSED",
}
LIMITS = {"coder": 15, "reviewer": 5, "tester": 10, "qa": 5}
KEPT, BROKEN, SILENT, MINDS = "kept", "broken", "silent", "minds"  # what an agent run can come to
LANDED = Landed(done=True, commit="c0ffee" * 7)
FINE = Verified(verified=True, reason="fine")


def plans(*roles: str, limit: int | None = None, loops: bool = True) -> tuple[StagePlan, ...]:
    return tuple(
        StagePlan(role=role, promise=PROMISES[role], limit=limit or LIMITS[role], loops=loops)
        for role in roles or PROMISES
    )


class Play:
    """A pipeline whose agents, verifications and landings follow a script; at its end all goes well."""

    def __init__(
        self,
        policy: PipelinePolicy,
        runs: Sequence[Any] = (),
        landings: Sequence[Landed] = (),
        verdict: Verified = FINE,
    ) -> None:
        self.policy = policy
        self._runs, self._landings = [*runs], [*landings]
        self._verdict, self._good = verdict, verdict
        self.briefs: list[Brief] = []
        self.seen: list[Observation] = []
        self.decisions: list[Decision] = []
        self.stop = self._play()

    @property
    def roles(self) -> list[str]:
        return [brief.role for brief in self.briefs]

    @property
    def reasons(self) -> list[str]:
        return [item.text for brief in self.briefs for item in brief.feedback]

    def _play(self) -> Stop:
        state: LoopState[StagedState] | None = None
        fact: Fact = Began(Limits(1000))
        for at in range(3000):
            self.seen.append(Observation(fact=fact, at=float(at)))
            state, decision = step(Rules(self.policy), state, self.seen[-1])
            self.decisions.append(decision)
            if isinstance(decision, Stop):
                return decision
            fact = self._perform(decision)
        raise AssertionError("the loop does not end")

    def _perform(self, decision: Decision) -> Fact:
        match decision:
            case RunAgent(brief):
                self.briefs.append(brief)
                return self._run(brief, self._runs.pop(0) if self._runs else KEPT)
            case Verify():
                return self._verdict
            case Land():
                return self._landings.pop(0) if self._landings else LANDED
            case _:
                raise AssertionError(decision)

    def _run(self, brief: Brief, script: Any) -> Fact:
        if not isinstance(script, str):
            return script  # type: ignore[no-any-return]  # a fact of the test's own
        tree = f"tree {len(self.briefs)}"
        promise = f"<promise>{PROMISES[brief.role]}</promise>"
        self._verdict = (
            Verified(verified=False, reason=f"no {len(self.briefs) * 'x'}") if script == BROKEN else self._good
        )
        match script:
            case "kept" | "broken":
                return Reported(outcome="finished", text=f"Done.\n{promise}", tree=tree)
            case "minds":
                return Reported(outcome="finished", text="<changes>\nSay it louder.\n</changes>", tree=tree)
            case _:
                return Reported(outcome="finished", text="Still at it.", tree=tree)


def whole(**more: Any) -> PipelinePolicy:
    return PipelinePolicy(task="TASK-001", stages=plans(), **more)


def test_four_stages_in_their_order_then_it_lands() -> None:
    play = Play(whole())
    assert play.roles == ["coder", "reviewer", "tester", "qa"]
    kinds = [type(decision) for decision in play.decisions]
    assert kinds == [RunAgent, Verify] * 4 + [Land, Stop]
    assert play.stop == Stop(Outcome.COMPLETED, "TASK-001 passed every stage and was merged as c0ffeec0ffee")


def test_each_run_knows_its_turn_and_limit() -> None:  # 002-16, 000-05
    play = Play(whole(), [SILENT, SILENT, KEPT, KEPT])
    assert [(b.turn, b.turns) for b in play.briefs] == [(1, 15), (2, 15), (3, 15), (1, 5), (1, 10), (1, 5)]


def test_each_run_knows_its_task() -> None:
    play = Play(whole(), [SILENT], [Landed(done=False, conflict="a.txt")])
    assert {brief.story for brief in play.briefs} == {"TASK-001"}
    assert [brief.is_conflict_resolution for brief in play.briefs] == [False] * 5 + [True, False]


def test_a_false_promise_loops_with_the_reason() -> None:  # 002-17, 000-21
    play = Play(whole(), [BROKEN, KEPT])
    assert play.roles[:3] == ["coder", "coder", "reviewer"]
    assert play.reasons == ["Verification failed: no x"]
    assert play.stop.outcome is Outcome.COMPLETED


def test_no_promise_loops_and_says_so() -> None:  # 002-17
    assert Play(whole(), [SILENT, KEPT]).reasons == ["No completion promise found"]


@pytest.mark.parametrize("text", ["<promise></promise>", "```\n<promise>OTHER</promise>\n```"])
def test_an_empty_or_a_quoted_one_is_no_promise(text: str) -> None:  # C1, C2
    play = Play(whole(), [Reported(outcome="finished", text=text), KEPT])
    assert play.reasons == ["No completion promise found"]


MISPLACED = Reported(outcome="finished", text="<promise>IMPLEMENTATION_COMPLETE</promise>\nNow, where was I?")


def test_a_promise_that_is_not_on_the_last_line_is_told_to_the_next_run() -> None:  # C1
    play = Play(whole(), [MISPLACED, KEPT])
    assert play.reasons == ["You wrote the promise, but not alone on the last line: end your answer with it."]
    assert play.stop.outcome is Outcome.COMPLETED


def test_a_promise_misplaced_again_and_again_is_a_failure_like_others() -> None:
    stop = Play(whole(breaker=3), [MISPLACED] * 3).stop
    assert (stop.outcome, "same failure 3 times" in stop.why) == (Outcome.STUCK, True)


REFUSED = Reported(
    outcome="refused",
    detail="The agent was refused `npm test`.",
    text="Done.\n<promise>IMPLEMENTATION_COMPLETE</promise>",
    refused_tools=("Bash",),
    refused_commands=("npm test",),
)


def test_a_refusal_voids_no_promise_that_a_look_at_the_files_confirms() -> None:  # C28
    assert Play(whole(proven_roles=("coder",)), [REFUSED]).stop.outcome is Outcome.COMPLETED
    assert Play(whole(proven_roles=("coder",)), [REFUSED]).roles == ["coder", "reviewer", "tester", "qa"]


def test_a_refused_run_promises_nothing_where_only_its_words_are_looked_at() -> None:  # C28
    assert Play(whole(), [REFUSED]).reasons == ["The agent was refused `npm test`."]


def test_two_runs_refused_alike_with_an_unchanged_tree_stop_the_task() -> None:
    stop = Play(whole(), [replace(REFUSED, tree="t1"), replace(REFUSED, tree="t1")]).stop
    assert (stop.outcome, stop.outcome.exit_code) == (Outcome.UNUSABLE, 2)
    moved = Play(whole(), [replace(REFUSED, tree="t1"), replace(REFUSED, tree="t2"), KEPT])
    assert moved.stop.outcome is Outcome.COMPLETED


def test_what_is_refused_again_in_the_next_stage_is_no_repetition() -> None:
    reviewed = replace(REFUSED, text="Fine.\n<promise>REVIEW_PASSED</promise>")
    play = Play(whole(proven_roles=("coder", "reviewer")), [REFUSED, reviewed])
    assert play.stop.outcome is Outcome.COMPLETED


def test_another_promise_is_looked_at_too() -> None:  # 000-22, 002-17
    said = Reported(outcome="finished", text="Done.\n<promise>WRONG</promise>")
    assert Verify(role="coder", turn=1, turns=15, text=said.text) in Play(whole(), [said]).decisions


def test_matched_loosely_any_promise_anywhere_is_looked_at() -> None:  # C1, 002-19
    said = Reported(outcome="finished", text="I say <promise>whatever</promise> and go on")
    assert isinstance(Play(whole(loose=True), [said]).decisions[1], Verify)


def test_without_a_promise_until_the_limit() -> None:  # 000-07, 000-20, 002-17
    play = Play(PipelinePolicy(task="T", stages=plans(limit=3)), [SILENT] * 9)
    assert play.roles == ["coder"] * 3
    why = "coder: Ralph loop exceeded 3 iterations. Max iterations reached without completion promise"
    assert play.stop == Stop(Outcome.EXHAUSTED, why)


def test_with_broken_promises_until_the_limit() -> None:  # 002-17
    play = Play(PipelinePolicy(task="T", stages=plans(limit=2)), [BROKEN] * 9)
    why = "coder: Ralph loop exceeded 2 iterations. Max iterations reached. Last verification: no xx"
    assert play.stop == Stop(Outcome.EXHAUSTED, why)


def test_the_last_permitted_run_is_still_judged() -> None:
    assert Play(PipelinePolicy(task="T", stages=plans(limit=2)), [SILENT, KEPT]).stop.outcome is Outcome.COMPLETED


def test_each_stage_has_its_own_limit() -> None:  # 000-09, 002-23
    play = Play(whole(), [KEPT, *[SILENT] * 5])
    assert play.stop.outcome is Outcome.EXHAUSTED
    assert play.stop.why.startswith("reviewer: Ralph loop exceeded 5 iterations")


def test_a_timeout_is_an_iteration_that_failed() -> None:  # 000-21
    late = Reported(outcome="timed_out", detail="The agent ran longer than 60s.")
    play = Play(PipelinePolicy(task="T", stages=plans(limit=2)), [late, KEPT])
    assert play.reasons[0] == "The agent ran longer than 60s."
    assert (play.briefs[1].turn, play.stop.outcome) == (2, Outcome.COMPLETED)


def test_a_promise_in_a_run_that_crashed_does_not_count() -> None:
    crashed = Reported(outcome="crashed", text="<promise>IMPLEMENTATION_COMPLETE</promise>", detail="It crashed.")
    assert Play(whole(), [crashed]).roles[:2] == ["coder", "coder"]


@pytest.mark.parametrize("by", ["reviewer", "tester", "qa"])
def test_changes_send_it_back_and_every_stage_is_passed_again(by: str) -> None:
    before = [*PROMISES][: [*PROMISES].index(by)]
    play = Play(whole(), [*[KEPT] * len(before), MINDS])
    assert play.roles == [*before, by, "coder", "reviewer", "tester", "qa"]
    assert play.briefs[len(before) + 1].changes == "Say it louder."
    assert play.stop.outcome is Outcome.COMPLETED


def test_it_is_sent_back_to_the_coder_wherever_that_stage_stands() -> None:
    play = Play(PipelinePolicy(task="T", stages=plans("tester", "coder")), [MINDS])
    assert play.roles == ["tester", "coder"]


def test_the_changes_are_told_until_the_coder_has_passed() -> None:
    play = Play(whole(), [KEPT, MINDS, SILENT, KEPT])
    assert [b.changes for b in play.briefs[2:5]] == ["Say it louder.", "Say it louder.", ""]


def test_a_coder_asks_nobody_for_changes() -> None:
    both = Reported(outcome="finished", text="<changes>x</changes>\n<promise>IMPLEMENTATION_COMPLETE</promise>")
    assert isinstance(Play(whole(), [both]).decisions[1], Verify)


def test_it_is_sent_back_only_so_often() -> None:
    play = Play(whole(max_send_backs=2), [KEPT, MINDS] * 9)
    assert play.roles == ["coder", "reviewer"] * 3
    assert play.stop == Stop(Outcome.EXHAUSTED, "reviewer sent it back more than 2 times: Say it louder.")


def test_the_same_failure_again_and_again_breaks_the_circuit() -> None:
    def failing(number: int) -> list[Any]:
        return [Reported(outcome="crashed", detail=f"panic at 0x{number:08x}", tree=str(number))]

    play = Play(whole(breaker=3), [run for number in range(9) for run in failing(number)])
    assert play.roles == ["coder"] * 3
    assert play.stop == Stop(Outcome.STUCK, "coder: the same failure 3 times in a row: panic at 0x00000002")


def test_work_in_between_ends_a_row_of_failures() -> None:
    crashed = [Reported(outcome="crashed", detail="panic", tree=str(number)) for number in range(4)]
    play = Play(whole(breaker=3), [*crashed[:2], SILENT, *crashed[2:], KEPT])
    assert play.stop.outcome is Outcome.COMPLETED


def test_a_tree_that_stays_as_it_was_breaks_the_circuit() -> None:
    play = Play(whole(breaker=3), [Reported(outcome="finished", text="Hm.", tree="same")] * 9)
    assert play.roles == ["coder"] * 3
    told = "coder: 3 runs in a row left the tree as it was: No completion promise found"
    assert play.stop == Stop(Outcome.STUCK, told)


def test_work_that_goes_on_without_a_promise_breaks_nothing() -> None:  # 000-06
    assert Play(whole(breaker=3), [SILENT] * 14).stop.outcome is Outcome.COMPLETED


CONFLICT = Landed(done=False, conflict="a.txt", target="c0ffee", target_name="main")


def test_a_conflict_gets_one_run_and_the_last_stage_looks_again() -> None:
    play = Play(whole(), landings=[CONFLICT])
    assert play.roles[4:] == ["coder", "qa"]
    assert "main has moved and conflicts in: a.txt" in play.reasons[0]
    assert play.reasons[1] == MERGED_REASON
    assert play.briefs[4].turns == 0  # it is not an iteration of a stage
    assert (play.briefs[5].turn, play.briefs[5].turns) == (1, 5)
    assert play.stop.outcome is Outcome.COMPLETED


def test_a_conflict_resolved_to_the_tree_qa_saw_lands() -> None:
    seen = Verified(verified=True, reason="fine", tree="tree 4")
    resolved = Reported(outcome="finished", text="Merged.", tree="tree 4")
    play = Play(whole(), [*[KEPT] * 4, resolved], [CONFLICT], verdict=seen)
    assert play.roles[4:] == ["coder"]
    assert play.decisions[-2] == Land("tree 4")


def test_a_conflict_that_stays_blocks() -> None:
    play = Play(whole(), landings=[CONFLICT] * 2)
    assert play.roles[4:] == ["coder", "qa"]
    assert play.stop == Stop(Outcome.BLOCKED, "TASK-001 could not be merged: its branch still conflicts in a.txt")


def test_another_conflict_is_resolved_too_but_not_for_ever() -> None:
    others = [replace(CONFLICT, target=f"c{number}") for number in range(9)]
    assert Play(whole(), landings=others[:3]).stop.outcome is Outcome.COMPLETED
    play = Play(whole(), landings=others)
    assert play.roles[4:] == ["coder", "qa"] * 3
    assert play.stop.outcome is Outcome.BLOCKED


def test_qa_may_send_back_what_a_merge_has_spoilt() -> None:
    play = Play(whole(), [*[KEPT] * 5, MINDS], [CONFLICT])
    assert play.roles[4:] == ["coder", "qa", "coder", "reviewer", "tester", "qa"]


def test_it_lands_as_the_last_stage_saw_it() -> None:
    play = Play(whole(), verdict=Verified(verified=True, reason="fine", tree="seen"))
    assert play.decisions[-2] == Land("seen")


def test_a_tree_that_never_keeps_still_is_given_up() -> None:
    restless = Landed(done=False, stale=True, changed="report.xml")
    play = Play(whole(), landings=[restless] * 9)
    assert play.roles[4:] == ["qa"] * 3
    why = "TASK-001 could not be merged: The tree has changed since it was verified (report.xml)."
    assert play.stop == Stop(Outcome.BLOCKED, why)


def test_the_last_line_says_what_checks_prove() -> None:
    green = Verified(verified=True, reason="fine", red_before=False)
    assert Play(whole(), verdict=green).stop.why.endswith("; regression only: coder, reviewer, tester, qa")
    for red in (True, None):
        assert "regression" not in Play(whole(), verdict=replace(green, red_before=red)).stop.why


def test_landed_is_not_said_of_a_change_that_is_none() -> None:
    stop = Play(whole(), landings=[replace(LANDED, empty="main has all of it")]).stop
    assert stop == Stop(Outcome.COMPLETED, "TASK-001 passed every stage; there is nothing to merge: main has all of it")


def test_what_an_earlier_life_has_checked_is_checked_again_first() -> None:
    landing = LandingState(confirming=("coder", "qa"))
    play = Play(whole(begins=StagedState(stage=3, turn=1, landing=landing), wanted=Land("tree")))
    again = [each for each in play.decisions if isinstance(each, Verify)]
    assert [(each.role, each.again) for each in again] == [("coder", True), ("qa", True)]
    assert (play.decisions[2], play.roles) == (Land("tree"), [])
    red = Play(
        whole(begins=StagedState(stage=3, turn=1, landing=landing), wanted=Land("tree")),
        verdict=Verified(verified=False, reason="exit 1"),
    )
    assert red.briefs[0].role == "coder"
    assert red.briefs[0].changes == "Its check had passed before, and fails now: exit 1"


def test_a_target_that_cannot_be_moved_blocks() -> None:
    stop = Play(whole(), landings=[Landed(done=False, problem="main is dirty")]).stop
    assert stop == Stop(Outcome.BLOCKED, "TASK-001 could not be merged: main is dirty")


def test_a_red_merged_tree_goes_back_to_the_coder() -> None:
    play = Play(whole(), landings=[Landed(done=False, red="Command exited with 1, expected 0")])
    assert play.roles == ["coder", "reviewer", "tester", "qa"] * 2
    assert play.briefs[4].changes == "On the merged tree: Command exited with 1, expected 0"


def test_a_tree_that_stays_red_is_given_up() -> None:
    assert Play(whole(max_send_backs=1), landings=[Landed(done=False, red="x")] * 9).stop.outcome is Outcome.EXHAUSTED


def test_a_single_pass_still_needs_its_gate() -> None:  # 000-06, 002-20, C33
    once = PipelinePolicy(task="T", stages=plans(limit=1, loops=False))
    assert Play(once).stop.outcome is Outcome.COMPLETED
    assert Play(once, [BROKEN]).stop == Stop(
        Outcome.EXHAUSTED, "coder: its single pass was not enough: Verification failed: no x"
    )
    assert Play(once, [SILENT]).stop.why.endswith("No completion promise found")


def test_some_stages_only_do_not_land() -> None:
    play = Play(PipelinePolicy(task="T", stages=plans("coder", "reviewer"), lands=False))
    assert Land() not in play.decisions
    assert play.stop == Stop(Outcome.COMPLETED, "T passed coder, reviewer")


def test_without_a_coder_nothing_is_sent_back() -> None:
    stop = Play(PipelinePolicy(task="T", stages=plans("reviewer", "tester")), [MINDS]).stop
    assert stop.outcome is Outcome.STUCK
    assert "coder is not among the stages: Say it louder." in stop.why


def test_it_goes_on_where_an_earlier_life_stopped() -> None:  # 000-24
    play = Play(whole(begins=StagedState(stage=2, turn=4)))
    assert play.roles == ["tester", "qa"]
    assert play.briefs[0].turn == 5


def test_what_an_earlier_life_left_undone_comes_first() -> None:  # 000-24
    promise = Verify(role="tester", turn=4, turns=10, text="<promise>TESTS_PASSED</promise>")
    play = Play(whole(begins=StagedState(stage=2, turn=4), wanted=promise))
    assert (play.decisions[0], play.roles) == (promise, ["qa"])


def test_a_tree_that_changed_since_it_was_proven_is_proven_again() -> None:
    play = Play(
        whole(begins=StagedState(stage=3, turn=2, sends=1), wanted=Land("tree")),
        landings=[Landed(done=False, stale=True)],
    )
    assert (play.roles, play.reasons) == (["qa"], ["The tree has changed since it was verified."])
    assert play.stop.outcome is Outcome.COMPLETED


def test_proving_it_again_forgets_no_send_back() -> None:
    stop = Play(
        whole(max_send_backs=1, begins=StagedState(stage=3, turn=2, sends=1), wanted=Land("tree")),
        [MINDS],
        [Landed(done=False, stale=True)],
    ).stop
    assert stop == Stop(Outcome.EXHAUSTED, "qa sent it back more than 1 times: Say it louder.")


@pytest.mark.parametrize(
    ("role", "reported", "reason"),
    [
        ("coder", Reported(outcome="timed_out", text="<changes>x</changes>", detail="Too long."), "Too long."),
        ("qa", Reported(outcome="finished", text="<changes>Louder.</changes>"), "Changes wanted: Louder."),
        ("coder", Reported(outcome="finished", text="<changes>Louder.</changes>"), "No completion promise found"),
        ("coder", MISPLACED, MISPLACED_PROMISE_REASON),
        ("qa", MISPLACED, "No completion promise found"),  # that of another
    ],
)
def test_the_log_says_why_a_stage_goes_on(role: str, reported: Reported, reason: str) -> None:
    assert explain_missing_promise(role, reported, PROMISES[role]) == reason


def test_an_earlier_life_is_paid_from_the_same_budget() -> None:  # 000-22
    _, decision = step(Rules(whole()), None, Observation(fact=Began(Limits(100, cost_usd=0.5), spent_usd=0.6)))
    assert decision == Stop(Outcome.OVER_BUDGET, "$0.60 of the $0.50 budget spent")


def test_no_money_starts_no_agent() -> None:  # 000-22
    assert Play(whole(), [Forbidden("all spent")]).stop == Stop(Outcome.OVER_BUDGET, "all spent")


def test_a_judge_is_paid_from_the_tasks_budget() -> None:  # 000-22
    rules, limits = Rules(whole()), Limits(100, cost_usd=0.5)
    said = Reported(outcome="finished", text="<promise>IMPLEMENTATION_COMPLETE</promise>", cost_usd=0.3)
    facts: list[Fact] = [Began(limits), said, Verified(verified=True, reason="fine", cost_usd=0.3)]
    _, decisions = replay(rules, [Observation(fact=fact) for fact in facts])
    assert decisions[-1] == Stop(Outcome.OVER_BUDGET, "$0.60 of the $0.50 budget spent")


RUNS = st.lists(st.sampled_from([KEPT, BROKEN, SILENT, MINDS]), max_size=40)
LANDINGS = st.lists(
    st.sampled_from(
        [LANDED, Landed(done=False, conflict="f"), Landed(done=False, red="r"), Landed(done=False, problem="p")]
    ),
    max_size=6,
)


@given(RUNS, LANDINGS)
def test_nothing_is_complete_but_what_was_proven_and_has_landed(runs: list[str], landings: list[Landed]) -> None:
    play = Play(whole(), runs, landings)
    if play.stop.outcome is not Outcome.COMPLETED:
        return
    assert play.seen[-1].fact == LANDED
    proven: set[str] = set()
    wanted = ""
    for observation, decision in zip(play.seen, play.decisions, strict=True):
        if isinstance(observation.fact, Verified) and observation.fact.verified:
            proven.add(wanted)
        match decision:
            case RunAgent(brief) if brief.turns and brief.role == "coder":
                proven.clear()  # whatever it changes has to be proven again
            case Verify(role=role):
                wanted = role
            case Land():
                assert proven == set(PROMISES)
            case _:
                pass


@given(RUNS, LANDINGS, st.integers(0, 4))
def test_it_ends_within_what_limits_allow(runs: list[str], landings: list[Landed], sends: int) -> None:
    play = Play(whole(max_send_backs=sends), runs, landings)
    again = MAX_CONFLICTS * (1 + LIMITS["qa"]) + MAX_STALE_LOOKS * LIMITS["qa"]
    assert len(play.briefs) <= (sum(LIMITS.values()) + again) * (sends + 1)
    for brief in play.briefs:
        assert brief.turn <= brief.turns


@given(RUNS, LANDINGS)
def test_the_journal_gives_the_same_decisions(runs: list[str], landings: list[Landed]) -> None:
    play = Play(whole(), runs, landings)
    assert replay(Rules(play.policy), play.seen)[1] == play.decisions
