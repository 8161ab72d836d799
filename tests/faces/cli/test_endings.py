"""How a run is told to have ended, where it did not end by itself or not well."""

import signal
import time

import pytest

from ralph.faces.cli.main import COMMAND_GROUPS
from support.processes import wait_until
from support.workshop import ProjectFixture, make_result_command

DONE = make_result_command("<response>DONE</response>")
ONWARD = "resume with `ralph run --resume`"


# -- whether going on can help ---------------------------------------------------------------------
def test_no_resume_is_advised_where_the_runs_own_settings_are_wrong(workshop: ProjectFixture) -> None:
    workshop.settings(agent={"command": "cat {prompt}"})
    too_long = workshop.ralph("run", "-p", "x" * 120_000)
    assert (too_long.returncode, too_long.stderr) == (2, "")
    assert "Write {prompt_file} instead" in too_long.stdout

    (workshop.home / "bad").write_text("#!/no/such/interpreter\n")
    (workshop.home / "bad").chmod(0o755)
    workshop.settings(agent={"command": "bad"})
    odd = workshop.ralph("run", "-p", "x")
    assert (odd.returncode, odd.stderr) == (2, "")
    assert "could not be started: No such file or directory" in odd.stdout

    workshop.settings()
    workshop.agent("echo 'error: unknown option --foo' >&2; exit 1")
    assert ONWARD not in workshop.ralph("run", "-p", "x").stderr


def test_it_is_advised_where_the_trouble_is_elsewhere(workshop: ProjectFixture) -> None:
    workshop.agent("echo 'Invalid API key' >&2; exit 1", DONE)
    refused = workshop.ralph("run", "-p", "x")
    assert refused.returncode == 2
    assert ONWARD in refused.stderr
    assert workshop.ralph("run", "--resume").returncode == 0


def test_who_resumes_after_a_refusal_is_told_to_allow_it(workshop: ProjectFixture) -> None:
    denied = [{"tool_name": "Bash", "tool_input": {"command": "npm ci"}}]
    workshop.agent(make_result_command("I may not.", permission_denials=denied))
    refused = workshop.ralph("run", "-p", "x")
    assert refused.returncode == 2
    assert f"{ONWARD} and the --allow above" in refused.stderr


# -- what was cut off ------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["signals", "cancel"])
def test_an_iteration_that_was_cut_off_is_told_as_such(workshop: ProjectFixture, how: str) -> None:
    workshop.agent(make_result_command("working"), "sleep 60")
    with workshop.start("run", "-p", "x") as run:
        assert wait_until(lambda: workshop.calls == 2)
        time.sleep(1)
        if how == "cancel":
            workshop.ralph("cancel")
        else:
            run.send_signal(signal.SIGINT)
            time.sleep(0.3)
            run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=20)[0]
    assert " · 2 iterations, the last interrupted · " in told
    number, agent, *_, seconds, _ = told.splitlines()[-2].split()[1:]
    assert (number, agent) == ("2", "interrupted")
    assert seconds != "0s"
    assert "2/10 iterations" in workshop.ralph("status").stdout


def test_the_first_one_too(workshop: ProjectFixture) -> None:
    workshop.agent("sleep 60")
    with workshop.start("run", "-p", "x") as run:
        assert wait_until(lambda: workshop.calls == 1)
        workshop.ralph("cancel")
        told = run.communicate(timeout=20)[0]
    assert " · 1 iteration, interrupted · " in told
    assert "1/10 iterations" in workshop.ralph("status").stdout


def test_a_guardrail_that_was_not_run_is_not_counted_as_passed(workshop: ProjectFixture) -> None:
    workshop.agent(make_result_command("working"))
    workshop.settings(guardrails=[{"command": "touch began; sleep 2"}, {"command": "true"}])
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "began").exists)
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=20)[0]
    assert "1  finished  ! 1/2 " in told
    assert " · 1 iteration · " in told


# -- an exit code that says something else ---------------------------------------------------------
@pytest.mark.parametrize(("end", "code"), [("exit 1", "1"), ("kill -9 $$", "-9")])
def test_a_success_with_another_exit_code_says_so(workshop: ProjectFixture, end: str, code: str) -> None:
    workshop.agent(f"{DONE}; {end}")
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0
    assert f"time: 0s, exit code: {code})" in done.stdout


def test_a_plain_success_does_not(workshop: ProjectFixture) -> None:
    assert "exit code" not in workshop.ralph("run", "-p", "x").stdout


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["kill"], "'cancel'"),
        (["continue"], "'resume'"),
        (["stauts"], "'status'"),
        (["--verison"], "'--version'"),
        (["run", "-p", "x", "--agent", "cluade"], "'claude'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_typing_error_is_answered_with_what_was_meant(workshop: ProjectFixture, words: list[str], meant: str) -> None:
    done = workshop.ralph(*words)
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr


def test_what_people_type_works(workshop: ProjectFixture) -> None:
    assert workshop.ralph("help", "run").stdout == workshop.ralph("run", "--help").stdout
    assert workshop.ralph("help").stdout == workshop.ralph("--help").stdout
    assert workshop.ralph("runs").stdout.startswith("No runs here yet.")
    assert "no run is active" in workshop.ralph("stop").stderr
    assert "there is no run to resume" in workshop.ralph("resume").stderr


def test_the_help_lists_every_command_in_whole_lines(workshop: ProjectFixture) -> None:
    shown = workshop.ralph("--help", COLUMNS="80").stdout
    for group, commands in COMMAND_GROUPS.items():
        assert f"\n{group}:\n" in shown
        for name, text in commands.items():
            assert any(line.split() == [name, *text.split()] for line in shown.splitlines()), name
    assert "..." not in shown.partition("Start:")[2]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("group", ["task", "spec", "story", "bus", "config", "verify", "sandbox", "agents", "plugin"])
def test_groups_list_their_commands_in_whole_lines(workshop: ProjectFixture, group: str) -> None:
    listed = workshop.ralph(group, "--help", COLUMNS="80").stdout.partition("Commands:")[2]
    assert listed
    assert "..." not in listed
