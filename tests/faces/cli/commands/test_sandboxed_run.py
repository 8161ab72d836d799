"""`ralph run --sandbox bubblewrap` as a user meets it: one run, looked at from all sides."""

import json

from support.bubblewrap import needs_bubblewrap
from support.workshop import ProjectFixture

AGENT = """#!/bin/sh
{
    cat ~/.ssh/id_ed25519; ls .git/ralph; echo evil > .git/hooks/pre-commit; mv .ralph away; echo x > ~/note
    git add -A; git commit -qm 'Work of the agent'; git log --format=%an,%s -n 1
} > look.txt 2>&1
echo '<response>DONE</response>'
"""
CHECK = 'test -n "$RALPH_CONTAINED" && ! test -e ~/.ssh'


@needs_bubblewrap
def test_agent_and_checks_run_inside_and_what_is_outside_stays_as_it_is(workshop: ProjectFixture) -> None:
    agent = workshop.repo / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    (workshop.home / ".ssh").mkdir()
    (workshop.home / ".ssh/id_ed25519").write_text("secret key")
    workshop.settings(agent="./agent.sh", guardrails=[CHECK], setup="touch ready")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Begin")
    done = workshop.ralph("run", "-p", "x", "--sandbox", "bubblewrap", "-m", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sandbox: bubblewrap, network full" in done.stdout
    look = (workshop.repo / "look.txt").read_text()
    assert "secret key" not in look
    assert "ralph.db" not in look
    assert "Read-only file system" in look
    assert "busy" in look
    assert "t,Work of the agent" in look, "the user's name comes along"
    assert not (workshop.home / "note").exists()
    assert (workshop.repo / "ready").exists()
    receipt = json.loads(next((workshop.repo / ".git/ralph/runs").glob("*/receipt.json")).read_text())
    assert receipt["isolation"] == "bubblewrap, network full with localhost"


def test_a_kind_nobody_knows_and_two_wishes_at_once_are_refused(workshop: ProjectFixture) -> None:
    unknown = workshop.ralph("run", "-p", "x", "--sandbox", "paper")
    assert (unknown.returncode, "bubblewrap" in unknown.stderr) == (2, True)
    both = workshop.ralph("run", "-p", "x", "--no-sandbox", "--sandbox")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)


@needs_bubblewrap
def test_what_init_wrote_allows_the_checks_here_and_everything_in_a_sandbox(workshop: ProjectFixture) -> None:
    # issue 12
    workshop.agent("echo '<response>DONE</response>'")
    assert workshop.ralph("init", "--yes").returncode == 0
    here = workshop.ralph("run", "-p", "x", "--dry-run").stdout
    inside = workshop.ralph("run", "-p", "x", "--dry-run", "--sandbox", "bubblewrap").stdout
    assert ("--permission-mode acceptEdits" in here, "--dangerously-skip-permissions" in here) == (True, False)
    assert "--dangerously-skip-permissions" in inside
