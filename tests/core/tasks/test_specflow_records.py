"""SpecFlow's records in ralph's words."""

import json
from typing import Any

import pytest

from ralph.core.tasks.specflow_records import BadRecord, is_change_log, read_change_log, translate_task

TASK: dict[str, Any] = {
    "id": "TASK-001",
    "spec_id": "auth",
    "title": "Tokens",
    "description": "",
    "status": "todo",
    "priority": 1,
    "dependencies": [],
    "assignee": None,
    "worktree": None,
    "iteration": 3,
    "created_at": "2024-01-15T10:30:00+00:00",
    "updated_at": "2024-01-15T10:30:00+00:00",
    "metadata": {"ralph": {"iteration": 3}, "size": "small"},
}


def change(kind: str, id_: str, data: object, what: str = "create") -> str:
    head = {"timestamp": "2024-01-15T10:30:00", "entity_type": kind, "entity_id": id_, "change_type": what}
    return json.dumps({**head, "data": data})


@pytest.mark.parametrize(
    ("was", "status"),
    [
        ("todo", "todo"),
        ("pending", "todo"),
        ("failed", "todo"),
        ("implementing", "todo"),
        ("reviewing", "todo"),
        ("completed", "done"),
        ("done", "done"),
        (None, "todo"),
    ],
)
def test_every_status_of_specflow_has_one_of_ours(was: str | None, status: str) -> None:  # 002-28
    assert translate_task({**TASK, "status": was}, "x").status == status


def test_a_status_nobody_knows_is_named() -> None:
    with pytest.raises(BadRecord, match="x: unknown status 'half'"):
        translate_task({**TASK, "status": "half"}, "x")


def test_what_its_loops_noted_stays_behind() -> None:  # 002-28
    task = translate_task(TASK, "x")
    assert task.raw == {
        **{key: TASK[key] for key in ("id", "spec_id", "title", "description", "priority", "dependencies")},
        "metadata": {"size": "small"},
    }
    assert task.created_at == 1705314600.0


def test_columns_hold_json() -> None:  # 002-28
    coder = {"promise": "P", "verification_config": '{"command": "true"}'}
    spec = json.dumps({"outcome": "o", "acceptance_criteria": ["a"], "coder": coder, "architect": {}, "qa": None})
    task = translate_task({**TASK, "dependencies": '["T-0"]', "metadata": "{}", "completion_spec": spec}, "x")
    assert (task.raw["dependencies"], task.raw["metadata"]) == (["T-0"], {})
    assert task.raw["completion"] == {
        "outcome": "o",
        "acceptance_criteria": ["a"],
        "coder": {"promise": "P", "verification_config": {"command": "true"}},
    }
    assert task.left_out == ("criteria of 'architect', an agent ralph does not have",)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("specs.jsonl", "", True),
        ("-", change("task", "T", {}), True),
        ("tasks.json", '{"tasks": []}', False),
        ("tasks.yaml", "tasks:\n  - id: entity_type", False),
    ],
)
def test_a_log_is_known_by_its_name_or_its_first_line(name: str, text: str, expected: bool) -> None:
    assert is_change_log(name, text) is expected


def test_the_last_change_counts() -> None:  # 002-28
    lines = [
        change("spec", "auth", {"id": "auth", "title": "Logins"}),
        change("task", "A", {**TASK, "id": "A", "title": "old"}),
        change("task", "B", {**TASK, "id": "B"}),
        "",
        change("task", "A", {**TASK, "id": "A", "title": "new"}, "update"),
        change("task", "B", None, "delete"),
        json.dumps({**TASK, "id": "C"}),
    ]
    content = read_change_log("\n".join(lines), "log")
    assert [(where, task["title"]) for where, task in content.tasks] == [("log:5", "new"), ("log:7", "Tokens")]
    assert [where for where, _ in content.specs] == ["log:1"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "log:2: no JSON"),
        ("[1]", "log:2: a record has to be a JSON object"),
        (change("agent", "x", {}), "log:2: unknown entity_type 'agent'"),
        (change("task", "x", None), "log:2: the task has no data"),
    ],
)
def test_a_line_that_is_no_record_is_named(line: str, problem: str) -> None:
    with pytest.raises(BadRecord, match=problem):
        read_change_log(f"\n{line}\n", "log")
