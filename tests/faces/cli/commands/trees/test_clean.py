"""`ralph clean`: old runs go, the rest stays."""

import os
import sqlite3
import time

from ralph.app.cleanup.daily_cleaning import clean_up_once_a_day
from ralph.app.paths import find_project_paths
from support.pipeline import PipelineFixture
from support.workshop import ProjectFixture, make_result_command


def age(workshop: ProjectFixture, run: str, days: int) -> None:
    """As if it had ended so long ago."""
    database = sqlite3.connect(workshop.repo / ".git" / "ralph" / "ralph.db")
    database.execute("UPDATE run SET ended_at=? WHERE id=?", (time.time() - days * 86_400, run))
    database.commit()
    database.close()


def list_runs(workshop: ProjectFixture) -> list[str]:
    return sorted(os.listdir(workshop.repo / ".git" / "ralph" / "runs"))


def test_old_runs_go_and_the_rest_stays(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.settings(maximumIterations=3)
    assert workshop.ralph("run", "-p", "x").returncode == 0
    (old,) = list_runs(workshop)
    stamp = workshop.repo / ".git" / "ralph" / "cleaned"
    os.utime(stamp, (1, 1))
    age(workshop, old, 40)
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert old in list_runs(workshop)  # by itself, a later run removes what is older than keepDays, 90
    log = workshop.repo / ".ralph" / "guardrail_001_make.log"
    log.write_text("x")
    os.utime(log, (1, 1))
    own = workshop.repo / ".ralph" / "notes.log"
    own.write_text("of the user")
    os.utime(own, (1, 1))

    shown = workshop.ralph("clean", "--dry-run")
    assert "1 run (folder and record)" in shown.stdout
    assert len(list_runs(workshop)) == 2
    asked = workshop.ralph("clean")
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert workshop.ralph("clean", "--yes").returncode == 0
    assert old not in list_runs(workshop)
    assert len(list_runs(workshop)) == 1
    assert old not in workshop.ralph("status").stdout
    assert (log.exists(), own.exists()) == (False, True)
    assert "Nothing to clean up" in workshop.ralph("clean", "--yes").stdout
    assert workshop.ralph("diff").returncode == 0

    settings = (workshop.repo / ".ralph" / "settings.json").read_text()
    assert workshop.ralph("clean", "--all", "--yes").returncode == 0
    assert not (workshop.repo / ".git" / "ralph").exists()
    assert "refs/ralph" not in workshop.git("for-each-ref")
    assert (workshop.repo / ".ralph" / "settings.json").read_text() == settings
    assert workshop.git("log", "--oneline").count("Start") == 1
    assert [path.name for path in (workshop.home / ".local/state/ralph").rglob("*") if path.is_file()] == []


def test_a_later_run_removes_what_is_older_than_keep_days(workshop: ProjectFixture) -> None:
    workshop.settings(maximumIterations=3, keepDays=7)
    assert workshop.ralph("run", "-p", "x").returncode == 0
    (old,) = list_runs(workshop)
    age(workshop, old, 8)
    paths = find_project_paths(str(workshop.repo))
    clean_up_once_a_day(paths, 7, workshop.environment)
    assert list_runs(workshop) == [old]  # the run itself was today's turn
    os.utime(workshop.repo / ".git" / "ralph" / "cleaned", (1, 1))
    clean_up_once_a_day(paths, 0, workshop.environment)
    assert list_runs(workshop) == [old]  # 0: never
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert old not in list_runs(workshop)


def test_work_trees_of_tasks_that_are_gone_go_once_their_work_is_committed(pipeline: PipelineFixture) -> None:
    workshop = pipeline.workshop
    pipeline.task("T-1")
    for name in ("T-1", "merged", "ahead", "dirty"):
        workshop.git("worktree", "add", "-q", f".ralph/worktrees/{name}", "-b", f"ralph/{name}")
    ahead = workshop.repo / ".ralph/worktrees/ahead"
    workshop.git("-C", str(ahead), "commit", "-q", "--allow-empty", "-m", "Its own")
    (workshop.repo / ".ralph/worktrees/dirty/new").write_text("x")
    assert "work tree" not in workshop.call("clean", "--dry-run")  # somebody was there this month
    for path in (*(workshop.repo / ".ralph/worktrees").iterdir(), *(workshop.repo / ".git/worktrees").rglob("*")):
        os.utime(path, (1, 1))
    done = workshop.ralph("clean", "--yes")
    assert "2 work trees" in done.stdout
    assert "dirty, because it has changes that are not committed" in done.stdout
    assert sorted(os.listdir(workshop.repo / ".ralph/worktrees")) == ["T-1", "dirty"]
    branches = workshop.git("branch", "--list", "--format=%(refname:short)", "ralph/*").split()
    assert branches == ["ralph/T-1", "ralph/ahead", "ralph/dirty"]


def test_all_forgets_tasks_and_removes_their_work_trees_but_no_work(pipeline: PipelineFixture) -> None:
    workshop = pipeline.workshop
    exclude = workshop.repo / ".git/info/exclude"
    before = exclude.read_text()
    workshop.environment["RALPH_AGENT_COMMAND"] = "claude"
    workshop.agent("echo half > half.txt; git add -A; git commit -qm Half; " + make_result_command("It does not work."))
    pipeline.task("T-1")
    workshop.ralph("execute", timeout=60)
    (workshop.repo / ".ralph/worktrees/T-2").mkdir()
    workshop.git("worktree", "add", "-q", ".ralph/worktrees/dirty", "-b", "ralph/dirty")
    (workshop.repo / ".ralph/worktrees/dirty/new").write_text("x")
    shown = workshop.call("clean", "--all", "--dry-run")
    assert "2 work trees" in shown
    assert "dirty, because it has changes that are not committed" in shown
    assert workshop.ralph("clean", "--all", "--yes").returncode == 0
    assert os.listdir(workshop.repo / ".ralph/worktrees") == ["dirty"]
    assert workshop.git("show", "ralph/T-1:half.txt") == "half\n"
    (workshop.repo / ".ralph/worktrees/dirty/new").unlink()
    assert workshop.ralph("clean", "--all", "--yes").returncode == 0
    assert not (workshop.repo / ".ralph").exists()
    assert exclude.read_text() == before


def test_many_small_files_of_snapshots_are_packed_though_nothing_is_old(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    spread = "for n in $(seq 600); do echo $n > file$n; done"
    workshop.agent(f"{spread}; echo '<response>DONE</response>'", name="worker")
    assert workshop.ralph("run", "-p", "x", "--agent", "worker").returncode == 0
    trees = workshop.home / ".local/state/ralph/trees"
    assert "small files of snapshots" in workshop.call("clean", "--dry-run")
    assert len([*trees.rglob("store/??/*")]) > 600
    assert workshop.ralph("clean").stdout.endswith("Packed.\n")
    assert len([*trees.rglob("store/??/*")]) < 10
    assert workshop.call("clean") == "Nothing to clean up.\n"
    assert "file1\n" in workshop.call("undo", "--dry-run")  # which reads the pack
