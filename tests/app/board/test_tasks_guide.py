"""docs/tasks.md shows what works: its examples are read by the program itself."""

import re
from pathlib import Path

import pytest

from ralph.app import paths as places
from ralph.app.board import specs, tasks
from ralph.app.board import yaml_import as task_import
from ralph.config.sources import load_settings
from ralph.faces.cli.main import COMMAND_MODULES
from ralph.model.spec import VerificationMethod

GUIDE = (Path(__file__).parents[3] / "docs" / "tasks.md").read_text(encoding="utf-8")
YAML = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)


def test_the_tasks_of_the_guide_are_imported(tmp_path: Path) -> None:  # 000-23
    (example,) = [text for text in YAML if text.startswith("- id:")]
    here = places.find_paths(str(tmp_path))
    specs.create_spec(here, "calculator", "", "")
    needed = {"outcome": "o", "acceptance_criteria": ["a"]}
    tasks.create_task(here, {"id": "TASK-001", "spec_id": "calculator", "title": "t", "completion": needed})
    task_import.import_tasks(here, example, name="tasks.yaml")
    shown = tasks.load_task_details(here, "TASK-002")
    assert shown.entry.task.depends_on == ("TASK-001",)
    assert shown.criteria["coder"].criteria.verification_method is VerificationMethod.EXTERNAL
    assert shown.limits["coder"].iterations == 8


def test_the_settings_of_the_guide_are_read_without_a_complaint(tmp_path: Path) -> None:  # 000-08, 000-23
    examples = [text for text in YAML if text.startswith("ralph:")]
    assert len(examples) == 2
    for text in examples:
        (tmp_path / ".specflow").mkdir(exist_ok=True)
        (tmp_path / ".specflow" / "config.yaml").write_text(text)
        loaded = load_settings(str(tmp_path), {"HOME": str(tmp_path)}, {})
        assert not loaded.warnings
        judge = loaded.settings.specflow.judge
        assert judge is not None
        assert (judge.agent, judge.model) == ("claude", "haiku")


@pytest.mark.parametrize("command", sorted(set(re.findall(r"ralph ([a-z]+)[ `\n]", GUIDE)) - {"import"}))
def test_every_command_of_the_guide_exists(command: str) -> None:  # 000-23
    assert command in COMMAND_MODULES
