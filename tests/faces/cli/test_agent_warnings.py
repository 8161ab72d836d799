"""What an agent's CLI cannot do as it should is said once, before the first agent, in every loop."""

import json
import shlex
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture
from support.stories import StoryFixture, make_story
from support.workshop import ProjectFixture

NO_LIST = "Codex cannot allow single commands"
HOME_IS_TEMPORARY = "is below the temporary folder"
CLOSING_EVENTS = (
    {"type": "item.completed", "item": {"type": "agent_message", "text": "<response>DONE</response>"}},
    {"type": "turn.completed"},
)
CODEX_ANSWER = "; ".join(f"echo {shlex.quote(json.dumps(event))}" for event in CLOSING_EVENTS)


@pytest.fixture
def codex(workshop: ProjectFixture) -> ProjectFixture:
    workshop.agent(CODEX_ANSWER, name="codex")
    workshop.environment |= {"RALPH_AGENT_COMMAND": "codex", "TMPDIR": str(workshop.home.parent)}
    return workshop


def test_in_a_run(codex: ProjectFixture) -> None:  # issue 12
    done = codex.ralph("run", "-p", "x")
    assert done.returncode == 0, done.stderr
    assert [done.stdout.count(text) for text in (NO_LIST, HOME_IS_TEMPORARY)] == [1, 1]
    assert done.stdout.index(HOME_IS_TEMPORARY) < done.stdout.index("teration 1")
    assert NO_LIST in codex.ralph("logs").stdout


def test_not_where_there_is_nothing_to_say(codex: ProjectFixture, tmp_path: Path) -> None:
    done = codex.ralph("run", "-p", "x", TMPDIR=str(tmp_path / "other"), RALPH_AGENT_FLAGS="-s read-only")
    assert done.returncode == 0, done.stderr
    assert "Codex" not in done.stdout


def test_in_a_supervised_task(codex: ProjectFixture) -> None:
    task = codex.home / "task"
    task.mkdir()
    (task / "TASK.md").write_text("Do it.\n")
    codex.agent(CODEX_ANSWER, f"touch {task}/DONE; {CODEX_ANSWER}", name="codex")
    done = codex.ralph("supervise", str(task), "--restart-delay", "0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(NO_LIST) == 1


def test_in_a_story_loop(codex: ProjectFixture) -> None:
    StoryFixture(codex).plan(make_story("US-001"))
    done = codex.ralph("story", "run", "-n", "2", "--agent", "codex")
    assert done.stdout.count(NO_LIST) == 1, done.stdout + done.stderr
    assert "may not commit" not in done.stdout


def test_a_story_loop_says_that_its_agent_may_not_commit(codex: ProjectFixture) -> None:
    StoryFixture(codex).plan(make_story("US-001"))
    codex.settings(agent={"command": "codex", "permissions": "edits"})
    done = codex.ralph("story", "run", "-n", "1", "--agent", "codex")
    assert done.stdout.count("Codex may not commit") == 1, done.stdout + done.stderr


def test_once_for_all_tasks_and_stages(pipeline: PipelineFixture) -> None:
    pipeline.workshop.agent(CODEX_ANSWER, name="codex")
    for name in ("TASK-001", "TASK-002"):
        pipeline.task(name, "--coder-max-iterations", "1")
    pipeline.workshop.environment |= {"RALPH_AGENT_COMMAND": "codex", "TMPDIR": str(pipeline.workshop.home.parent)}
    done = pipeline.execute("--json")
    assert done.returncode == 1, done.stderr
    assert [done.stdout.count(text) for text in (NO_LIST, HOME_IS_TEMPORARY)] == [1, 1]
    assert NO_LIST in done.stdout.splitlines()[0]
