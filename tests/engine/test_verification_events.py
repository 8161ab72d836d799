"""How a verification began and ended, for whoever watches."""

from pathlib import Path

from msgspec.structs import replace

from ralph.core.tasks.task_rules import apply_change
from ralph.engine.verification_events import (
    describe_verification_end,
    describe_verification_start,
    list_log_names,
    record_landing_cost,
)
from ralph.model.board import Claimed, CostRecorded, Entry
from ralph.model.events import GateEnded, GateStarted
from ralph.model.receipt import CheckEvidence
from ralph.model.spec import CompletionCriteria, Task, VerificationMethod
from ralph.model.verdict import Verdict
from support.scripted_task import ScriptedBoard

SECRET = "sk-ant-api03-0123456789abcdefghij"
COMMAND = f"deploy --key={SECRET}"
RED = Verdict(
    method="external",
    verified=False,
    reason="exited with 2",
    detail=f"connecting with {SECRET}\n1 failed",
    seconds=1.5,
    check=CheckEvidence(name=COMMAND, passed=False),
    log="/state/runs/r1/verification_001_coder.log",
)


def test_a_start_names_the_command_without_its_secrets() -> None:
    criteria = CompletionCriteria("DONE", "It works.", VerificationMethod.EXTERNAL, {"command": COMMAND})
    start = describe_verification_start("coder", criteria)
    assert start == GateStarted("coder", is_verification=True, command="deploy --key=***")
    judged = CompletionCriteria("DONE", "It works.", VerificationMethod.SEMANTIC, {"command": 7})
    assert describe_verification_start("coder", judged).command == ""


def test_an_end_tells_what_failed_and_where_its_output_is() -> None:
    assert describe_verification_end("coder", RED) == GateEnded(
        gate="coder",
        passed=False,
        exit_code=None,
        seconds=1.5,
        detail="exited with 2",
        log="/state/runs/r1/verification_001_coder.log",
        run_log="verification_001_coder.log",
        tail="connecting with ***\n1 failed",
        is_verification=True,
        command="deploy --key=***",
    )


def test_of_what_passed_the_last_lines_are_not_shown() -> None:
    ended = describe_verification_end("coder", replace(RED, verified=True, log=""))
    assert (ended.passed, ended.tail, ended.log, ended.run_log) == (True, "", "", "")


def test_logs_are_named_as_in_the_folder_of_the_run() -> None:
    other = replace(RED, log=str(Path("/state/runs/r1/verification_002_coder.log")))
    assert list_log_names(replace(RED, log="", stages=(RED, other))) == (
        "verification_001_coder.log",
        "verification_002_coder.log",
    )


def test_what_a_judge_of_the_merged_tree_cost_belongs_to_no_iteration() -> None:
    claimed = apply_change(Entry(task=Task("TASK-001", "AUTH", "Sign in")), Claimed("TASK-001", "run-1", "coder"))
    board = ScriptedBoard(claimed)
    assert record_landing_cost(board, 0.25, role="reviewer", run="run-1") == 0.25
    ((cost,),) = board.records
    assert isinstance(cost, CostRecorded)
    assert (cost.task, cost.stage, cost.iteration) == ("TASK-001", "reviewer", 0)
    assert (cost.cost_usd, cost.run) == (0.25, "run-1")
    assert record_landing_cost(board, None, role="reviewer", run="run-1") is None
    assert len(board.records) == 1
