"""A task as the public API has it: enumerations or strings, to JSON and back."""

import enum
import json
import time
from datetime import UTC, datetime

import pytest

from ralph import AgentType, CompletionCriteria, PipelineStage, Task, TaskCompletionSpec, TaskStatus, VerificationMethod
from ralph.model.spec import ROLES, TASK_STATUSES, find_role, parse_time

CODER = CompletionCriteria("DONE", "d", VerificationMethod.EXTERNAL, {"command": "true"})
TASK = Task(
    "TASK-002",
    "auth",
    "Tokens",
    "All of them",
    status="in_progress",
    stage="tester",
    priority=3,
    depends_on=("TASK-001",),
    assignee="coder",
    completion_spec=TaskCompletionSpec("Safe logins", ["Login works"], coder=CODER),
    iteration=4,
    metadata={"ralph": {"iteration": 4}},
    created_at=1_700_000_000.5,
    updated_at=1_700_000_001.0,
)


class Own(enum.Enum):
    """An enumeration of the caller's own, which is no string."""

    TESTER = "tester"


def test_the_enumerations_are_the_names_ralph_uses() -> None:  # 000-26
    assert tuple(TaskStatus) == TASK_STATUSES
    for stages in (AgentType, PipelineStage):
        assert tuple(map(str, stages)) == ROLES
    assert PipelineStage.QA.agent_type is AgentType.QA
    assert (TaskStatus.IN_PROGRESS, f"{AgentType.CODER}") == ("in_progress", "coder")


@pytest.mark.parametrize("stage", ["tester", AgentType.TESTER, PipelineStage.TESTER, Own.TESTER])
def test_a_stage_may_be_given_in_any_form(stage: str | enum.Enum) -> None:  # 000-26
    assert find_role(stage) == "tester"
    assert TaskCompletionSpec("o", ["a"], tester=CODER).get_criteria_for_agent(stage) is CODER
    assert TaskCompletionSpec("o", ["a"], coder=CODER).get_criteria_for_agent(stage) is None


def test_a_stage_nobody_knows_is_named() -> None:
    with pytest.raises(ValueError, match="unknown stage 'painter'; known: coder"):
        find_role("painter")


def test_a_task_goes_to_json_and_back() -> None:  # 000-26, 002-04
    told = TASK.to_dict()
    assert (told["dependencies"], TASK.dependencies) == (["TASK-001"], ["TASK-001"])
    assert (told["status"], told["created_at"]) == ("in_progress", "2023-11-14T22:13:20.500000+00:00")
    assert told["completion_spec"] == TASK.completion_spec.to_dict() if TASK.completion_spec else False
    assert Task.from_dict(json.loads(json.dumps(told))) == TASK


def test_a_task_of_enumerations_is_the_same_in_json() -> None:  # 000-26
    task = Task.from_dict({**TASK.to_dict(), "status": TaskStatus.IN_PROGRESS, "stage": PipelineStage.TESTER})
    assert task == TASK
    assert type(task.status) is str


def test_a_task_needs_only_a_few_words() -> None:
    task = Task("T", "s", "t")
    assert Task.from_dict({"id": "T", "spec_id": "s", "title": "t", "metadata": None}) == task
    assert Task.from_dict(task.to_dict()) == task
    with pytest.raises(KeyError, match="title"):
        Task.from_dict({"id": "T", "spec_id": "s"})
    with pytest.raises(ValueError, match="unknown status 'half done'"):
        Task.from_dict({"id": "T", "spec_id": "s", "title": "t", "status": "half done"})


def test_times_are_read_in_every_form() -> None:
    moment = datetime(2024, 1, 15, 10, 30, tzinfo=UTC)
    assert parse_time("2024-01-15T10:30:00Z") == parse_time(moment) == parse_time(moment.timestamp())
    assert parse_time("2024-01-15T10:30:00") == time.mktime((2024, 1, 15, 10, 30, 0, 0, 0, -1))
    assert (parse_time(None), parse_time("")) == (0.0, 0.0)
