"""`specflow`: the seeds' commands, in the seeds' words."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.board.tasks import open_board
from ralph.app.paths import Paths, find_paths
from ralph.faces.cli import main
from ralph.faces.cli.pages.active_loops import format_age, render_loops_text
from ralph.faces.cli.specflow import SPECFLOW_COMMANDS, render_usage, translate_command
from ralph.model.board import IterationBegun, Spec, StagePassed
from ralph.model.runs import NewRun, RunOwner
from ralph.model.spec import Task
from ralph.process.identity import identify_self
from support.stores import connect

LOOP = """
import sys, time
from ralph.model.board import Cancelled, IterationBegun
from ralph.process.identity import identify_self
from ralph.model.runs import NewRun, RunOwner
from ralph.stores.sqlite.stores import connect_stores
stores = connect_stores(sys.argv[1])
me = identify_self()
owner = RunOwner(pid=me.pid, ticks=me.ticks, boot=me.boot, guardian=0, guardian_ticks=0)
run = dict(id="run-1", kind="execute", folder="", agent="claude", request=b"", owner=owner, started_at=time.time())
stores.runs.begin(NewRun(**run))
tasks = stores.tasks
tasks.claim("run-1", among=["TASK-001"])
for number in (1, 2, 3):
    stage = dict(task="TASK-001", stage="coder", completion_promise="P", at=time.time() - 300)
    tasks.apply([IterationBegun(**stage, iteration=number, max_iterations=15)], f"run-1:{number}")
print("ready", flush=True)
while not tasks.has_wish("TASK-001", "cancel") or sys.argv[2] == "deaf":
    time.sleep(0.05)
tasks.apply([Cancelled("TASK-001", "ralph-cancel")], "run-1:end", "run-1")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """A folder with two tasks."""
    monkeypatch.chdir(tmp_path)
    found = find_paths(str(tmp_path))
    with open_board(found) as tasks:
        tasks.add_new(
            [Task("TASK-001", "auth", "One"), Task("TASK-002", "auth", "Two")], [Spec(id="auth", title="Auth")]
        )
    return found


@pytest.fixture
def loop(here: Paths) -> Iterator[subprocess.Popen[str]]:
    """A process that works on TASK-001 and listens."""
    yield from running(here, "listening")


@pytest.fixture
def deaf(here: Paths) -> Iterator[subprocess.Popen[str]]:
    """One that does not."""
    yield from running(here, "deaf")


def running(here: Paths, manner: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen([sys.executable, "-c", LOOP, here.database, manner], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    yield child
    child.kill()
    child.wait()
    child.stdout.close()


def specflow(*words: str) -> int:
    ours = translate_command(words)
    assert ours
    return main.main(ours)


def test_status_is_told_in_the_seeds_words(  # 000-17, 002-25
    loop: subprocess.Popen[str], capsys: pytest.CaptureFixture[str], here: Paths
) -> None:
    me = identify_self()
    keeper = RunOwner(pid=me.pid, ticks=me.ticks, boot=me.boot, guardian=0, guardian_ticks=0)
    connect(here.database).runs.begin(
        NewRun(id="run-2", kind="execute", folder="", agent="claude", request=b"", owner=keeper, started_at=time.time())
    )
    with open_board(here) as tasks:
        tasks.claim("run-2", stage=lambda task: "tester")
        tasks.apply(
            [
                IterationBegun(
                    task="TASK-002",
                    stage="tester",
                    iteration=7,
                    max_iterations=10,
                    completion_promise="P",
                    at=time.time() - 725,
                )
            ],
            "k",
        )
    assert specflow("ralph-status") == 0
    assert capsys.readouterr().out == (
        "Active Ralph Loops:\n"
        "  TASK-001 (coder): iteration 3/15, started 5m ago\n"
        "  TASK-002 (tester): iteration 7/10, started 12m ago\n"
    )
    specflow("ralph-status", "--json")
    first = json.loads(capsys.readouterr().out)["loops"][0]
    assert (first["task"], first["stage"], first["iteration"], first["max_iterations"], first["alive"]) == (
        "TASK-001",
        "coder",
        3,
        15,
        True,
    )


def test_without_loops_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:  # 000-17
    assert specflow("ralph-status") == 0
    assert capsys.readouterr().out == "No active Ralph loops.\n"


def test_cancel_stops_the_loop_in_time_and_tells_where_it_was(  # 000-18
    loop: subprocess.Popen[str], capsys: pytest.CaptureFixture[str], here: Paths
) -> None:
    began = time.monotonic()
    assert specflow("ralph-cancel", "TASK-001") == 0
    assert time.monotonic() - began < 2
    assert capsys.readouterr().out == "Cancelled Ralph loop for TASK-001 at iteration 3/15\n"
    assert loop.wait(10) == 0
    with open_board(here) as tasks:
        assert tasks.get("TASK-001").task.status == "cancelled"


def test_a_loop_that_does_not_answer_is_told_after_two_seconds(  # 000-18
    deaf: subprocess.Popen[str], capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    assert specflow("ralph-cancel", "TASK-001") == 1
    assert 1.9 < time.monotonic() - began < 4
    told = capsys.readouterr().err
    assert "has not answered in 2 s" in told
    assert "ralph cancel run-1" in told


def test_what_a_dead_run_left_is_no_active_loop_and_is_cancelled_at_once(  # §3-10
    loop: subprocess.Popen[str], capsys: pytest.CaptureFixture[str], here: Paths
) -> None:
    loop.kill()
    loop.wait()
    specflow("ralph-status")
    assert capsys.readouterr().out.splitlines() == [
        "No active Ralph loops.",
        "Interrupted (resume with `ralph execute --resume`):",
        "  TASK-001 (coder): iteration 3/15",
    ]
    assert specflow("ralph-cancel", "TASK-001") == 0
    assert capsys.readouterr().out == "Cancelled Ralph loop for TASK-001 at iteration 3/15\n"
    with open_board(here) as tasks:
        entry = tasks.get("TASK-001")
        assert (entry.task.status, entry.task.stage) == ("cancelled", "coder")


@pytest.mark.parametrize(
    ("id_", "told"), [("TASK-002", "no Ralph loop runs for TASK-002"), ("TASK-9", "no task 'TASK-9'")]
)
def test_only_a_running_loop_is_cancelled(id_: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:  # 000-18
    assert specflow("ralph-cancel", id_) == 2
    assert told in capsys.readouterr().err


def test_a_task_that_was_just_claimed_has_a_line_too(capsys: pytest.CaptureFixture[str], here: Paths) -> None:
    with open_board(here) as tasks:
        tasks.claim("nobody", stage=lambda task: "qa")
        tasks.apply([StagePassed("TASK-001", "qa")], "k")
    specflow("ralph-status")
    assert "  TASK-001 (qa): iteration 0/5" in capsys.readouterr().out


def test_tasks_are_made_under_the_seeds_names(capsys: pytest.CaptureFixture[str]) -> None:  # 002-13
    done = ("--outcome", "It works", "--acceptance", "a")
    assert specflow("task-create", "TASK-003", "auth", "Three", *done, "--coder-verify-cmd", "make") == 0
    assert specflow("task-followup", "TASK-004", "auth", "Four", *done, "--parent", "TASK-003") == 0
    assert specflow("task-create", "TASK-005", "auth", "Five") == 2
    told = capsys.readouterr()
    assert told.out == "Created task TASK-003\nCreated task TASK-004\n"
    assert "needs an outcome" in told.err


def test_execute_is_ralphs() -> None:
    assert translate_command(["execute", "TASK-001", "-j", "2"]) == ["execute", "TASK-001", "-j", "2"]
    assert translate_command(["launch"]) is None
    assert translate_command([]) is None


def specflow_program(*words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "ralph.faces.cli.specflow", *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_the_program_tells_what_it_knows() -> None:
    shown = specflow_program("--help")
    assert (shown.returncode, shown.stdout) == (0, render_usage() + "\n")
    assert all(name in shown.stdout for name in SPECFLOW_COMMANDS)
    refused = specflow_program("launch")
    assert refused.returncode == 2
    assert "known: task-create, task-followup, ralph-status, ralph-cancel, execute" in refused.stderr
    assert specflow_program("--version").stdout.startswith("ralph ")
    assert specflow_program("ralph-status").stdout == "No active Ralph loops.\n"  # 000-17


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-3, "0s"), (59.9, "59s"), (60, "1m"), (323, "5m"), (3600, "1h"), (3900, "1h5m"), (90000, "1d1h"), (172800, "2d")],
)
def test_how_long_ago(seconds: float, told: str) -> None:  # 000-17
    assert format_age(seconds) == told


def test_no_loops_is_a_sentence() -> None:
    assert render_loops_text([]) == "No active Ralph loops."
