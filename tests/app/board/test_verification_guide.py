"""docs/verification.md tells when to use which method, and its examples work."""

import re
from pathlib import Path

import pytest

from ralph.app.board import tasks
from ralph.app.board.yaml_import import import_tasks
from ralph.app.paths import find_paths
from ralph.model.spec import ROLES, Role, VerificationMethod
from support.workshop import ProjectFixture

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "verification.md").read_text(encoding="utf-8")
COMMAND = (ROOT / "plugins/ralph/commands/specflow.tasks.md").read_text(encoding="utf-8")
METHODS = [method.value for method in VerificationMethod]
EXAMPLES = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
HEAD = "- id: T-1\n  spec_id: s\n  title: t\n  completion:\n    outcome: o\n    acceptance_criteria: [a]\n"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_when_to_use_it_with_an_example(method: str) -> None:  # 002-27
    (section,) = re.findall(rf"^## {method}\n(.*?)(?=^## )", GUIDE, re.DOTALL | re.MULTILINE)
    assert "**Use it when** " in section
    assert f"verification_method: {method}\n" in section
    assert re.search(rf"^- \*\*{method}\*\*: use it", COMMAND, re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_criteria_one_can_work_with(tmp_path: Path, example: str) -> None:  # 002-27
    paths = find_paths(str(tmp_path))
    text = HEAD + "".join(f"    {line}\n" for line in example.splitlines())
    assert import_tasks(paths, text, name="guide.yaml").warnings == ()
    role: Role = next(role for role in ROLES if example.startswith(f"{role}:"))
    criteria = tasks.load_task_details(paths, "T-1").criteria[role].criteria
    assert f"verification_method: {criteria.verification_method.value}\n" in example
    assert f"promise: {criteria.promise}\n" in example


def test_the_help_has_it_in_short_and_points_there(workshop: ProjectFixture) -> None:  # 002-27
    text = workshop.ralph("task", "create", "--help").stdout
    assert "docs/verification.md" in text
    for method in METHODS:
        assert re.search(rf"^ +{method} +when ", text, re.MULTILINE)
