"""One look at a stage's promise: what the verifier is told, what is paid, and who hears of it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from ralph.core.tasks.task_rules import apply_change
from ralph.engine.stage_setup import StageSetup, TaskRunConfig
from ralph.engine.stage_verification import StageVerification
from ralph.model.board import Claimed, Entry
from ralph.model.events import GateEnded, GateStarted, Noted
from ralph.model.loop import Landed
from ralph.model.receipt import CheckEvidence
from ralph.model.spec import CompletionCriteria, Role, Task, TaskCompletionSpec, VerificationMethod
from ralph.model.verdict import CheckOutput, Claim, Verdict
from support.scripted_processes import AskedAgent, Listener, ScriptedProcesses, make_runner
from support.scripted_task import ScriptedBoard, ScriptedVerifier, ScriptedWorkspace

CRITERIA = CompletionCriteria("TESTED", "test it", VerificationMethod.EXTERNAL, {"command": "make test"})
CHECK = CheckEvidence(name="make test", passed=True, exit_code=0)
PASSED = Verdict(method="external", verified=True, reason="green", detail="12 passed", cost_usd=0.5, check=CHECK)

SPEC = TaskCompletionSpec("users can sign in", ["a form"])


class VerificationFixture:
    """A task with all its stages. What can be asked of a merged tree: a reviewer's criteria, and `tester_looks_at`."""

    def __init__(
        self, folder: Path, spec: TaskCompletionSpec, tester_looks_at: CompletionCriteria | None = CRITERIA
    ) -> None:
        task = Task("T", "S", "Sign in", completion_spec=spec)
        self.board = ScriptedBoard(apply_change(Entry(task=task), Claimed("T", "r", "coder")))
        self.workspace = ScriptedWorkspace("/tree", Landed(done=True))
        self.verifier = ScriptedVerifier(PASSED)
        self.listener = Listener()
        runner = make_runner(AskedAgent(), ScriptedProcesses(), folder, environment={})
        stages: dict[Role, StageSetup] = {
            "coder": StageSetup(criteria=CRITERIA, runner=runner, can_commit=False),
            "reviewer": StageSetup(criteria=CRITERIA, runner=runner, merged_tree_criteria=CRITERIA),
            "tester": StageSetup(criteria=CRITERIA, runner=runner, merged_tree_criteria=tester_looks_at),
            "qa": StageSetup(criteria=CRITERIA, runner=runner, is_verified=False),
        }
        config = TaskRunConfig(run="r", run_dir="/run", specification="", environment={"OF": "checks"}, loose=True)
        self.verification = StageVerification(
            config,
            stages,
            board=self.board,
            workspace=self.workspace,
            verifier=self.verifier,
            watchers=[self.listener],
        )

    def verify(
        self,
        role: Role = "coder",
        *,
        folder: str = "/tree",
        tree: str = "tree-1",
        is_confirmed: bool = False,
        sealed: ScriptedVerifier | None = None,
    ) -> Claim:
        """The claim that was looked at."""
        self.verification.verify(
            "title",
            role,
            iteration=7,
            criteria=CRITERIA,
            text="<promise>TESTED</promise>",
            folder=folder,
            tree=tree,
            is_confirmed=is_confirmed,
            sealed=sealed,
        )
        return (sealed or self.verifier).claims[-1][0]


@pytest.fixture
def task(tmp_path: Path) -> VerificationFixture:
    return VerificationFixture(tmp_path, SPEC)


def test_the_verifier_is_told_what_was_promised_and_what_was_asked_for(task: VerificationFixture) -> None:
    claim = task.verify()
    assert replace(claim, diff=str) == Claim(
        promise="TESTED",
        output="<promise>TESTED</promise>",
        folder="/tree",
        environment={"OF": "checks"},
        agent="coder",
        outcome="users can sign in",
        acceptance_criteria=("a form",),
        diff=str,
        tree="tree-1",
        loose=True,
        can_commit=False,
        log_prefix="/run/verification_007_coder",
        contradictable=True,
        has_sign=True,
    )
    assert claim.diff() == "the diff"


def test_a_judge_is_told_what_the_commands_printed_at_the_last_look(task: VerificationFixture) -> None:
    assert task.verify().checks == ()
    assert task.verify("tester").checks == (CheckOutput(command="make test", passed=True, output="12 passed"),)


def test_a_sealed_look_is_the_sealed_verifiers_and_no_news_for_a_judge(task: VerificationFixture) -> None:
    claim = task.verify("tester", folder="/copy", sealed=ScriptedVerifier(PASSED))
    assert (claim.log_prefix, claim.diff()) == ("/run/verification_007_tester_sealed", "the diff")
    assert (claim.is_merged, claim.contradictable, task.verifier.claims) == (True, False, [])
    assert task.verify("tester").checks == ()


def test_on_the_merged_tree_its_own_diff_is_judged_and_words_do_not_count_again(task: VerificationFixture) -> None:
    task.workspace.merged_diff = "of both"
    claim = task.verify("tester", folder="/merged", is_confirmed=True)
    assert (claim.diff(), claim.is_merged, claim.contradictable) == ("of both", True, False)
    assert (claim.log_prefix, claim.has_sign) == ("/run/verification_007_tester_merged", True)


def test_a_coder_who_changed_nothing_has_no_sign_and_has_done_nothing(task: VerificationFixture) -> None:
    claim = task.verify(tree=task.workspace.unchanged)
    assert (claim.has_sign, claim.has_done_nothing) == (False, True)
    assert not task.verify(tree=task.workspace.unchanged, is_confirmed=True).has_done_nothing
    assert not task.verify("tester", tree=task.workspace.unchanged).has_done_nothing


def test_a_testers_sign_is_a_command_that_was_run_and_a_reviewers_is_in_its_words(
    task: VerificationFixture, tmp_path: Path
) -> None:
    assert task.verify("tester").has_sign
    assert not task.verify("reviewer").has_sign
    assert not VerificationFixture(tmp_path, SPEC, tester_looks_at=None).verify("tester").has_sign


def test_what_contradicts_a_promise_that_is_not_verified_does_not_count(task: VerificationFixture) -> None:
    assert task.verify("reviewer").contradictable
    assert not task.verify("qa").contradictable


def test_a_task_may_allow_that_nothing_changes(tmp_path: Path) -> None:
    task = VerificationFixture(tmp_path, TaskCompletionSpec("it is so", ["a look"], may_change_nothing=True))
    assert task.verification.may_change_nothing()
    assert not task.verify(tree=task.workspace.unchanged).has_done_nothing


def test_every_look_is_paid_for_and_told_with_its_notes(task: VerificationFixture) -> None:
    task.verifier.verdict = replace(PASSED, notes=("no judge: words were compared",))
    task.verify()
    assert task.board.charges == [0.5]
    kinds = [(iteration, type(event)) for iteration, event in task.listener.told]
    assert kinds == [(7, GateStarted), (7, Noted), (7, GateEnded)]
    assert task.listener.told[1] == (7, Noted("coder: no judge: words were compared"))
