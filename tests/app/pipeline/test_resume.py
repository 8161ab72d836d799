"""Where a task goes on in another life."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ralph.app.pipeline.resume import (
    TaskPlan,
    build_task_request,
    describe_changed_criteria,
    describe_edited_criteria,
    resume_plan,
    start_from_board,
)
from ralph.core.policies.staged import PipelinePolicy, StagedState, StagePlan
from ralph.core.progress import Streak
from ralph.core.step import Rules, step
from ralph.engine.journal import Journal
from ralph.model.board import Entry
from ralph.model.control import PersonNote
from ralph.model.loop import (
    Began,
    Brief,
    Decision,
    Fact,
    Interrupted,
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
from ralph.model.runs import NewRun, RunOwner
from ralph.model.spec import CompletionCriteria, Role, Task, VerificationMethod
from support.stores import connect

PLANS = (
    StagePlan(role="coder", promise="C", limit=15),
    StagePlan(role="reviewer", promise="R", limit=5),
    StagePlan(role="qa", promise="Q", limit=1),
)
BACK = {"ralph_send_backs": [{"changes": "first", "given_up": True}, {"changes": "louder"}]}
POLICY = PipelinePolicy(task="T", stages=PLANS)


def entry(stage: Role | None, iteration: int = 0, *passed: Role, **metadata: Any) -> Entry:
    task = Task("T", "s", "t", status="in_progress", stage=stage, iteration=iteration, metadata=metadata)
    return Entry(task=task, passed=passed)


def logged(stage: str, iteration: int) -> list[dict[str, object]]:
    return [{"stage": stage, "ralph_iteration": iteration}]


@pytest.mark.parametrize(
    ("left", "log", "begun"),
    [
        (entry(None), [], StagedState()),
        (entry("coder", 3), logged("coder", 2), StagedState(stage=0, turn=2)),  # cut short in its third run
        (entry("coder", 3), logged("coder", 3), StagedState(stage=0, turn=3)),  # stopped after it
        (entry("reviewer"), logged("coder", 3), StagedState(stage=1)),
        (entry("coder", 1, **BACK), logged("reviewer", 1), StagedState(stage=0, turn=0, sends=1, changes="louder")),
        (entry("reviewer", 1, **BACK), logged("coder", 1), StagedState(stage=1, sends=1)),
        (entry("qa", 1), logged("qa", 1), StagedState(stage=2)),  # the last run allowed: it gets another
        (entry("tester", 4), [], StagedState()),  # not among the stages
    ],
)
def test_it_goes_on_where_it_stopped(left: Entry, log: list[dict[str, object]], begun: StagedState) -> None:  # 000-24
    assert start_from_board(left, PLANS, log) == begun


def said(text: str, tree: str = "") -> Reported:
    return Reported(outcome="finished", text=text, cost_usd=0.25, tree=tree)


CODED, REVIEWED, PROVEN = (said(f"<promise>{plan.promise}</promise>", plan.role) for plan in PLANS)
MINDS, YES, NO = (
    said("<changes>Louder.</changes>"),
    Verified(verified=True, reason="fine"),
    Verified(verified=False, reason="red"),
)
BEGINNING = TaskPlan(policy=POLICY)


class Lives:
    """Runs of one task, journalled as the kernel does."""

    def __init__(self, folder: Path) -> None:
        stores = connect(str(folder / "ralph.db"))
        self.runs, self.history = stores.runs, stores.tasks.history
        self._count = 0

    def lived(
        self,
        facts: Sequence[Fact],
        life: TaskPlan = BEGINNING,
        signal: str = "received SIGTERM",
        criteria: Mapping[Role, CompletionCriteria] | None = None,
    ) -> TaskPlan:
        """One of them. The last fact is seen with the signal pending."""
        self._count += 1
        run, keeper = f"run-{self._count}", RunOwner(pid=1, ticks=1, boot="boot", guardian=0, guardian_ticks=0)
        request = msgspec.json.encode(build_task_request({}, criteria or {}, life))
        self.runs.begin(
            NewRun(
                id=run,
                kind="execute",
                folder="/",
                agent="a",
                request=request,
                owner=keeper,
                started_at=time.time(),
                task="T",
            )
        )
        journal = Journal(self.runs, run, agent="a", watchers=())
        state: LoopState[StagedState] | None = None
        for fact in [Began(Limits(99), life.spent_usd, pending_notes=life.pending_notes), *facts] if facts else []:
            seen = Observation(fact=fact, interrupted_by=signal if fact is facts[-1] else "")
            state, decision = step(Rules(life.policy, life.patience), state, seen)
            journal.append(seen, state, decision)
        return life

    def next(self, left: Entry, policy: PipelinePolicy = POLICY) -> TaskPlan:
        return resume_plan(TaskPlan(policy=policy), "execute", entry=left, runs=self.runs, history=self.history)


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return Lives(tmp_path)


def wanted(life: TaskPlan) -> Decision:
    return life.policy.begin(Limits())[1]


def brief(decision: Decision) -> Brief:
    assert isinstance(decision, RunAgent)
    return decision.brief


def test_a_promise_nobody_looked_at_is_looked_at(lives: Lives) -> None:
    lives.lived([CODED])
    assert wanted(lives.next(entry("coder", 1))) == Verify(role="coder", turn=1, turns=15, text=CODED.text)


@pytest.mark.parametrize(("facts", "told"), [([], True), ([Interrupted("kill")], True), ([CODED], False)])
def test_notes_for_an_agent_that_was_cut_off_are_told_again(lives: Lives, facts: list[Fact], told: bool) -> None:
    notes = (PersonNote(id=1, text="Use tabs", by="alex"),)
    lives.lived(facts, life=msgspec.structs.replace(BEGINNING, pending_notes=notes))
    assert lives.next(entry("coder", 1)).pending_notes == (notes if told else ())
    assert lives.next(entry("reviewer", 0)).pending_notes == (notes if told else ())  # the board stands elsewhere


def test_a_plan_is_stored_by_the_names_that_requests_have() -> None:
    note = PersonNote(id=1, text="Use tabs", by="alex")
    stored = build_task_request({}, {}, msgspec.structs.replace(BEGINNING, pending_notes=(note,)))
    assert sorted(stored) == ["criteria", "patience", "policy", "request", "spent_usd", "standstill", "told", "unseen"]
    assert msgspec.json.decode(msgspec.json.encode(stored), type=TaskPlan).pending_notes == (note,)


def test_whose_agent_asked_goes_on_with_the_same_turn(lives: Lives) -> None:
    lives.lived([said("<question>Red?</question>")], signal="")
    again = brief(wanted(lives.next(entry("coder", 1))))
    assert (again.role, again.turn) == ("coder", 1)


def test_one_the_board_knows_to_hold_is_not_looked_at_again(lives: Lives) -> None:
    lives.lived([CODED, Interrupted("kill")])
    assert brief(wanted(lives.next(entry("reviewer", 0, "coder")))).role == "reviewer"
    lives.lived([CODED, YES, REVIEWED, YES, PROVEN, Interrupted("kill")])
    assert wanted(lives.next(entry("qa", 1, "coder", "reviewer", "qa"))) == Land("qa")


def test_what_is_proven_lands_if_it_is_the_same_tree(lives: Lives) -> None:
    lives.lived([CODED, YES, REVIEWED, YES, PROVEN, YES])
    assert wanted(lives.next(entry("qa", 1, "coder", "reviewer", "qa"))) == Land("qa")


def test_what_an_earlier_life_has_checked_is_confirmed_first(lives: Lives) -> None:
    policy = PipelinePolicy(task="T", stages=PLANS, confirmed_roles=("coder", "qa"))
    again = Verify(role="coder", turn=0, turns=0, text="", again=True)
    lives.lived([CODED, YES, REVIEWED])
    behind = lives.next(entry("reviewer", 1, "coder"), policy)
    assert wanted(behind) == again
    lives.lived([CODED, YES, REVIEWED, YES, PROVEN, YES])
    proven = lives.next(entry("qa", 1, "coder", "reviewer", "qa"), policy)
    assert proven.policy.begins.landing.confirming == ("coder", "qa")
    assert proven.policy.wanted == Land("qa")
    lives.lived([CODED, YES, MINDS])  # its coder works on it anyway
    assert brief(wanted(lives.next(entry("reviewer", 1, "coder"), policy))).role == "coder"
    by_board = lives.next(entry("reviewer", 0, "coder"), PipelinePolicy(task="T", stages=PLANS[:2]))
    assert brief(wanted(by_board)).role == "reviewer"  # whose commands there are none of


def ask_coder(command: str) -> dict[Role, CompletionCriteria]:
    return {"coder": CompletionCriteria("C", "d", VerificationMethod.EXTERNAL, {"command": command})}


def test_criteria_that_differ_from_those_at_the_start_are_named(lives: Lives) -> None:
    old: dict[Role, CompletionCriteria] = {
        "coder": CompletionCriteria("C", "d", VerificationMethod.EXTERNAL, {"command": "make test"})
    }
    new: dict[Role, CompletionCriteria] = {
        "coder": CompletionCriteria("C", "d", VerificationMethod.EXTERNAL, {"command": "true"})
    }
    lives.lived([CODED, YES, REVIEWED], criteria=old)
    left = entry("reviewer", 1, "coder")
    assert describe_changed_criteria(old, "execute", entry=left, runs=lives.runs) == []
    (told,) = describe_changed_criteria(new, "execute", entry=left, runs=lives.runs)
    assert "coder" in told
    assert "`make test`, now `true`" in told
    assert describe_changed_criteria(new, "execute", entry=entry("coder"), runs=lives.runs) == []  # nothing rests on it


@pytest.mark.parametrize("end", [Landed(done=True, commit="c0ffee"), Landed(done=False, problem="in the way")])
@pytest.mark.parametrize("signal", ["received SIGTERM", ""])
def test_what_may_have_landed_or_was_blocked_tries_again(lives: Lives, end: Landed, signal: str) -> None:
    lives.lived([CODED, YES, REVIEWED, YES, PROVEN, YES, end], signal=signal)
    assert wanted(lives.next(entry("qa", 1, "coder", "reviewer", "qa"))) == Land("qa")


def test_a_conflict_is_gone_on_with(lives: Lives) -> None:
    lives.lived([CODED, YES, REVIEWED, YES, PROVEN, YES, Landed(done=False, conflict="a.txt")])
    told = brief(wanted(lives.next(entry("qa", 1, "coder", "reviewer", "qa"))))
    assert (told.role, told.turns, "a.txt" in told.feedback[0].text) == ("coder", 0, True)


@pytest.mark.parametrize("more", [[], [Landed(done=False, conflict="a.txt")]])
def test_what_is_not_proven_any_more_does_not_land(lives: Lives, more: list[Fact]) -> None:
    lives.lived([CODED, YES, REVIEWED, YES, PROVEN, YES, *more])
    assert brief(wanted(lives.next(entry("reviewer", 0, "coder")))).role == "reviewer"


def test_changes_not_yet_on_the_board_are_told_to_the_coder(lives: Lives) -> None:
    lives.lived([CODED, YES, MINDS])
    life = lives.next(entry("reviewer", 1, "coder"))
    told = brief(wanted(life))
    assert (told.role, told.changes, life.policy.begins.sends) == ("coder", "Louder.", 1)


def test_streaks_send_backs_and_money_add_up_over_many_lives(lives: Lives) -> None:
    life = lives.lived([CODED, YES, MINDS])
    for _ in range(2):
        life = lives.lived([CODED, NO], lives.next(entry("coder", 1)))
    life = lives.lived([], lives.next(entry("coder", 1)))  # one that ended before it could do anything
    life = lives.next(entry("coder", 1))
    begun = life.policy.begins
    assert (begun.sends, begun.turn, begun.failures) == (1, 2, Streak("verification failed: red", 2))
    assert life.spent_usd == 1.0


def test_a_limit_that_was_reached_stays_reached(lives: Lives) -> None:
    lives.lived([CODED, YES, *[said("Hm.", str(n)) for n in range(5)]])
    stop = wanted(lives.next(entry("reviewer", 5, "coder")))
    assert isinstance(stop, Stop)
    assert stop.outcome is Outcome.EXHAUSTED


@pytest.mark.parametrize("plans", [PLANS[:2], (StagePlan(role="coder", promise="C", limit=3), *PLANS[1:])])
def test_with_other_stages_or_limits_it_goes_by_the_board(lives: Lives, plans: tuple[StagePlan, ...]) -> None:
    lives.lived([CODED])
    assert lives.next(entry("coder", 1), PipelinePolicy(task="T", stages=plans)).policy.wanted is None


def test_what_ended_for_good_is_begun_anew(lives: Lives) -> None:
    lives.lived([CODED, YES, *[said("Hm.", str(n)) for n in range(5)]], signal="")
    life = lives.next(entry("reviewer", 0, "coder"))
    assert (life.policy.begins, life.policy.wanted, life.spent_usd) == (StagedState(stage=1), None, None)


def test_without_an_earlier_life_it_begins(lives: Lives) -> None:
    assert lives.next(entry("coder")) == TaskPlan(policy=POLICY)


def test_another_task_that_had_its_name_is_none_of_its_lives(lives: Lives) -> None:
    lives.lived([CODED])
    young = entry("coder")
    young = msgspec.structs.replace(young, task=msgspec.structs.replace(young.task, created_at=time.time()))
    assert lives.next(young) == TaskPlan(policy=POLICY)


def test_criteria_that_others_edited_since_the_loop_began_are_named() -> None:
    asked = CompletionCriteria("DONE", "write it", VerificationMethod.EXTERNAL, {"command": "make test"})
    edited = CompletionCriteria("DONE", "write it", VerificationMethod.EXTERNAL, {"command": "true"})
    assert describe_edited_criteria("T2", {"coder": asked, "qa": asked}, {"coder": asked, "qa": asked}) == []
    (told,) = describe_edited_criteria("T2", {"coder": asked, "qa": asked}, {"coder": asked, "qa": edited})
    assert "T2: the criteria of qa changed" in told
    assert "`make test`, now `true`" in told
