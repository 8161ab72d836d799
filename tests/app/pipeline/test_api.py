"""SpecFlow's classes as a Python API."""

import dataclasses
import enum
import inspect
import os
import threading
from collections.abc import Iterator
from datetime import datetime
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ralph.app.pipeline.api_loop import RalphLoop, RalphLoopConfig, RalphLoopState
from ralph.app.pipeline.api_verifier import PromiseVerifier
from ralph.model.enumerations import AgentType, PipelineStage
from ralph.model.spec import CompletionCriteria, Task, TaskCompletionSpec, VerificationMethod
from support.processes import wait_until

STRING_MATCH, EXTERNAL = VerificationMethod.STRING_MATCH, VerificationMethod.EXTERNAL
SEMANTIC, MULTI_STAGE = VerificationMethod.SEMANTIC, VerificationMethod.MULTI_STAGE
TASK = Task("TASK-001", "auth", "JWT", completion_spec=TaskCompletionSpec("Safe logins", ["Login works"]))
DONE = "Committed.\n<promise>DONE</promise>"


def criteria(method: VerificationMethod = STRING_MATCH, most: int | None = None, **config: Any) -> CompletionCriteria:
    return CompletionCriteria("DONE", "d", verification_method=method, verification_config=config, max_iterations=most)


def started(wanted: CompletionCriteria | None = None, runs: int = 1, **config: Any) -> RalphLoop:
    loop = RalphLoop(RalphLoopConfig(**config), None, PromiseVerifier(None))
    loop.start(TASK, "coder", wanted or criteria())
    for _ in range(runs):
        loop.increment()
    return loop


def state_of(loop: RalphLoop) -> RalphLoopState:
    assert loop.state is not None
    return loop.state


# -- config and state -------------------------------------------------------------------------------------------------
def test_the_configs_defaults() -> None:  # 000-01, 002-15
    config = RalphLoopConfig()
    assert (config.enabled, config.max_iterations, config.default_verification) == (True, 10, STRING_MATCH)
    assert (config.completion_promise, config.verify_promise) == ("STAGE_COMPLETE", True)
    assert [f.name for f in dataclasses.fields(config)][:3] == ["enabled", "max_iterations", "default_verification"]


def test_the_states_fields() -> None:  # 000-02, 002-15, 002-16
    loop = RalphLoop(RalphLoopConfig(), "project", PromiseVerifier("project"))
    assert loop.state is None
    loop.start(TASK, "coder", criteria())
    state = state_of(loop)
    assert (state.task_id, state.agent_type, state.iteration, state.max_iterations) == ("TASK-001", "coder", 0, 10)
    assert (state.completion_criteria, state.verification_results) == (criteria(), [])
    assert (state.stage, state.completion_promise, state.prompt) == ("coder", "DONE", "")
    assert isinstance(state.started_at, datetime)


def test_the_signatures_are_the_specifications() -> None:  # 000-03, 002-15, C25
    def names(function: Any) -> list[str]:
        return [*inspect.signature(function).parameters]

    assert names(RalphLoop) == ["config", "project", "verifier"]
    assert names(RalphLoop.start)[1:4] == ["task", "agent_type", "criteria"]
    assert names(RalphLoop.should_continue)[1:] == ["output", "worktree_path"]
    assert names(RalphLoop.extract_promise)[1:] == ["output"]
    assert names(RalphLoop.verify_promise)[1:] == ["promise", "output"]
    assert names(RalphLoop.increment)[1:] == []
    assert names(RalphLoop.cancel)[1:] == []
    assert names(PromiseVerifier)[:1] == ["project"]
    assert names(PromiseVerifier.verify)[1:5] == ["criteria", "output", "worktree_path", "context"]


class Stage(enum.Enum):
    """Of a caller that has enumerations of its own."""

    CODER = "coder"


@pytest.mark.parametrize("stage", ["coder", AgentType.CODER, PipelineStage.CODER, Stage.CODER])
def test_a_stage_has_one_rule_in_whatever_form_it_is_given(stage: str | enum.Enum) -> None:  # 000-26
    said = "All there.\n<promise>DONE</promise>"
    refused = (False, "No commit detected in coder output")
    assert PromiseVerifier().verify("DONE", said, {"stage": stage}) == refused
    assert PromiseVerifier().verify("DONE", DONE, {"stage": stage}) == (True, "Promise verified")
    assert PromiseVerifier().examine("DONE", said, stage) == refused
    loop = RalphLoop(RalphLoopConfig(completion_promise="DONE"))
    loop.start(TASK, stage, "Do it.")
    assert (state_of(loop).stage, type(state_of(loop).agent_type)) == ("coder", str)
    assert state_of(loop).completion_criteria.description == "Complete coder stage"
    assert (loop.should_continue(said), loop.should_continue(DONE)) == (True, False)


def test_a_loop_needs_no_verifier_and_no_criteria(tmp_path: Path) -> None:  # 000-01, 000-03
    loop = RalphLoop(RalphLoopConfig(), "project")
    loop.start(SimpleNamespace(id="T"), "coder", prompt="Do it.")
    assert state_of(loop).prompt == "Do it."
    assert loop.should_continue("<promise>STAGE_COMPLETE</promise>", tmp_path) == (False, "Completion verified")


def first_version(outputs: Iterator[str], most: int = 3, **config: Any) -> tuple[bool, int]:
    """The loop of the first version's pipeline, as it is written there: whether it succeeded, and its runs."""
    ralph = RalphLoop(RalphLoopConfig(max_iterations=most, completion_promise="DONE", **config), "project")
    ralph.start(TASK, "coder", "Do it.")
    assert state_of(ralph).prompt == "Do it."
    for runs in range(1, 99):
        if not ralph.should_continue(next(outputs)):
            return True, runs
        if ralph.iteration >= most:
            return False, runs
        ralph.increment()
    raise AssertionError("the loop does not end")


def test_the_first_versions_pipeline_works_as_written() -> None:  # 000-03, 000-07, 000-10
    todo = "Committed. TODO: the rest.\n<promise>DONE</promise>"
    assert first_version(iter(["Working.", todo, DONE])) == (True, 3)
    assert first_version(repeat("Working.")) == (False, 3)
    assert first_version(repeat(todo)) == (False, 3)
    assert first_version(repeat("<promise>DONE</promise>")) == (False, 3)  # no commit
    assert first_version(repeat(todo), verify_promise=False) == (True, 1)


def test_without_a_worktree_the_answer_is_bare_and_the_criteria_hold() -> None:  # 000-03
    assert started(criteria(EXTERNAL, command="false")).should_continue(DONE) is True
    assert started(criteria(EXTERNAL, command="true")).should_continue(DONE) is False
    assert started(runs=10).should_continue("Working.") is True  # its caller minds the limit
    assert started(runs=11).should_continue("Working.") is False
    loop = started()
    loop.cancel()
    assert loop.should_continue(DONE) is False


def test_the_criterias_limit_comes_before_the_configs() -> None:  # 002-16
    assert state_of(started(criteria(most=3))).max_iterations == 3
    assert state_of(started(max_iterations=4)).max_iterations == 4


def test_iterations_count_up_from_nothing() -> None:  # 000-03, 002-16
    loop = started(runs=0)
    assert loop.iteration == 0
    assert [loop.increment(), loop.increment()] == [1, 2]
    assert loop.iteration == 2


def test_a_loop_that_was_not_started_says_so() -> None:
    loop = RalphLoop(RalphLoopConfig(), None)
    with pytest.raises(RuntimeError, match="start"):
        loop.increment()
    with pytest.raises(RuntimeError, match="start"):
        loop.should_continue("x")


# -- should_continue --------------------------------------------------------------------------------------------------
def test_every_answer_has_its_reason(tmp_path: Path) -> None:  # 002-17
    red = criteria(EXTERNAL, 2, command="exit 1")
    loop = started(red)
    assert loop.should_continue("Working on it.", tmp_path) == (True, "No completion promise found")
    failed = "Command exited with 1, expected 0"
    assert loop.should_continue(DONE, tmp_path) == (True, f"Verification failed: {failed}")
    loop.increment()
    assert loop.should_continue("Sorry.", tmp_path) == (False, "Max iterations reached without completion promise")
    assert loop.should_continue(DONE, tmp_path) == (False, f"Max iterations reached. Last verification: {failed}")
    green = started(criteria(EXTERNAL, 1, command="true"))
    assert green.should_continue(DONE, tmp_path) == (False, "Completion verified")  # the last run is still judged


def test_a_wrong_promise_goes_on(tmp_path: Path) -> None:  # C2
    loop = started(criteria(EXTERNAL, command="true"))
    assert loop.should_continue("<promise>WRONG_PROMISE</promise>", tmp_path) == (
        True,
        "Verification failed: Promise 'DONE' not found in output",
    )


def test_attempts_are_recorded(tmp_path: Path) -> None:  # 002-18
    loop = started(criteria(EXTERNAL, command="test -e ready"))
    loop.should_continue("nothing", tmp_path)
    loop.should_continue(DONE, tmp_path)
    loop.increment()
    (tmp_path / "ready").touch()
    loop.should_continue(DONE, tmp_path)
    first, second = state_of(loop).verification_results
    assert datetime.fromisoformat(str(first.pop("timestamp"))) <= datetime.fromisoformat(str(second.pop("timestamp")))
    assert first == {
        "iteration": 1,
        "promise_found": True,
        "verified": False,
        "reason": "Command exited with 1, expected 0",
    }
    assert second == {
        "iteration": 2,
        "promise_found": True,
        "verified": True,
        "reason": "External verification passed",
    }


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("<promise>\n X \n</promise>", "X"),
        ("<PROMISE>Done</PROMISE>", "Done"),
        ("a <promise>one</promise> b <promise>two</promise>", "one"),
        ("<promise></promise>", None),
        ("<promise> </promise>", None),
        ("none", None),
    ],
)
def test_a_promise_is_extracted_wherever_it_stands(output: str, found: str | None) -> None:  # 002-19
    assert RalphLoop(RalphLoopConfig(), None).extract_promise(output) == found


def test_where_it_stands_matters_unless_matching_is_loose(tmp_path: Path) -> None:  # C1
    output = "Committed: <promise>DONE</promise>, I think"
    assert started().should_continue(output, tmp_path) == (
        True,
        "Verification failed: Promise 'DONE' not found in output",
    )
    loop = RalphLoop(RalphLoopConfig(promise_match="loose"), None)
    loop.start(TASK, "coder", criteria())
    assert loop.should_continue(output, tmp_path) == (False, "Completion verified")


def test_another_verifier_is_asked_as_the_specification_does(tmp_path: Path) -> None:  # 002-17
    asked: list[dict[str, Any]] = []

    class Mine:
        def verify(self, **given: Any) -> tuple[bool, str]:
            asked.append(given)
            return False, "not yet"

    loop = RalphLoop(RalphLoopConfig(), None, Mine())  # type: ignore[arg-type]  # it takes whatever comes
    loop.start(TASK, "coder", criteria())
    assert loop.should_continue(DONE, tmp_path) == (True, "Verification failed: not yet")
    assert (asked[0]["criteria"], asked[0]["output"], asked[0]["worktree_path"]) == (criteria(), DONE, tmp_path)
    assert asked[0]["context"].items() >= {"task_id": "TASK-001", "agent": "coder"}.items()


def test_the_tasks_criteria_reach_the_verification(tmp_path: Path) -> None:  # 002-11
    loop = started(criteria(SEMANTIC, check_for="{{acceptance_criteria}}"))
    assert loop.should_continue(DONE, tmp_path)[1] == "Verification failed: Criterion not evident: Login works"
    assert loop.should_continue(f"Login works. {DONE}", tmp_path) == (False, "Completion verified")


def test_unverified_promises_are_believed_but_compared(tmp_path: Path) -> None:  # 000-01
    loop = started(criteria(EXTERNAL, command="exit 1"), verify_promise=False)
    assert not loop.should_continue("<promise>OTHER</promise>", tmp_path)[1].startswith("Completion")
    assert loop.should_continue(DONE, tmp_path) == (False, "Completion verified")


# -- the first version's questions ------------------------------------------------------------------------------------
def test_verify_promise(tmp_path: Path) -> None:  # 000-03, 000-10
    loop = started()
    assert loop.verify_promise("DONE", DONE)
    assert not loop.verify_promise("DONE", f"TODO: docs\n{DONE}")
    assert not loop.verify_promise("DONE", "Written.\n<promise>DONE</promise>")  # a coder commits
    assert not loop.verify_promise("DONE", "Committed. <promise>DONE</promise>")
    assert not loop.verify_promise("OTHER", DONE)
    assert started(verify_promise=False).verify_promise("DONE", "Written.\n<promise>DONE</promise>")


def test_cancel(tmp_path: Path) -> None:  # 000-03
    loop = started(runs=3)
    loop.cancel()
    assert loop.state is None
    assert loop.should_continue(DONE, tmp_path) == (False, "Cancelled")
    assert loop.increment() == 3
    loop.start(TASK, "coder", criteria(EXTERNAL, command="true"))
    assert loop.should_continue(DONE, tmp_path) == (False, "Completion verified")


def test_cancel_ends_a_verification_that_is_running(tmp_path: Path) -> None:  # 000-03
    loop = started(criteria(EXTERNAL, command="touch started; sleep 60"))
    answers: list[tuple[bool, str]] = []
    thread = threading.Thread(target=lambda: answers.append(loop.should_continue(DONE, tmp_path)))
    thread.start()
    assert wait_until((tmp_path / "started").exists)
    loop.cancel()
    thread.join(10)
    assert answers == [(False, "Cancelled")]


# -- the verifier -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "output", "found"),
    [
        (criteria(), DONE, (True, "Promise found in output")),
        (criteria(), "no", (False, "Promise 'DONE' not found in output")),
        (criteria(SEMANTIC, negative_patterns=["committed"]), DONE, (False, "Found negative pattern: committed")),
        (criteria(SEMANTIC, check_for=["commit"]), DONE, (True, "All criteria appear met")),
        (criteria(EXTERNAL), DONE, (False, "No command specified for external verification")),
        (criteria(EXTERNAL, command="test -d ."), DONE, (True, "External verification passed")),
        (criteria(MULTI_STAGE), DONE, (False, "No stages specified for multi_stage verification")),
        (
            criteria(MULTI_STAGE, stages=[{"method": "external", "config": {"command": "false"}, "required": False}]),
            DONE,
            (True, "All 1 verification stages passed"),
        ),
        (CompletionCriteria("DONE", "d", "magic"), DONE, (False, "Unknown verification method: magic")),  # type: ignore[arg-type]
    ],
)
def test_the_verifier_by_method(
    tmp_path: Path, wanted: CompletionCriteria, output: str, found: tuple[bool, str]
) -> None:  # 002-05, 002-06, 002-08, 002-10, 002-12
    verifier = PromiseVerifier("project")
    assert verifier.project == "project"
    assert verifier.verify(wanted, output, tmp_path, {}) == found
    assert verifier.verify(criteria=wanted, output=output, worktree_path=tmp_path, context={"agent": "x"}) == found
    assert verifier.verify(wanted, output, str(tmp_path)) == found


def test_the_verifier_by_words() -> None:  # 000-10, 000-11
    verifier = PromiseVerifier()
    assert verifier.verify("DONE", DONE, {"stage": "coder"}) == (True, "Promise verified")
    assert verifier.verify("DONE", DONE, context={"stage": "tester"}) == (False, "No passing tests detected")
    assert verifier.verify(promise="DONE", output=DONE, context={}) == (True, "Promise verified")
    assert verifier.verify("OTHER", DONE, {"stage": "coder"}) == (False, "Promise not found or malformed")
    inline = "Committed: <promise>DONE</promise>."
    assert verifier.verify("DONE", inline, {"stage": "coder"})[1] == "Promise not found or malformed"
    assert PromiseVerifier(promise_match="loose").verify("DONE", inline, {"stage": "coder"})[0]


def test_a_judge_may_be_asked(tmp_path: Path) -> None:  # 002-07
    asked: list[str] = []

    def judge(prompt: str) -> str | None:
        asked.append(prompt)
        return "NOT_VERIFIED: no" if len(asked) == 1 else None

    verifier = PromiseVerifier(judge=judge)
    wanted = criteria(SEMANTIC, check_for=["it shines"])
    assert verifier.verify(wanted, DONE, tmp_path, {"outcome": "Light"}) == (False, "NOT_VERIFIED: no")
    assert "Light" in asked[0]
    found = verifier.verdict(wanted, DONE, tmp_path, {})
    assert (found.verified, found.reason) == (True, "Promise found in output")  # 002-24
    assert found.notes[0].endswith("the judge gave no answer")


def test_nothing_is_left_open(tmp_path: Path) -> None:
    verifier = PromiseVerifier()
    verifier.verify(criteria(EXTERNAL, command="true"), DONE, tmp_path, {})
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        verifier.verify(criteria(EXTERNAL, command="true"), DONE, tmp_path, {})
    assert len(os.listdir("/proc/self/fd")) == before
