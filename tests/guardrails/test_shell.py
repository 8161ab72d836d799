"""A guardrail whose log cannot be written, or whose folder is gone."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph.guardrails.shell import build
from ralph.model.loop import GateResult
from ralph.model.ports import Evidence, GateOptions
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox
from support.workshop import ProjectFixture, make_result_command

LOG = ".ralph/guardrail_001_check.log"


@pytest.fixture
def processes() -> Iterator[Supervisor]:
    inbox = QuietInbox()
    supervisor = Supervisor(inbox)
    yield supervisor
    supervisor.close()
    inbox.close()


def checked(folder: Path, command: str, processes: Supervisor) -> GateResult:
    gate = build(GateOptions(command=command, action="APPEND", log_name="check"), processes)
    return gate.check(Evidence(1, str(folder), {"PATH": os.environ["PATH"]}))


def test_a_log_that_is_there_is_named(tmp_path: Path, processes: Supervisor) -> None:
    found = checked(tmp_path, "echo out; false", processes)
    assert (found.log, found.trouble) == (LOG, "")
    assert (tmp_path / LOG).read_text() == "out\n"
    assert found.feedback
    assert f"Output file: {LOG}\n" in found.feedback.text


def test_its_output_is_kept_for_the_run_too_whatever_becomes_of_the_log(  # issue 12
    tmp_path: Path, processes: Supervisor
) -> None:
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    options = GateOptions(command="rm -r .ralph; echo out", log_name="check", run_dir=str(run_dir))
    found = build(options, processes).check(Evidence(7, str(tmp_path), {"PATH": os.environ["PATH"]}))
    assert (found.log, found.run_log) == ("", "guardrail_007_check.log")
    assert (run_dir / found.run_log).read_text() == "out\n"


def test_without_a_run_nothing_is_kept_for_one(tmp_path: Path, processes: Supervisor) -> None:
    assert checked(tmp_path, "echo out", processes).run_log == ""
    assert [path.name for path in tmp_path.iterdir()] == [".ralph"]


def test_a_secret_it_prints_is_in_nothing_it_leaves(tmp_path: Path, processes: Supervisor) -> None:
    gate = build(GateOptions(command="echo with $API_KEY; false", action="APPEND", log_name="check"), processes)
    found = gate.check(Evidence(1, str(tmp_path), {"PATH": os.environ["PATH"], "API_KEY": "open sesame"}))
    assert (found.summary, found.tail.strip()) == ("with ***", "with ***")
    assert found.feedback
    assert "with ***" in found.feedback.text
    assert "sesame" not in found.feedback.text


def a_file(folder: Path) -> None:
    (folder / ".ralph").write_text("")


def a_folder(folder: Path) -> None:
    (folder / LOG).mkdir(parents=True)


@pytest.mark.parametrize(("spoil", "why"), [(a_file, "Not a directory"), (a_folder, "Is a directory")])
@pytest.mark.parametrize("command", ["echo out", "echo out; false"])
def test_the_verdict_stays_where_the_log_cannot_be_written(
    tmp_path: Path, processes: Supervisor, spoil: Callable[[Path], None], why: str, command: str
) -> None:
    spoil(tmp_path)
    found = checked(tmp_path, command, processes)
    assert found.passed == (command == "echo out")
    assert (found.log, found.trouble) == ("", f"cannot write {LOG}: {why}")
    if found.feedback:
        assert found.feedback.text.splitlines()[1:] == ["Output (truncated):", "out"]


def test_a_check_may_delete_its_own_log(tmp_path: Path, processes: Supervisor) -> None:
    found = checked(tmp_path, "rm -r .ralph; echo out; false", processes)
    assert (found.log, found.trouble) == ("", f"{LOG} was deleted while it was written")


def test_a_folder_that_is_gone_is_named(tmp_path: Path, processes: Supervisor) -> None:
    found = checked(tmp_path / "gone", "true", processes)
    assert not found.passed
    assert found.reason == f"It could not be started: the folder {tmp_path}/gone is gone."


def test_neither_screen_nor_prompt_name_a_log_that_is_not_there(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"command": "echo out; test -f made"}])
    workshop.agent(
        f"rm -r .ralph; echo > .ralph; {make_result_command('<response>DONE</response>')}",
        f"touch made; {make_result_command('<response>DONE</response>')}",
    )
    done = workshop.ralph("run", "-p", "x")
    assert done.returncode == 0, done.stdout + done.stderr
    log = ".ralph/guardrail_001_echo_out_test_f_made.log"
    assert f"cannot write {log}: Not a directory" in done.stdout
    assert done.stdout.count(log) == 1
    assert ".ralph/" not in workshop.prompt(2)
    assert "out" in workshop.prompt(2)
    assert ".ralph/guardrail" not in workshop.ralph("show").stdout
