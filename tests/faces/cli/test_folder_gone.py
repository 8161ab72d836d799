"""An agent that removes the folder it works in."""

import subprocess

import pytest

from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

WORKING = make_result_command("still at it")


@pytest.mark.parametrize("agent", ["claude", "claude {prompt_file}", "my-agent {prompt_file}"])
def test_the_folder_is_named_not_the_agent(workshop: ProjectFixture, agent: str) -> None:
    below = workshop.repo / "below"
    below.mkdir()
    workshop.agent(f"rm -r {below}; {WORKING}", name=agent.split()[0])
    words = [*RALPH_ARGV, "run", "-p", "x", "-m", "3", "--agent", agent]
    done = subprocess.run(
        words, cwd=below, env=workshop.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert workshop.calls == 1
    assert f"Unusable: The folder agents work in is gone: {below}. Restore it first." in done.stdout
    assert "agent.command" not in done.stdout
    assert not below.exists()


def test_a_guardrail_that_cannot_be_started_says_why(workshop: ProjectFixture) -> None:
    below = workshop.repo / "below"
    (below / ".ralph").mkdir(parents=True)
    (below / ".ralph/settings.json").write_text('{"guardrails": [{"command": "true"}]}')
    workshop.agent(f"rm -r {below}; {WORKING}")
    done = subprocess.run(
        [*RALPH_ARGV, "run", "-p", "x"],
        cwd=below,
        env=workshop.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"It could not be started: the folder {below} is gone." in done.stdout
    assert "cannot write .ralph/guardrail_001_true.log: No such file or directory" in done.stdout
