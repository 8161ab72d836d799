"""What ralph 0.1 wrote is read and gone on with: runs that ended, runs that were killed, tasks on the board."""

import json
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from support.state_of_0_1 import KEPT, OldState
from support.workshop import make_result_command

SUPERVISED = "work/shop/task-20260101-120000-search"
DONE = make_result_command("<response>DONE</response>")
WORKER = """#!/bin/sh
# Does all that its stage wants, and remembers that it was asked.
[ "$RALPH_STAGE" != judge ] || { grep -q '^+done' && echo VERIFIED; exit; }
cat > /dev/null
echo "$RALPH_TASK $RALPH_STAGE" >> "$HOME/worked"
echo 'The file is there and says done.'
case $RALPH_STAGE in
coder)
    echo done > $RALPH_TASK.txt
    git add -A
    git commit -qm "Do $RALPH_TASK"
    echo '<promise>IMPLEMENTATION_COMPLETE</promise>';;
reviewer) echo '<promise>REVIEW_PASSED</promise>';;
tester) echo '<promise>TESTS_PASSED</promise>';;
qa) echo '<promise>QA_PASSED</promise>';;
esac
"""


@pytest.fixture
def old(tmp_path: Path) -> OldState:
    """One to go on with."""
    return OldState(tmp_path)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> OldState:
    """One that tests only look at."""
    return OldState(tmp_path_factory.mktemp("seen"))


def lasting(iteration: dict[str, Any]) -> dict[str, Any]:
    """All but its snapshot, which is dropped after 30 days, and that the run went on after it."""
    return {key: value for key, value in iteration.items() if key not in ("snapshot", "remarks")}


def outcomes(receipt: dict[str, Any]) -> list[tuple[int, str]]:
    return [(each["iteration"], each["outcome"]) for each in receipt["iterations"]]


def worked(old: OldState) -> dict[str, list[str]]:
    """The stages whose agents were started, by task."""
    found: dict[str, list[str]] = {}
    for line in (old.home / "worked").read_text().splitlines():
        task, _, stage = line.partition(" ")
        found.setdefault(task, []).append(stage)
    return found


def test_the_state_is_as_0_1_left_it() -> None:
    assert sorted(os.listdir(KEPT / "state")) == ["ralph.db", "runs"]  # one file holds all of the database
    database = sqlite3.connect(f"file:{KEPT}/state/ralph.db?mode=ro&immutable=1", uri=True)
    assert database.execute("PRAGMA user_version").fetchone() == (4,)
    open_runs = database.execute("SELECT id FROM run WHERE ended_at IS NULL").fetchall()
    database.close()
    names = json.loads((KEPT / "names.json").read_text())
    assert {run for (run,) in open_runs} == {run for name, run in names.items() if name.startswith("killed")}


# -- looking ---------------------------------------------------------------------------------------
def test_status_lists_every_run_with_its_outcome(seen: OldState) -> None:
    expected = {
        "completed": ("run", "completed"),
        "exhausted": ("run", "exhausted"),
        "cancelled": ("run", "interrupted"),
        "supervised": ("supervise", "completed"),
        "story": ("story", "completed"),
        "landed": ("execute", "completed"),
        "stuck": ("execute", "stuck"),
        "killed": ("run", "lost"),
        "killed in review": ("execute", "lost"),
        "killed in verification": ("execute", "lost"),
    }
    found = {run["id"]: (run["kind"], run["outcome"]) for run in seen.json("status", "-n", "20")["runs"]}
    assert found == {seen.runs[name]: how for name, how in expected.items()}
    page = seen.said("status", "-n", "20")
    for name, (_, outcome) in expected.items():
        assert f"{seen.runs[name]}  {outcome}  " in page


def test_show_has_iterations_checks_and_cost_of_the_completed_run(seen: OldState) -> None:
    found = seen.show("completed")
    assert (found["outcome"], found["exit_code"], round(found["cost_usd"], 4)) == ("completed", 0, 0.08)
    newer = {"stuck": None, "chain": None, "day_usd": None, "reserve_usd": 0.0}
    assert found["limits"] == {"iterations": 10, "seconds": 3600.0, "cost_usd": None, **newer}
    assert found["folder"] == os.path.realpath(seen.repo)
    first, second = found["iterations"]
    assert [each["outcome"] for each in (first, second)] == ["finished", "finished"]
    for each, passed, code in ((first, False, 1), (second, True, 0)):
        [check] = each["checks"]
        assert (check["name"], check["passed"], check["exit_code"]) == ("./check numerals.txt", passed, code)
    assert (first["saved"], second["saved"]["message"]) == (None, "Write the numerals")
    page = seen.said("show", seen.runs["completed"])
    assert "✗ ./check numerals.txt, exit code 1" in page
    assert "✓ Committed: Write the numerals (commit)" in page


def test_what_was_kept_before_an_overwrite_can_be_had_back(seen: OldState) -> None:
    found = seen.show("completed")
    first, second = (each["snapshot"] for each in found["iterations"])
    assert [kept["commit"] for kept in found["snapshots"]] == [first, second]
    assert [seen.git("show", f"{commit}:numerals.txt") for commit in (first, second)] == ["almost\n", "done\n"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exhausted", [(1, "empty"), (1, "finished"), (2, "finished")]),
        ("supervised", [(1, "crashed"), (2, "finished")]),
        ("story", [(number, "finished") for number in range(1, 7)]),
        ("landed", [(number, "finished") for number in range(1, 5)]),
        ("stuck", [(1, "finished"), (2, "finished")]),
    ],
)
def test_every_row_of_every_kind_of_journal_can_be_read(
    seen: OldState, name: str, expected: list[tuple[int, str]]
) -> None:
    found = seen.show(name)
    assert found["unread"] == 0
    assert outcomes(found) == expected


def test_logs_tell_what_a_run_said(seen: OldState) -> None:
    run = seen.runs["completed"]
    page = seen.said("logs", run)
    lines = ("Iteration 1/10", "● Write(numerals.txt)", "failed with exit code 1", "Iteration 2/10", "Completed: ")
    assert [line for line in lines if line not in page] == []
    events = [json.loads(line)["event"] for line in seen.said("logs", run, "--json").splitlines()]
    assert (events[0]["type"], events[-1]["type"]) == ("run_started", "run_ended")
    folder = Path(seen.said("logs", run, "--path").rstrip("\n"))
    assert "All is written." in (folder / "agent_001.log").read_text()
    assert "Looking at the file." in seen.said("logs", seen.runs["killed in review"])  # its last word


def test_the_board_has_every_task_in_its_lane(seen: OldState) -> None:
    board = seen.json("board")
    lanes = {lane["name"]: [(task["id"], task["state"]) for task in lane["tasks"]] for lane in board["lanes"]}
    assert lanes == {
        "todo": [("TASK-005", "waiting"), ("TASK-002", "trouble")],
        "coder": [],
        "reviewer": [("TASK-003", "trouble")],
        "tester": [("TASK-004", "trouble")],
        "qa": [],
        "done": [("TASK-001", "done")],
    }
    assert (board["done"], board["total"], round(board["spent_usd"], 4), board["slots"]) == (1, 5, 0.08, [])
    page = seen.said("board", "--once")
    assert re.findall(r"^(\w+) (\d)$", page, re.MULTILINE) == [
        *(("Todo", "2"), ("Coder", "0"), ("Reviewer", "1"), ("Tester", "1"), ("QA", "0"), ("Done", "1"), ("Runs", "6"))
    ]
    assert "TASK-005  Make TASK-005  after TASK-003 +1\n" in page
    assert "! failed: coder: the same failure 2 times in a row" in page
    assert "! cut off: at Reviewer (1/5)" in page


def test_task_list_has_every_task(seen: OldState) -> None:
    found = {task["id"]: (task["status"], task["stage"]) for task in seen.json("task", "list")["tasks"]}
    assert found == {
        "TASK-001": ("done", "qa"),
        "TASK-002": ("todo", "coder"),
        "TASK-003": ("in_progress", "reviewer"),
        "TASK-004": ("in_progress", "tester"),
        "TASK-005": ("todo", None),
    }
    page = seen.said("task", "list")
    assert "5 tasks: 2 in progress, 1 failed, 1 todo, 1 done; 1 ready" in page
    assert re.search(r"TASK-004 +cut off at tester 1/10 ", page)


def test_task_show_tells_why_one_failed_and_where_one_landed(seen: OldState) -> None:
    stuck = seen.json("task", "show", "TASK-002")
    assert stuck["task"]["metadata"]["ralph_failure"]["iterations_used"] == 2
    assert [each["reason"] for each in stuck["iterations"]] == [
        *["Verification failed: Command exited with 1, expected 0"] * 2
    ]
    page = seen.said("task", "show", "TASK-002")
    assert "command: ./check TASK-002.txt\n" in page  # what done means
    assert page.count("✗ coder") == 2
    landed = seen.json("task", "show", "TASK-001")["task"]["metadata"]["landed"]["commit"]
    seen.git("merge-base", "--is-ancestor", landed, "main")


def test_the_story_report_counts_reviews_and_iterations(seen: OldState) -> None:
    found = seen.json("story", "report")["stories"]
    assert [(each["id"], each["reviews"], each["iterations"]) for each in found] == [("US-001", 2, 4), ("US-002", 1, 2)]


def test_the_bus_of_a_supervised_task_can_be_read(seen: OldState) -> None:
    page = seen.said("bus", "read", "--task", SUPERVISED)
    assert "starting root agent (restart #1)" in page
    assert "The search answers on port 8080" in page


def test_what_would_go_on_is_the_newest_run_that_is_not_completed(seen: OldState) -> None:
    page = seen.said("run", "--resume", "--dry-run")
    assert f"Resumes:     {seen.runs['killed']}, after " in page
    assert "  | Write romans.txt. Then answer <response>DONE</response>.\n" in page
    done = seen.ralph("run", "--resume", seen.runs["completed"])
    assert (done.returncode, seen.calls) == (2, 0)
    assert "is completed" in done.stderr


# -- going on --------------------------------------------------------------------------------------
def test_an_exhausted_run_goes_on_with_a_higher_limit_and_completes(old: OldState) -> None:
    before = old.show("exhausted")
    old.agent(f"echo rest >> letters.txt; {make_result_command('not yet')}", "echo Finish the letters", DONE)
    done = old.ralph("run", "--resume", old.runs["exhausted"], "-m", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"Iteration (\d/\d)", done.stdout) == ["3/4", "4/4"]
    assert [old.prompt(number) for number in (1, 3)] == ["Write letters.txt."] * 2
    after = old.show("exhausted")
    assert (after["outcome"], round(after["cost_usd"], 4), after["unread"]) == ("completed", 0.08, 0)
    assert [lasting(each) for each in after["iterations"][:3]] == [lasting(each) for each in before["iterations"]]
    assert outcomes(after)[3:] == [(3, "finished"), (4, "finished")]
    assert old.git("log", "-1", "--format=%s") == "Finish the letters\n"


def test_a_killed_run_goes_on_and_repeats_nothing_that_had_finished(old: OldState) -> None:
    before = old.show("killed")
    old.agent(f"echo done > romans.txt; {DONE}", "echo Write the Romans")
    done = old.ralph("run", "--resume", old.runs["killed"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"Iteration (\d/\d)", done.stdout) == ["2/5"]
    assert old.calls == 2  # the iteration that was cut off, and the commit's message
    assert old.prompt(1).startswith("Write romans.txt.")
    assert 'Guardrail "./check romans.txt" failed with exit code 1.' in old.prompt(1)
    after = old.show("killed")
    assert lasting(after["iterations"][0]) == lasting(before["iterations"][0])
    assert (after["outcome"], outcomes(after)[-1]) == ("completed", (2, "finished"))
    assert old.git("show", "--format=%s", "--name-only") == "Write the Romans\n\nromans.txt\n"
    page = old.said("logs", old.runs["killed"])  # of both lives
    assert page.index("Iteration 1/5") < page.index("Iteration 2/5") < page.index("Completed: ")


def test_a_cancelled_run_goes_on(old: OldState) -> None:
    done = old.ralph("run", "--resume", old.runs["cancelled"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"Iteration (\d+/\d+)", done.stdout) == ["1/10"]
    assert old.prompt(1).startswith("Write signs.txt.")


def test_killed_tasks_go_on_where_they_were_cut_off_and_land(old: OldState) -> None:
    old.open_trees()
    program = old.home / "worker"
    program.write_text(WORKER)
    program.chmod(0o755)
    done = old.ralph("execute", "--resume", "--agent", "worker", "TASK-003", "TASK-004")
    assert done.returncode == 0, done.stdout + done.stderr
    assert worked(old) == {"TASK-003": ["reviewer", "tester", "qa"], "TASK-004": ["qa"]}
    assert [(old.repo / f"TASK-00{number}.txt").read_text() for number in (3, 4)] == ["done\ndone\n", "done\n"]
    landed = old.json("task", "show", "TASK-003")
    old.git("merge-base", "--is-ancestor", landed["task"]["metadata"]["landed"]["commit"], "main")
    assert [each["stage"] for each in landed["iterations"]] == [
        "coder",
        "reviewer",
        "coder",
        "reviewer",
        "tester",
        "qa",
    ]
    (old.home / "worked").unlink()
    done = old.ralph("execute", "--agent", "worker")  # what had failed begins anew, what waited has its turn
    assert done.returncode == 0, done.stdout + done.stderr
    assert worked(old) == {task: ["coder", "reviewer", "tester", "qa"] for task in ("TASK-002", "TASK-005")}
    assert {task["status"] for task in old.json("task", "list")["tasks"]} == {"done"}


def test_what_is_done_starts_no_agent(old: OldState) -> None:
    for words in (("supervise", SUPERVISED), ("story", "run"), ("execute", "TASK-001")):
        done = old.ralph(*words)
        assert (done.returncode, old.calls) == (0, 0), done.stdout + done.stderr
