"""`ralph clean`: old runs go, the rest stays."""

import os
import sqlite3
import time

from support.workshop import ProjectFixture


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
    assert workshop.ralph("run", "-p", "x").returncode == 0
    age(workshop, old, 40)
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
