"""An agent that edits the settings of the next run is found out."""

import json

import pytest

from support.pipeline import PipelineFixture
from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

CLAIM = make_result_command("<response>DONE</response>")
LOOSER = json.dumps({"agent": {"command": "claude"}, "guardrails": []})
LOOSEN = f"echo '{LOOSER}' > .ralph/settings.json"


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    workshop.settings(guardrails=["true"])
    return workshop


def test_a_guardrail_that_an_agent_removed_is_told_at_once_and_must_be_accepted(project: ProjectFixture) -> None:
    project.agent(f"{LOOSEN}; {CLAIM}", CLAIM)
    first = project.ralph("run", "-p", "x")
    assert first.returncode == 0
    assert "changed while an agent was running: .ralph/settings.json" in first.stdout
    refused = project.ralph("run", "-p", "x")
    assert refused.returncode == 2
    assert refused.stderr.startswith("warning: changed while an agent was running in run")
    assert '-{"agent": {"command": "claude"}, "guardrails": ["true"]}' in refused.stderr
    assert "--accept-settings" in refused.stderr
    told = json.loads(project.ralph("run", "-p", "x", "--json").stderr or "{}")
    assert told["code"] == "config"
    assert project.ralph("run", "-p", "x", "--accept-settings").returncode == 0
    again = project.ralph("run", "-p", "x")
    assert (again.returncode, again.stderr) == (0, ""), "once is enough"


def test_what_the_user_puts_back_is_forgotten(project: ProjectFixture) -> None:
    project.agent(f"{LOOSEN}; {CLAIM}", CLAIM)
    assert project.ralph("run", "-p", "x").returncode == 0
    project.settings(guardrails=["true"])
    again = project.ralph("run", "-p", "x")
    assert (again.returncode, again.stderr) == (0, "")


def test_what_got_no_weaker_is_only_named(project: ProjectFixture) -> None:
    project.git("commit", "-q", "--allow-empty", "-m", "Start")
    project.agent(f"echo 'echo hi' > .git/hooks/post-merge; {CLAIM}", CLAIM)
    assert project.ralph("run", "-p", "x").returncode == 0
    again = project.ralph("run", "-p", "x")
    assert again.returncode == 0
    assert ".git/hooks/post-merge (added)" in again.stderr.splitlines()[0]
    assert "+echo hi" in again.stderr
    assert project.ralph("run", "-p", "x").stderr == ""


@pytest.mark.parametrize(("answer", "code"), [("y\r", 0), ("\r", 2)])
def test_on_a_terminal_the_user_is_asked(project: ProjectFixture, answer: str, code: int) -> None:
    project.agent(f"{LOOSEN}; {CLAIM}", CLAIM)
    assert project.ralph("run", "-p", "x").returncode == 0
    terminal = PseudoTerminal([*RALPH_ARGV, "run", "-p", "x"], project.repo, project.environment)
    assert terminal.sees("Start with these settings?")
    terminal.types(answer)
    assert terminal.ended(20) == code


def test_settings_that_land_with_a_task_are_asked_about(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    shop = pipeline.workshop
    shop.settings(agent={"command": "worker"}, guardrails=["true"])
    shop.git("add", "-A")
    shop.git("commit", "-qm", "Settings")
    pipeline.agent(hook="""echo '{"agent": {"command": "worker"}}' > .ralph/settings.json""")
    pipeline.task("TASK-001")
    assert shop.ralph("execute").returncode == 0
    assert "guardrails" not in (shop.repo / ".ralph/settings.json").read_text()
    refused = shop.ralph("execute")
    assert refused.returncode == 2
    assert "guardrail removed or changed: true" in refused.stderr
