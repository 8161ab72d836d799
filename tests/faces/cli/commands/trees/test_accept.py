"""`ralph accept` and `ralph diff --proofs`."""

import shlex

import pytest

from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

DONE = make_result_command("<response>DONE</response>")
WEAKEN = "echo true > tests/check.sh"


@pytest.fixture
def refused(workshop: ProjectFixture) -> ProjectFixture:
    """A run that was refused for a test it changed."""
    (workshop.repo / "tests").mkdir()
    (workshop.repo / "tests/check.sh").write_text("grep -q plus calc\n")
    (workshop.repo / "tests/other.sh").write_text("true\n")
    workshop.settings(guardrails=["sh tests/check.sh"], proofs="strict")
    workshop.agent(f"{WEAKEN}; {DONE}")
    assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 1
    return workshop


def last_run(workshop: ProjectFixture) -> str:
    return str(workshop.status()["id"])


def test_the_diff_shows_only_what_the_checks_rest_on(refused: ProjectFixture) -> None:
    shown = refused.ralph("diff", "--proofs").stdout
    assert shown.startswith("# tests/check.sh: weakened (1 assertion removed)\ndiff --git a/tests/check.sh")
    assert "-grep -q plus calc\n+true\n" in shown


def test_a_run_that_touched_nothing_says_so(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=["true"])
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert "changed nothing its checks rest on" in workshop.ralph("diff", "--proofs").stdout


def test_what_is_accepted_completes_on_resume_without_another_agent(refused: ProjectFixture) -> None:
    run, calls = last_run(refused), refused.calls
    accepted = refused.ralph("accept", run, "tests/check.sh")
    assert (accepted.returncode, f"ralph run --resume {run}" in accepted.stdout) == (0, True)
    assert "tests/check.sh: weakened (1 assertion removed), accepted" in refused.ralph("diff", "--proofs").stdout
    assert refused.ralph("run", "--resume", run).returncode == 0
    assert refused.calls == calls


def test_another_change_of_the_same_file_is_another_question(refused: ProjectFixture) -> None:
    run = last_run(refused)
    assert refused.ralph("accept", run, "tests/check.sh").returncode == 0
    (refused.repo / "tests/check.sh").write_text("exit 0\n")
    assert refused.ralph("run", "--resume", run).returncode == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{run}", "tests/other.sh"), "did not change 'tests/other.sh'"),
        (("nobody", "tests/check.sh"), "no run"),
        (("{run}",), "Missing argument"),
    ],
)
def test_what_cannot_be_accepted_is_told(refused: ProjectFixture, words: tuple[str, ...], message: str) -> None:
    run = last_run(refused)
    told = refused.ralph("accept", *(word.format(run=run) for word in words))
    assert (told.returncode, message in told.stderr) == (2, True)


def test_an_agent_cannot_accept_its_own_change(workshop: ProjectFixture) -> None:
    (workshop.repo / "tests").mkdir()
    (workshop.repo / "tests/check.sh").write_text("grep -q plus calc\n")
    workshop.settings(guardrails=["sh tests/check.sh"])
    accept = f'{shlex.join(RALPH_ARGV)} accept "$RALPH_RUN_ID" tests/check.sh 2> said'
    workshop.agent(f"{WEAKEN}; {DONE}", f"{accept}; {DONE}")
    workshop.ralph("run", "-p", "x", "-m", "2")
    assert "not available inside run" in (workshop.repo / "said").read_text()
