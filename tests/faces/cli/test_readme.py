"""The recipes of the README, typed as they stand there."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from support.pipeline import AGENT_SCRIPT, FAIR_JUDGE
from support.stories import SUBMIT_FIELDS, build_work_command, make_approval, make_story
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

README = Path(__file__).parents[3] / "README.md"
RECIPES = re.findall(r"```sh\n(.*?)```", README.read_text().partition("## Recipes")[2].partition("\n## ")[0], re.DOTALL)
DONE = make_result_command("<response>DONE</response>")
TASKS = """\
- {id: T-1, spec_id: shop, title: One, completion: {outcome: T-1.txt says done, acceptance_criteria: [says done]}}
- {id: T-2, spec_id: shop, title: Two, completion: {outcome: T-2.txt says done, acceptance_criteria: [says done]}}
"""


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    """An ordinary repository whose tests fail, and `ralph` on PATH."""
    program = workshop.home / "ralph"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(RALPH_ARGV)} "$@"\n')
    program.chmod(0o755)
    (workshop.repo / "src").mkdir()
    (workshop.repo / "src/a.py").write_text("old_api\n")
    (workshop.repo / "Makefile").write_text("test:\n\tgrep -q fixed calc.py\n")
    (workshop.repo / "calc.py").write_text("broken\n")
    (workshop.repo / "PROMPT.md").write_text("Fix the calculator.\n")
    (workshop.repo / "SPEC.md").write_text("A shop.\n")
    (workshop.repo / "tasks.yaml").write_text(TASKS)
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    workshop.environment["RALPH_SANDBOX"] = "none"  # the fake agents live in the home folder
    return workshop


def type_recipe(project: ProjectFixture, number: int) -> str:
    """What it printed, as a person types it; it ends well."""
    done = subprocess.run(
        ["sh", "-ec", RECIPES[number]],
        cwd=project.repo,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_five_recipes() -> None:
    assert len(RECIPES) == 5


def test_failing_tests_are_fixed(project: ProjectFixture) -> None:
    project.agent(DONE, f"echo fixed > calc.py; {DONE}")
    assert "2 iterations" in type_recipe(project, 0)


def test_a_night_has_limits_and_a_worktree_of_its_own(project: ProjectFixture) -> None:
    project.agent(f"echo fixed > calc.py; git commit -qam Fix; {DONE}")
    assert "ralph/night" in type_recipe(project, 1)
    assert (project.repo / "calc.py").read_text() == "broken\n"
    assert "fixed" in project.git("show", "ralph/night:calc.py")


def test_a_migration_of_many_files_goes_on_until_none_is_left(project: ProjectFixture) -> None:
    for number in range(7):  # more than a run without progress lasts
        (project.repo / "src" / f"b{number}.py").write_text("old_api()\n")
    move = "sed -i s/old_api/new_api/ $(grep -rl old_api src | head -n 1)"
    project.agent(f"echo fixed > calc.py; {move}; grep -rq old_api src || {DONE}")
    assert "2 guardrails passed · 8 iterations" in type_recipe(project, 2)


def test_a_plan_becomes_reviewed_stories(project: ProjectFixture) -> None:
    plan = project.home / "plan"
    plan.mkdir()
    (plan / "prd.md").write_text("Search.\n")
    document = {
        "project": "demo",
        "branchName": "ralph/search",
        "description": "d",
        "verifyCommands": ["test -f work.txt"],
    }
    (plan / "tasks.json").write_text(json.dumps({**document, "userStories": [make_story("US-001")]}))
    submit = build_work_command(project.home, "US-001", SUBMIT_FIELDS, "feat: [US-001] - it")
    review = build_work_command(project.home, "US-001", make_approval(1), "review: [US-001] - approved")
    script = project.home / "script.json"
    script.write_text(json.dumps([[{"bash": line}, {"say": "Ended."}] for line in (submit, review)]))
    project.environment["RALPH_AGENT_COMMAND"] = f"scripted {script}"
    assert "every story is approved" in type_recipe(project, 3)


def test_tasks_run_in_parallel_and_land(project: ProjectFixture) -> None:
    worker = project.home / "worker"
    text = AGENT_SCRIPT.replace("{hook}", ":").replace("{before}", ":").replace("{judge}", FAIR_JUDGE)
    worker.write_text(text.replace("{home}", str(project.home)))
    worker.chmod(0o755)
    project.environment["RALPH_AGENT_COMMAND"] = "worker"
    type_recipe(project, 4)
    assert {"T-1.txt", "T-2.txt"} <= set(project.git("ls-files").split())
