"""The effects of one task: each decision becomes a fact, and every value reaches the port it is meant for."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ralph.core.check_evidence import digest_checks
from ralph.core.tasks.task_rules import apply_change
from ralph.engine.agent_run import AgentRunner
from ralph.engine.loops.pipeline import UNDONE_REASON, PipelineEffects
from ralph.engine.stage_setup import StageSetup, TaskRunConfig
from ralph.model.board import (
    Attempted,
    Claimed,
    CostRecorded,
    Entry,
    IterationBegun,
    IterationEnded,
    SentBack,
    StageEntered,
    StagePassed,
)
from ralph.model.errors import ConfigError, DiskError, MachineError
from ralph.model.events import GateEnded, GateStarted, Noted, Warned
from ralph.model.loop import (
    Brief,
    Fact,
    Feedback,
    Forbidden,
    Interrupted,
    Land,
    Landed,
    Reported,
    RunAgent,
    Save,
    SnapshotTaken,
    TakeSnapshot,
    Verified,
    Verify,
    Wait,
)
from ralph.model.receipt import format_trailer
from ralph.model.spec import (
    CompletionCriteria,
    Role,
    Task,
    TaskCompletionSpec,
    VerificationAttempt,
    VerificationMethod,
)
from ralph.model.verdict import Claim, Verdict
from support.quiet_inbox import QuietInbox
from support.scripted_processes import AskedAgent, Listener, Ran, ScriptedProcesses, make_runner, say, stopped
from support.scripted_task import ScriptedBoard, ScriptedVerifier, ScriptedWorkspace

NOW, ISO_NOW = 1_700_000_000.0, "2023-11-14T22:13:20Z"
RUN, TASK = "run-1", "TASK-001"
CODED = CompletionCriteria("CODED", "write it", VerificationMethod.EXTERNAL, {"command": "make test"})
REVIEWED = CompletionCriteria("REVIEWED", "read it", VerificationMethod.SEMANTIC)
PROMISE = "All of it.\n\n<promise>CODED</promise>"
WORK = say("I went on.", 0.25)
PASSED = Verdict(
    method="external",
    verified=True,
    reason="all green",
    detail="12 passed",
    digest="d1g3st",
    seconds=1.5,
    cost_usd=0.125,
    notes=("no judge: words were compared",),
)
FAILED = replace(PASSED, verified=False, reason="2 tests fail")
BRIEF = Brief(iteration=7, limit=20, role="coder", story=TASK, turn=2, turns=4)
VERIFY = Verify(role="coder", turn=2, turns=4, text=PROMISE)
LANDED = Landed(done=True, commit="c0mm1t", digest=digest_checks([]))


def run_to_its_end(effects: PipelineEffects, brief: Brief) -> Fact | None:
    """An agent run and the look at what it left, as one report."""
    reported = effects.perform(RunAgent(brief))
    if not isinstance(reported, Reported) or not reported.unseen:
        return reported
    taken = effects.perform(TakeSnapshot(brief.iteration))
    assert isinstance(taken, SnapshotTaken)
    return replace(reported, unseen=False, tree=taken.tree, undone=taken.undone)


class TaskFixture:
    """One task in its coder stage, coder and reviewer before it, and all that its effects touch."""

    def __init__(self, folder: Path, inbox: QuietInbox) -> None:
        self.tree = folder / "tree"
        self.tree.mkdir()
        self.run_dir = folder / "run"
        self.run_dir.mkdir()
        spec = TaskCompletionSpec("users can sign in", ["a form", "a test"])
        task = Task(TASK, "AUTH", "Sign in", description="With a password.", completion_spec=spec)
        claimed = apply_change(Entry(task=task), Claimed(TASK, RUN, "coder"))
        self.board = ScriptedBoard(claimed)
        self.workspace = ScriptedWorkspace(str(self.tree), LANDED)
        self.verifier = ScriptedVerifier(PASSED)
        self.coder, self.reviewer = AskedAgent(), AskedAgent()
        self.processes = ScriptedProcesses()
        self.coder_loops = True
        self.reviewer_looks_at: CompletionCriteria | None = None  # on the merged tree
        self.inbox = inbox
        self.listener = Listener()

    def build_effects(self, *script: Ran, coder_looks_at: CompletionCriteria | None = CODED) -> PipelineEffects:
        self.processes = ScriptedProcesses(*script)
        stages: dict[Role, StageSetup] = {
            "coder": StageSetup(
                criteria=CODED,
                runner=self._make_runner(self.coder),
                loops=self.coder_loops,
                merged_tree_criteria=coder_looks_at,
            ),
            "reviewer": StageSetup(
                criteria=REVIEWED,
                runner=self._make_runner(self.reviewer),
                merged_tree_criteria=self.reviewer_looks_at,
            ),
        }
        config = TaskRunConfig(
            run=RUN, run_dir=str(self.run_dir), specification="Passwords are hashed.", environment={"OF": "checks"}
        )
        return PipelineEffects(
            config,
            stages,
            board=self.board,
            workspace=self.workspace,
            verifier=self.verifier,
            inbox=self.inbox,
            watchers=[self.listener],
        )

    def run_agent(self, ran: Ran = WORK, brief: Brief = BRIEF) -> Fact | None:
        return run_to_its_end(self.build_effects(ran), brief)

    def _make_runner(self, agent: AskedAgent) -> AgentRunner:
        return make_runner(agent, self.processes, self.tree, environment={"OF": "agents"})


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TaskFixture]:
    monkeypatch.setattr(time, "time", lambda: NOW)
    inbox = QuietInbox()
    yield TaskFixture(tmp_path, inbox)
    inbox.close()


def ended(**more: Any) -> IterationEnded:
    """Of a run without a promise, unless it says otherwise."""
    values: dict[str, Any] = {
        "task": TASK,
        "stage": "coder",
        "iteration": 2,
        "max_iterations": 4,
        "promise_found": False,
        "continuing": True,
        "duration_ms": 1500,
        "at": NOW,
        "outcome": "finished",
        "run": RUN,
        "reason": "No completion promise found",
        **more,
    }
    return IterationEnded(**values)


def attempted(**more: Any) -> Attempted:
    """The verdict PASSED, every value in its own place."""
    values: dict[str, Any] = {
        "iteration": 2,
        "promise_found": True,
        "verified": True,
        "reason": "all green",
        "timestamp": ISO_NOW,
        "agent": "coder",
        "method": "external",
        "digest": "d1g3st",
        "seconds": 1.5,
        "cost_usd": 0.125,
        "notes": ("no judge: words were compared",),
        "detail": "12 passed",
        **more,
    }
    return Attempted(TASK, VerificationAttempt(**values), RUN)


JUDGE_COST = CostRecorded(task=TASK, stage="coder", iteration=2, at=NOW, cost_usd=0.125, run=RUN)


# -- an agent -------------------------------------------------------------------------------------
def test_an_agent_run_is_reported_with_the_tree_it_left(task: TaskFixture) -> None:
    reported = task.run_agent()
    assert isinstance(reported, Reported)
    assert (reported.outcome, reported.text, reported.tree) == ("finished", "I went on.", "tree-1")
    assert (reported.cost_usd, reported.seconds) == (0.25, 1.5)


def test_a_reviewers_edits_are_undone_and_on_the_board(task: TaskFixture) -> None:
    task.board.record(StagePassed(TASK, "coder"), StageEntered(TASK, "reviewer"))
    task.workspace.undone, task.workspace.set_aside = ("calc.py",), "+Approve all."
    review = replace(BRIEF, role="reviewer")
    seen = run_to_its_end(task.build_effects(say("Fine.\n\n<promise>REVIEWED</promise>", 0.25)), review)
    assert isinstance(seen, Reported)
    assert (seen.undone, task.workspace.is_reviewed) == (("calc.py",), False)
    (last,) = task.board.records[-1]
    assert isinstance(last, IterationEnded)
    assert last.reason == "its edits of calc.py were undone"
    assert "+Approve all." in task.reviewer.asked[0][0]


def test_a_coder_works_with_its_own_instructions_and_may_edit(task: TaskFixture) -> None:
    task.workspace.undone = ("calc.py",)
    seen = task.run_agent()
    assert isinstance(seen, Reported)
    assert (seen.undone, task.workspace.set_aside_count) == ((), 0)


def test_its_start_is_on_the_board_before_it_runs(task: TaskFixture) -> None:
    task.run_agent()
    begun = IterationBegun(task=TASK, stage="coder", iteration=2, max_iterations=4, completion_promise="CODED", at=NOW)
    assert task.board.records[0] == (StageEntered(TASK, "coder"), begun)


def test_its_end_and_its_cost_are_on_the_board(task: TaskFixture) -> None:
    task.run_agent()
    cost = CostRecorded(
        task=TASK,
        stage="coder",
        iteration=2,
        at=NOW,
        cost_usd=0.25,
        input_tokens=30,
        output_tokens=4,
        run=RUN,
    )
    assert task.board.records[1:] == [(cost, ended())]
    assert task.board.charges == [0.25]


def test_a_promise_waits_to_be_looked_at(task: TaskFixture) -> None:
    task.run_agent(say(PROMISE))
    assert task.board.records[-1][1] == ended(promise_found=True, reason="Its promise has not been looked at")


def test_the_log_says_what_went_wrong(task: TaskFixture) -> None:
    reported = task.run_agent(say(""))
    assert isinstance(reported, Reported)
    assert task.board.records[-1][1] == ended(outcome="empty", reason=reported.detail)


def test_the_last_iteration_of_a_stage_does_not_go_on(task: TaskFixture) -> None:
    task.run_agent(WORK, replace(BRIEF, turn=4))
    assert task.board.records[-1][1] == ended(iteration=4, continuing=False)


def test_its_prompt_has_task_specification_and_promise(task: TaskFixture) -> None:
    task.run_agent(WORK, replace(BRIEF, feedback=(Feedback("No completion promise found"),)))
    ((prompt, mode, _),) = task.coder.asked
    assert mode == "stream"
    for part in (
        "- **Task ID**: TASK-001",
        "- **Ralph Iteration**: 2/4",
        "## Task Description\nWith a password.",
        "## Specification\nPasswords are hashed.",
        "<promise>CODED</promise>",
        "- [ ] a form",
        "## About the last run\n- No completion promise found\n",
    ):
        assert part in prompt


def test_a_stage_without_a_loop_has_another_prompt(task: TaskFixture) -> None:
    task.coder_loops = False
    task.run_agent(WORK, replace(BRIEF, turn=1, turns=1))
    assert "Ralph Iteration" not in task.coder.asked[0][0]


@pytest.mark.parametrize(("turn", "is_told"), [(1, False), (2, True)])
def test_failed_attempts_of_its_own_stage_are_told_from_the_second_run_on(
    task: TaskFixture, turn: int, is_told: bool
) -> None:
    task.board.attempts["coder"] = [attempted(verified=False, reason="the form is missing").attempt]
    task.board.attempts["reviewer"] = [attempted(verified=False, reason="of another stage").attempt]
    task.run_agent(WORK, replace(BRIEF, turn=turn))
    ((prompt, _, _),) = task.coder.asked
    assert ("the form is missing" in prompt) is is_told
    assert "of another stage" not in prompt


def test_it_runs_in_the_workspace_with_variables_of_its_own(task: TaskFixture) -> None:
    task.run_agent()
    (command,) = task.processes.commands
    assert command.cwd == str(task.tree)
    assert command.environment == {
        "FROM": "its adapter",
        "OF": "agents",
        "RALPH_ITERATION": "2",
        "RALPH_STAGE": "coder",
        "RALPH_TASK": TASK,
    }


def test_what_agents_read_and_say_is_kept_by_the_number_of_the_call(task: TaskFixture) -> None:
    effects = task.build_effects(WORK, WORK)
    run_to_its_end(effects, BRIEF)
    effects.perform(VERIFY)
    run_to_its_end(effects, replace(BRIEF, role="reviewer", turn=1))
    names = sorted(path.name for path in task.run_dir.iterdir())
    assert names == ["agent_001.log", "agent_002.log", "prompt_001.txt", "prompt_002.txt"]
    assert (len(task.coder.asked), len(task.reviewer.asked)) == (1, 1)


@pytest.mark.parametrize(
    ("of_the_task", "of_all", "given"),
    [(None, None, None), (0.5, None, 0.5), (None, 0.75, 0.75), (0.5, 0.75, 0.5), (0.75, 0.5, 0.5)],
)
def test_an_agent_may_spend_what_both_budgets_allow(
    task: TaskFixture, of_the_task: float | None, of_all: float | None, given: float | None
) -> None:  # 000-22
    task.board.money = of_all
    task.run_agent(WORK, replace(BRIEF, budget_usd=of_the_task))
    assert [budget for _, _, budget in task.coder.asked] == [given]
    assert not task.board.reserved  # what was not spent is there for others


def test_without_money_no_agent_runs(task: TaskFixture) -> None:  # 000-22
    task.board.money = 0.0
    refused = task.run_agent()
    assert isinstance(refused, Forbidden)
    assert refused.why.startswith("the budget of all tasks together is spent")
    assert (task.processes.commands, task.board.records) == ([], [])


def test_an_agent_that_cannot_be_asked_is_unusable(task: TaskFixture) -> None:
    task.coder = AskedAgent(ConfigError("no such model", "choose another"))
    reported = task.run_agent()
    assert isinstance(reported, Reported)
    assert (reported.outcome, reported.detail) == ("unusable", "no such model. choose another")


def test_an_agent_that_is_cut_short_is_no_iteration(task: TaskFixture) -> None:
    assert task.run_agent(stopped("cancelled")) == Interrupted("cancelled")
    assert len(task.board.records) == 1  # its start
    assert task.board.charges == []


def test_changes_a_later_stage_wants_are_recorded_and_told_once(task: TaskFixture) -> None:
    task.board.record(StagePassed(TASK, "coder"), StageEntered(TASK, "reviewer"))
    brief = replace(BRIEF, turn=1, changes="hash the\npassword")
    task.run_agent(WORK, brief)
    assert task.board.records[1][0] == SentBack(TASK, "hash the\npassword", NOW)
    assert (7, Noted("sent back by reviewer: hash the password")) in task.listener.told
    assert "## Changes Requested\nhash the\npassword" in task.coder.asked[0][0]
    task.run_agent(WORK, replace(brief, turn=2))
    assert not any(isinstance(change, SentBack) for changes in task.board.records[2:] for change in changes)


def test_a_reviewer_who_wants_changes_promises_nothing(task: TaskFixture) -> None:
    task.board.record(StagePassed(TASK, "coder"), StageEntered(TASK, "reviewer"))
    wanted = "<promise>REVIEWED</promise>\n<changes>\nhash it\n</changes>"
    task.run_agent(say(wanted), replace(BRIEF, role="reviewer"))
    assert task.board.records[-1][1] == ended(stage="reviewer", reason="Changes wanted: hash it")


def test_a_conflict_is_resolved_by_a_run_that_is_no_turn_of_its_stage(task: TaskFixture) -> None:
    brief = replace(BRIEF, turn=0, turns=0, feedback=(Feedback("It conflicts in: a.txt."),))
    task.run_agent(WORK, brief)
    ((prompt, _, _),) = task.coder.asked
    spec = task.board.entry().task.completion_spec
    assert spec
    told = (
        "## Merge conflict",
        "It conflicts in: a.txt.",
        "Merge `main` into the branch you are on, `ralph/T`",
        spec.outcome,
        *(f"- [ ] {criterion}" for criterion in spec.acceptance_criteria),
        "- a1 Mine",
        "- b2 Yours",
    )
    assert [part for part in told if part not in prompt] == []
    (changes,) = task.board.records  # none about its start
    assert changes[1] == ended(
        iteration=0, max_iterations=0, continuing=False, reason="It was to resolve a merge conflict"
    )


# -- its promise ----------------------------------------------------------------------------------
def test_a_promise_that_holds_is_an_attempt_and_enters_the_next_stage(task: TaskFixture) -> None:  # 002-18
    fact = task.build_effects().perform(VERIFY)
    looks = task.verifier.verdict.list_evidence("coder")
    assert fact == Verified(verified=True, reason="all green", cost_usd=0.125, tree="tree-1", evidence=looks)
    passed = (StagePassed(TASK, "coder"), StageEntered(TASK, "reviewer"))
    assert task.board.records == [(attempted(), JUDGE_COST, *passed)]
    assert task.board.charges == [0.125]


def test_the_last_stage_enters_no_other(task: TaskFixture) -> None:
    task.board.record(StagePassed(TASK, "coder"), StageEntered(TASK, "reviewer"))
    task.build_effects().perform(replace(VERIFY, role="reviewer"))
    assert task.board.records[-1][-1] == StagePassed(TASK, "reviewer")


def test_a_promise_that_does_not_hold_is_an_attempt_and_nothing_else(task: TaskFixture) -> None:  # 002-18
    task.verifier.verdict = FAILED
    fact = task.build_effects().perform(VERIFY)
    looks = FAILED.list_evidence("coder")
    expected = Verified(verified=False, reason="2 tests fail", cost_usd=0.125, tree="tree-1", evidence=looks)
    assert fact == replace(expected, detail=FAILED.detail)
    assert task.board.records == [(attempted(verified=False, reason="2 tests fail"), JUDGE_COST)]


def test_a_verification_without_a_judge_costs_nothing(task: TaskFixture) -> None:
    task.verifier.verdict = replace(PASSED, cost_usd=None)
    task.build_effects().perform(VERIFY)
    assert not any(isinstance(change, CostRecorded) for change in task.board.records[0])


@pytest.mark.parametrize(
    ("verdict", "turn", "told"),
    [
        (PASSED, 2, {"continuing": False, "reason": "Completion verified"}),
        (FAILED, 2, {"continuing": True, "reason": "Verification failed: 2 tests fail"}),
        (FAILED, 4, {"continuing": False, "reason": "Verification failed: 2 tests fail"}),
    ],
)
def test_the_log_is_corrected_once_the_promise_was_looked_at(
    task: TaskFixture, verdict: Verdict, turn: int, told: dict[str, object]
) -> None:
    task.verifier.verdict = verdict
    effects = task.build_effects(say(PROMISE))
    run_to_its_end(effects, replace(BRIEF, turn=turn))
    effects.perform(replace(VERIFY, turn=turn))
    assert task.board.records[-1][0] == ended(iteration=turn, promise_found=True, **told)


def test_the_log_of_an_earlier_life_stays_as_it_is(task: TaskFixture) -> None:
    task.build_effects().perform(VERIFY)
    assert isinstance(task.board.records[0][0], Attempted)


def test_a_verifier_sees_the_claim_and_what_was_asked(task: TaskFixture) -> None:
    task.build_effects().perform(VERIFY)
    ((claim, criteria),) = task.verifier.claims
    assert criteria == CODED
    assert claim == Claim(
        promise="CODED",
        output=PROMISE,
        folder=str(task.tree),
        environment={"OF": "checks"},
        agent="coder",
        outcome="users can sign in",
        acceptance_criteria=("a form", "a test"),
        diff=task.workspace.diff,
        tree="tree-1",
        log_prefix=str(task.tree.parent / "run" / "verification_000_coder"),
        contradictable=True,
        has_sign=True,
    )


def test_who_watches_hears_of_a_verification(task: TaskFixture) -> None:
    task.build_effects().perform(VERIFY)
    title = "coder: external"
    assert [event for _, event in task.listener.told] == [
        GateStarted(title, is_verification=True, command="make test"),
        Noted("coder: no judge: words were compared"),
        GateEnded(gate=title, passed=True, exit_code=None, seconds=1.5, detail="all green", is_verification=True),
    ]


@pytest.mark.parametrize(("interrupted", "grace"), [(True, None), (False, 1.0)])
def test_a_verification_that_is_cut_short_says_neither_yes_nor_no(
    task: TaskFixture, interrupted: bool, grace: float | None
) -> None:
    task.verifier.verdict = replace(PASSED, interrupted=interrupted)
    task.inbox.by, task.inbox.grace = "cancelled", grace
    assert task.build_effects().perform(VERIFY) == Interrupted("cancelled")
    assert task.board.records == []
    assert task.board.charges == [0.125]  # a judge is paid all the same


# -- landing --------------------------------------------------------------------------------------
def test_a_landing_names_the_evidence_of_the_stages_that_still_count(task: TaskFixture) -> None:
    effects = task.build_effects()
    effects.perform(VERIFY)
    landed = effects.perform(Land())
    digest = digest_checks(PASSED.list_evidence("coder"))
    assert isinstance(landed, Landed)
    assert landed.digest == digest
    assert task.workspace.trailer == format_trailer(RUN, digest)


def test_a_landing_is_a_fact_and_its_commit_is_known(task: TaskFixture) -> None:
    effects = task.build_effects()
    assert effects.perform(Land()) == LANDED
    assert effects.landed_commit == "c0mm1t"


STALE = Landed(done=False, stale=True, changed="tree-0 and tree-1")


@pytest.mark.parametrize(("proven", "fact"), [("tree-1", LANDED), ("tree-0", STALE)])
def test_only_the_tree_that_was_proven_lands(task: TaskFixture, proven: str, fact: Landed) -> None:
    assert task.build_effects().perform(Land(proven)) == fact
    assert task.workspace.landings == fact.done


def test_what_checks_changed_is_put_back_before_it_lands(task: TaskFixture) -> None:
    effects = task.build_effects()
    effects.perform(VERIFY)
    task.workspace.hash = "tree-1 and a report"
    landed = effects.perform(Land("tree-1"))
    assert isinstance(landed, Landed)
    assert landed.done
    assert task.workspace.checked_in == ["tree-1"]


def test_a_change_that_was_undone_does_not_land(task: TaskFixture) -> None:
    effects = task.build_effects(WORK)
    effects.perform(RunAgent(BRIEF))
    task.workspace.hash = task.workspace.unchanged
    assert effects.perform(Land()) == Landed(done=False, red=UNDONE_REASON)
    assert not task.workspace.landings


def test_an_empty_change_has_no_commit_that_landed(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), replace(LANDED, empty="main has all of it"))
    effects = task.build_effects()
    effects.perform(Land())
    assert effects.landed_commit == ""


def test_who_else_moved_the_target_is_named_at_once_and_at_the_end(task: TaskFixture) -> None:
    moved = "main was moved from a to b by someone else"
    task.workspace.moves = [moved]
    effects = task.build_effects(WORK)
    effects.perform(RunAgent(BRIEF))
    assert (7, Warned(moved)) in task.listener.told
    assert effects.perform(Land()) == replace(LANDED, moved=moved)


def test_a_stage_of_an_earlier_life_is_confirmed_by_its_commands_alone(task: TaskFixture) -> None:
    task.workspace.hash = task.workspace.unchanged  # it may have landed before
    again = Verify(role="coder", turn=0, turns=0, text="", again=True)
    fact = task.build_effects().perform(again)
    assert isinstance(fact, Verified)
    assert (fact.verified, fact.tree) == (True, task.workspace.unchanged)
    ((claim, criteria),) = task.verifier.claims
    assert claim.output == f"<promise>{criteria.promise}</promise>"
    assert (claim.is_merged, claim.has_done_nothing, claim.contradictable) == (True, False, False)
    assert task.board.records == []


def test_without_a_command_the_last_stage_is_asked_about_what_was_merged(task: TaskFixture) -> None:
    for merged_diff, asked in (("", 0), ("+mine", 1)):
        task.workspace = ScriptedWorkspace(str(task.tree), LANDED, merged="/merged")
        task.workspace.merged_diff = merged_diff
        task.verifier.claims.clear()
        task.build_effects(coder_looks_at=None).perform(Land())
        assert [criteria for _, criteria in task.verifier.claims] == [REVIEWED] * asked
    assert task.verifier.claims[0][0].diff() == "+mine"


def test_a_landing_that_failed_is_no_interruption(task: TaskFixture) -> None:
    refused = Landed(done=False, conflict="a.py")
    task.workspace = ScriptedWorkspace(str(task.tree), refused)
    assert task.build_effects().perform(Land()) == refused


def test_a_landing_that_is_cut_short_is_interrupted(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), Landed(done=False, problem="interrupted"))
    task.inbox.by, task.inbox.grace = "cancelled", 1.0
    assert task.build_effects().perform(Land()) == Interrupted("cancelled")


def test_what_has_landed_has_landed_whoever_interrupts(task: TaskFixture) -> None:
    task.inbox.by, task.inbox.grace = "cancelled", 1.0
    assert task.build_effects().perform(Land()) == LANDED


def test_the_merged_tree_is_looked_at_with_the_words_that_were_verified(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), LANDED, merged="merged/tree")
    effects = task.build_effects()
    effects.perform(VERIFY)
    effects.perform(Land())
    claim, criteria = task.verifier.claims[-1]
    assert criteria == CODED  # a reviewer looks at words only
    assert (claim.folder, claim.tree, claim.output, claim.agent) == ("merged/tree", "", PROMISE, "coder")
    assert task.workspace.found_wrong == ""
    assert GateStarted("coder: external on the merged tree", is_verification=True, command="make test") in [
        event for _, event in task.listener.told
    ]


def test_what_a_judge_of_the_merged_tree_cost_is_on_record(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), LANDED, merged="merged/tree")
    landed = task.build_effects().perform(Land())
    assert isinstance(landed, Landed)
    assert landed.cost_usd == 0.125
    assert [each.cost_usd for row in task.board.records for each in row if isinstance(each, CostRecorded)] == [0.125]


def test_the_last_stage_about_files_looks_at_the_merged_tree(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), LANDED, merged="merged/tree")
    task.reviewer_looks_at = replace(REVIEWED, verification_method=VerificationMethod.EXTERNAL)
    task.build_effects().perform(Land())
    ((claim, criteria),) = task.verifier.claims
    assert (claim.agent, criteria) == ("reviewer", task.reviewer_looks_at)


def test_a_promise_of_an_earlier_life_is_taken_as_made(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), LANDED, merged="merged/tree")
    task.build_effects().perform(Land())
    assert task.verifier.claims[-1][0].output == "<promise>CODED</promise>"


def test_what_is_wrong_with_the_merged_tree_is_told_with_its_detail(task: TaskFixture) -> None:
    task.workspace = ScriptedWorkspace(str(task.tree), LANDED, merged="merged/tree")
    task.verifier.verdict = FAILED
    task.build_effects().perform(Land())
    assert task.workspace.found_wrong == "2 tests fail\n12 passed"


# -- and no more ----------------------------------------------------------------------------------
@pytest.mark.parametrize("decision", [Wait(1.0, "the service is down"), Save(iteration=1)])
def test_what_is_no_business_of_a_task_is_left_to_the_kernel(task: TaskFixture, decision: Wait | Save) -> None:
    assert task.build_effects().perform(decision) is None


def test_the_last_words_are_kept_for_whoever_gives_up(task: TaskFixture) -> None:
    effects = task.build_effects(WORK, say(""))
    run_to_its_end(effects, BRIEF)
    run_to_its_end(effects, replace(BRIEF, turn=3))
    assert effects.last_text == "I went on."


# -- a machine that fails --------------------------------------------------------------------------
def test_an_error_of_the_machine_ends_the_task(task: TaskFixture) -> None:
    task.workspace.failure = DiskError("no room")
    with pytest.raises(DiskError, match="no room"):
        task.run_agent()


def test_a_git_that_was_stopped_with_the_rest_is_an_interruption(task: TaskFixture) -> None:
    effects = task.build_effects(WORK)
    effects.perform(RunAgent(BRIEF))
    task.workspace.failure = MachineError("git was stopped")
    task.inbox.by, task.inbox.grace = "received SIGINT", 0.3
    assert effects.perform(TakeSnapshot(BRIEF.iteration)) == Interrupted("received SIGINT")
