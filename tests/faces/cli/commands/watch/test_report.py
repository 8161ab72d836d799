"""`ralph report` as a user meets it: real runs, real git."""

import json

from msgspec.structs import replace

from ralph.faces.cli.live.afterword import RunEndKeeper
from ralph.model.events import RunEnded
from support.pipeline import PipelineFixture
from support.processes import wait_until
from support.workshop import ProjectFixture, make_result_command

WORKING = make_result_command("still working", cost=0.25)
DONE = make_result_command("<response>DONE</response>", cost=0.5)


def report(workshop: ProjectFixture, *words: str) -> str:
    done = workshop.ralph("report", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_night_is_summed_up_with_what_waits_and_the_command_to_type(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"command": "test -f work"}])
    workshop.agent(WORKING, f"touch work; {DONE}")
    workshop.ralph("run", "-p", "Write the work\nin two lines")
    workshop.agent(WORKING)
    workshop.ralph("run", "-p", "Never ends", "-m", "1")
    last = workshop.status()["id"]
    short = report(workshop, "--short").splitlines()
    assert short[0] == "2 runs · 1 completed · 1 exhausted · 1 waiting for you"
    assert "$1.00 · 9 in / 27 out" in short[1]
    assert "Write the work · 2 iterations" in short[3]
    assert short[4].startswith("    verified: test -f work, on tree ")
    assert f"✗ run {last} Never ends · exhausted · 1 iteration" in short[5]
    assert short[-1] == f"  → ralph run --resume {last} -m 2"
    whole = report(workshop, "--since", "1h")
    assert "Checks that failed\n  test -f work" in whole
    assert "claude's default  $1.00  3 calls" in whole
    told = json.loads(report(workshop, "--json"))  # the last command only
    assert [run["receipt"]["id"] for run in told["runs"]] == [last]
    assert told["runs"][0]["next_step"]["command"] == f"ralph run --resume {last} -m 2"
    assert "Wrote " in report(workshop, "--html", str(workshop.home / "r.html"))
    assert (workshop.home / "r.html").read_text().startswith("<!doctype html>")
    assert "## ✓ " in report(workshop, "--since", "1h", "--markdown")
    ended = RunEnded(run=last, outcome="exhausted", why="", exit_code=1, iterations=1, seconds=601)
    for seconds, count in ((601, 1), (599, 0)):  # who was away is told what is left to do
        keeper = RunEndKeeper()
        keeper(1.0, 1, [replace(ended, seconds=seconds)])
        assert len(keeper.describe(str(workshop.repo))) == count
    for words, what in [
        (("--html", str(workshop.home / "no" / "r.html")), "cannot write"),
        (("--markdown", "--json"), "choose one of"),
        (("nothing",), "no run matches 'nothing'"),
        ((last, "--since", "1h"), "not both"),
    ]:
        done = workshop.ralph("report", *words)
        assert (done.returncode, what in done.stderr) == (2, True), done.stderr


def test_an_execute_is_one_report_with_all_its_tasks(pipeline: PipelineFixture) -> None:
    pipeline.task("TASK-001")
    pipeline.task("TASK-002", "--depends-on", "TASK-001")
    pipeline.execute("-j", "2")
    workshop = pipeline.workshop
    pipeline.workshop.agent(DONE)
    whole = report(workshop)
    assert whole.startswith("2 runs · 2 completed\n")
    assert "✓ TASK-001 Make TASK-001" in whole
    assert "verified: coder: grep -q done TASK-001.txt, failed before the work; reviewer: semantic, judged by" in whole
    assert "merged as " in whole
    assert "TASK-002 reviewer: sent back: Say it louder." in whole
    assert "Waiting for you" not in whole
    told = json.loads(report(workshop, "--json"))
    assert report(workshop, told["runs"][0]["receipt"]["id"]) == whole


def test_a_repository_without_runs_a_run_that_goes_on_and_a_lost_database(workshop: ProjectFixture) -> None:
    assert report(workshop, "--short").startswith("No run since ")
    missing = workshop.ralph("report")
    assert (missing.returncode, "there is no run yet" in missing.stderr) == (2, True)
    assert not (workshop.repo / ".git" / "ralph").exists()  # looking creates nothing
    workshop.agent("touch $HOME/began; sleep 60")
    with workshop.start("run", "-p", "x"):
        assert wait_until((workshop.home / "began").exists)
        assert "1 run · 1 running" in report(workshop, "--short")
        assert "at work" in report(workshop, "--html", "-")
        workshop.ralph("cancel")
    for path in (workshop.repo / ".git" / "ralph").glob("ralph.db*"):
        path.unlink()
    database = workshop.repo / ".git" / "ralph" / "ralph.db"
    for is_empty in (False, True):
        if is_empty:
            database.touch()
        for words in ((), ("--short",)):
            lost = workshop.ralph("report", *words)
            assert (lost.returncode, "was deleted or emptied" in lost.stderr) == (2, True)
