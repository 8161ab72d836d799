"""`ralph show` as a user meets it: real runs, real git."""

import json
import re
import shlex
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.pipeline import PipelineFixture
from support.processes import wait_until
from support.stories import REJECT_FIELDS, RESUBMIT_FIELDS, SUBMIT_FIELDS, StoryFixture, make_approval, make_story
from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

CLAIM = make_result_command("<response>DONE</response>", cost=0.25)
NIGHT = (  # red, crashed, green
    make_result_command("I <response>DONE</response> it", cost=0.5),
    "echo one > work; echo 'oh no' >&2; exit 3",
    f"echo two > work; touch done; {CLAIM}",
)


@pytest.fixture
def night(workshop: ProjectFixture) -> ProjectFixture:
    """Three iterations: the first is red, the second crashes, the third is what was wanted."""
    workshop.settings(guardrails=[{"command": "test -f done"}], scm={"command": "git", "tasks": ["commit"]})
    (workshop.repo / ".gitignore").write_text(".ralph/\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    workshop.agent(*NIGHT, "echo Write down the work")
    assert workshop.ralph("run", "-p", "x", "--max-time", "8h").returncode == 0
    return workshop


def shown(workshop: ProjectFixture, *words: str, **variables: str) -> str:
    done = workshop.ralph("show", *words, timeout=60, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def record(workshop: ProjectFixture, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shown(workshop, "--json", *words))
    return found


def rows(page: str) -> list[list[str]]:
    """The words of every agent's row of the table."""
    return [line.split() for line in page.splitlines() if re.match(r" *[1-9]\d*  \d\d:\d\d ", line)]


def test_what_a_check_printed_is_shown_from_the_run_that_ran_it(workshop: ProjectFixture) -> None:  # issue 12
    workshop.settings(guardrails=[{"command": "cat why; false"}])
    names = []
    for words in ("first", "second"):
        (workshop.repo / "why").write_text(words)
        assert workshop.ralph("run", "-p", "x", "-m", "1").returncode == 1
        names.append(workshop.status()["id"])
    assert (workshop.repo / ".ralph/guardrail_001_cat_why_false.log").read_text() == "second"
    for name, words in zip(names, ("first", "second"), strict=True):
        (check,) = record(workshop, name)["iterations"][0]["checks"]
        assert Path(check["log"]).read_text() == words
        assert Path(check["log"]).parent.name == name
        short = check["log"].removeprefix(f"{workshop.repo}/")
        assert short in shown(workshop, name)
        assert f": {short}" in workshop.ralph("logs", name).stdout


def test_what_a_verification_printed_is_kept_for_its_run(pipeline: PipelineFixture) -> None:  # issue 12
    pipeline.task("TASK-001", "--coder-max-iterations", "2")
    assert pipeline.execute("TASK-001").returncode == 0
    page = record(pipeline.workshop)
    logs = [check["log"] for each in page["iterations"] for check in each["checks"]]
    kept = [Path(log).name for log in logs if log]
    assert kept[0] == "verification_001_coder_grep_q_done_TASK_001_txt.log"
    assert all(Path(log).exists() for log in logs if log)


def test_a_night_at_a_glance(night: ProjectFixture) -> None:
    page = shown(night)
    run = night.status()
    head = page.splitlines()
    assert head[0] == f"run {run['id']} · claude · up to 10 iterations, 8h"
    assert head[1] == "  prompt x"
    assert head[2] == f"  folder {night.repo}"
    assert re.fullmatch(r"  began  \d{4}-\d\d-\d\d \d\d:\d\d, took \d+s", head[3])
    assert head[4] == "  cost   $0.75, tokens 6 in / 18 out"
    assert shown(night, "--markdown").startswith("## ")
    assert (record(night)["title"], night.status()["title"]) == ("x", "x")
    everywhere = night.ralph("status", "--all").stdout.splitlines()
    assert everywhere[0].endswith("repo")
    assert everywhere[1] == f"  ✓ {run['id']}  completed  x"
    assert head[5].startswith("✓ Completed: agent claimed <response>DONE</response>, 1 guardrail passed")
    assert [(row[0], row[2], row[4]) for row in rows(page)] == [
        ("1", "finished", "$0.50"),
        ("2", "crashed", "—"),
        ("3", "finished", "$0.25"),
    ]
    assert "\n   oh no\n" in page or "exit code 3" in page
    assert re.search(
        r"   ✗ test -f done, exit code 1 \(\d\.\ds\)\n     └ \.git/ralph/runs/\S+/guardrail_001_test_f_done\.log\n",
        page,
    )
    assert re.search(r"   ✓ test -f done, exit code 0 \(\d\.\ds\)\n   ✓ Committed: Write down the work \(commit", page)


def test_everything_as_json(night: ProjectFixture) -> None:
    found = record(night)
    assert {"id", "kind", "agent", "folder", "task", "started_at", "ended_at", "limits"} <= set(found)
    assert (found["kind"], found["outcome"], found["exit_code"], found["cost_usd"]) == ("run", "completed", 0, 0.75)
    stuck = {"tell": 2, "escalate": 3, "stop": 5, "agent": ""}
    chain = {"others": [], "on_limit": "wait", "cool_down": 1800.0}
    limits = {"iterations": 10, "seconds": 28800.0, "cost_usd": None, "stuck": stuck, "chain": chain}
    limits |= {"day_usd": None, "reserve_usd": 0.0}
    assert found["limits"] == limits
    assert found["usage"] == {"input_tokens": 6, "output_tokens": 18}
    first, second, third = found["iterations"]
    assert (first["iteration"], first["outcome"], first["cost_usd"], first["exit_code"]) == (1, "finished", 0.5, 0)
    [check] = first["checks"]
    assert (check["name"], check["passed"], check["exit_code"]) == ("test -f done", False, 1)
    assert (night.repo / check["log"]).exists()
    assert (second["outcome"], second["exit_code"], second["cost_usd"]) == ("crashed", 3, None)
    assert third["saved"]["message"] == "Write down the work"
    assert third["snapshot"] == found["snapshots"][-1]["commit"]
    assert found["snapshots"][-1]["title"] == "after iteration 3"
    assert found["unread"] == 0


def follow(workshop: ProjectFixture, page: str, command: str) -> subprocess.CompletedProcess[str]:
    """Type what the page says."""
    line = re.search(rf"\n  (ralph {command} .+)\n", page)
    assert line
    return workshop.ralph(*shlex.split(line[1])[1:])


def test_what_was_kept_can_be_seen_and_had_back(night: ProjectFixture) -> None:
    page = shown(night)
    assert "To see what iteration 3 changed:\n  ralph diff" in page
    changes = follow(night, page, "diff").stdout
    assert "-one" in changes
    assert "+two" in changes
    kept = {row[0]: row[-1] for row in rows(page)}
    night.git("rm", "-q", "work")
    night.git("commit", "-qm", "Lose it")
    (night.repo / "done").write_text("overwritten")
    back = follow(night, page, "restore")
    assert (back.returncode, back.stderr) == (0, "")
    assert (night.repo / "work").read_text() == "two\n"
    assert (night.repo / "done").read_text() == ""
    assert follow(night, f"\n  {back.stdout.partition('To undo: ')[2]}", "restore").returncode == 0
    assert (night.repo / "done").read_text() == "overwritten"
    assert night.ralph("restore", kept["2"]).returncode == 0
    assert (night.repo / "work").read_text() == "one\n"


def test_from_elsewhere_the_way_back_leads_to_the_runs_own_tree(night: ProjectFixture) -> None:
    night.git("worktree", "add", "-q", "../beside")
    night.repo = night.repo.parent / "beside"
    back = re.search(r"\n  cd (\S+) && ralph (restore \w+)\n", shown(night))
    assert back
    assert back[1] == str(night.repo.parent / "repo")
    night.repo = Path(back[1])
    (night.repo / "work").write_text("spoiled")
    assert night.ralph(*back[2].split()).returncode == 0
    assert (night.repo / "work").read_text() == "two\n"


def test_without_snapshots_nothing_is_said_of_them(night: ProjectFixture) -> None:
    (folder,) = (night.home / ".local/state/ralph/trees").iterdir()
    (folder / "refs/ralph" / night.status()["id"]).unlink()
    page = shown(night)
    assert "ralph restore" not in page
    assert "snapshot" not in page.replace(str(night.repo), "")
    assert record(night)["snapshots"] == []


def test_unknown_and_ambiguous_runs_are_told_as_by_logs(workshop: ProjectFixture) -> None:
    def told(*words: str) -> tuple[int, str]:
        done = workshop.ralph(*words)
        assert done.stdout == ""
        return done.returncode, done.stderr

    assert told("show") == told("logs") == (2, "ralph: there is no run yet\n  → see `ralph status`\n")
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert workshop.ralph("run", "-p", "x").returncode == 0
    assert told("show", "2") == told("logs", "2")  # both begin so
    code, error = told("show", "nope", "--json")
    assert (code, json.loads(error)["code"]) == (2, "no_such_run")


def test_a_run_by_the_beginning_of_its_id(workshop: ProjectFixture) -> None:
    workshop.ralph("run", "-p", "x")
    first = workshop.status()["id"]
    workshop.ralph("run", "-p", "x")
    assert record(workshop)["id"] == workshop.status()["id"] != first
    assert record(workshop, first)["id"] == first


def test_a_run_that_goes_on_is_shown_and_not_disturbed(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"command": "false"}])
    workshop.agent(make_result_command("no"), f"touch up; while [ ! -f go ]; do sleep 0.05; done; {CLAIM}")
    with workshop.start("run", "-p", "x", "-m", "2") as run:
        assert wait_until((workshop.repo / "up").exists)
        page, found = shown(workshop), record(workshop)
        (workshop.repo / "go").touch()
        assert run.wait(timeout=20) == 1
    assert "so far" in page
    assert "↻ Running: agent at work\n" in page
    assert [row[2:4] for row in rows(page)] == [["finished", "0s"], ["at", "work"]]
    assert (found["active"], found["doing"], found["outcome"], found["ended_at"]) == (True, "run_agent", None, None)
    assert found["iterations"][1]["seconds"] > 0
    assert "✗ Exhausted: " in shown(workshop)


def test_an_interrupted_run_and_its_next_life(workshop: ProjectFixture) -> None:
    workshop.agent(f"touch up; while [ ! -f go ]; do sleep 0.05; done; {CLAIM}", CLAIM)
    with workshop.start("run", "-p", "x") as run:
        assert wait_until((workshop.repo / "up").exists)
        assert workshop.ralph("cancel").returncode == 0
        assert run.wait(timeout=20) == 130
    assert "✗ Interrupted: cancelled with `ralph cancel`\n" in shown(workshop)
    assert workshop.ralph("run", "--resume").returncode == 0
    page = shown(workshop)
    assert [row[:1] + row[2:3] for row in rows(page)] == [["1", "interrupted"], ["1", "finished"]]
    assert [len(row[-1]) for row in rows(page)] == [10, 1]  # what the cut-off agent left; the next one left nothing new
    # Two lives within one second: git cannot tell which of them found a snapshot.
    assert re.search(r"\n   cancelled with `ralph cancel`\n   ▸ Resumed at \d\d:\d\d(, kept \w{10})?\n", page)


def test_a_wait_for_the_service_is_told(workshop: ProjectFixture) -> None:
    workshop.settings(retry={"delaySeconds": 0.1})
    limit = make_result_command("API Error: 529 Overloaded", is_error=True, api_error_status=529)
    workshop.agent(limit, CLAIM)
    assert workshop.ralph("run", "-p", "x").returncode == 0
    page = shown(workshop)
    assert [row[:1] + row[2:3] for row in rows(page)] == [["1", "overloaded"], ["1", "finished"]]
    assert "\n   ▸ Waited 0s\n" in page  # why is told in the line above it
    [waited] = record(workshop)["iterations"][0]["remarks"]
    assert (waited["kind"], bool(waited["text"])) == ("waited", True)


def test_the_parts_and_reviews_of_stories(workshop: ProjectFixture) -> None:
    stories = StoryFixture(workshop)
    stories.plan(make_story("US-001"))
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - Title of US-001"),
        ("US-001", REJECT_FIELDS, "review: [US-001] - changes requested"),
        ("US-001", RESUBMIT_FIELDS, "fix: [US-001] - address review feedback"),
        ("US-001", make_approval(2), "review: [US-001] - approved"),
    )
    assert workshop.ralph("story", "run").returncode == 0
    page = shown(workshop)
    assert page.startswith("story ")
    parts = [(row[2], row[3], row[4]) for row in rows(page)]
    assert parts == [(role, "US-001", "finished") for role in ("implement", "review", "review-fix", "review")]
    assert "\n   ▸ US-001 needs review\n" in page
    assert "\n   ▸ US-001 changes requested, 1 review: handle zero\n" in page
    assert "\n   ✓ US-001 approved, 2 reviews\n" in page


def test_the_stages_of_a_task_and_how_it_landed(pipeline: PipelineFixture) -> None:
    pipeline.task("TASK-001")
    assert pipeline.execute().returncode == 0
    page = shown(pipeline.workshop)
    assert "\n  task   TASK-001  Make TASK-001\n" in page
    assert [" ".join(row[2:4]) for row in rows(page)] == [
        *("coder 1/15", "coder 2/15"),
        *(f"{role} 1/{most}" for role, most in _limits(pipeline).items()),
    ]
    assert re.search(r"\n   ✗ verification: `.*`: Command exited with 1, expected 0 \(\d\.\ds\)\n", page)
    assert re.search(r"\n   ✓ verification: .* \(\d\.\ds\)\n", page)
    landed = re.search(r"\n   ✓ Merged as (\w+)\n", page)
    assert landed
    assert pipeline.workshop.git("rev-parse", "main").startswith(landed[1])
    assert follow(pipeline.workshop, page, "restore").returncode == 0  # not over the files the user has before him
    assert (pipeline.workshop.repo.parent / str(record(pipeline.workshop)["id"]) / "README").exists()


def _limits(pipeline: PipelineFixture) -> dict[str, int]:
    limits = pipeline.shown("TASK-001")["limits"]
    return {role: limits[role]["iterations"] for role in ("reviewer", "tester", "qa")}


def test_a_task_that_was_sent_back(pipeline: PipelineFixture) -> None:
    pipeline.honest()
    pipeline.task("TASK-002")
    assert pipeline.execute().returncode == 0
    assert "\n   ! Sent back: Say it louder.\n" in shown(pipeline.workshop)


def test_the_marks_of_a_supervised_task(workshop: ProjectFixture) -> None:
    task = workshop.repo / "root" / "proj" / "task-1"
    task.mkdir(parents=True)
    (task / "TASK.md").write_text("Do the thing.\n")
    script = "[ -f $TASK_FOLDER/n ] && touch $TASK_FOLDER/DONE; touch $TASK_FOLDER/n"
    words = ("supervise", str(task), "--restart-delay", "0.05", "--", "sh", "-c", script)
    assert workshop.ralph(*words).returncode == 0
    page = shown(workshop)
    assert page.startswith("supervise ")
    assert re.findall(r"\n   ([✓✗] DONE) ", page) == ["✗ DONE", "✓ DONE"]
    assert "restart" not in page


def test_rows_nobody_can_read_are_counted(night: ProjectFixture) -> None:
    database = sqlite3.connect(night.repo / ".git/ralph/ralph.db", isolation_level=None)
    database.execute("UPDATE transition SET seen = x'00ff' WHERE seq = 3")
    page = shown(night)
    assert "\n! 1 row of its journal cannot be read and is left out\n" in page
    found = record(night)
    assert found["unread"] == 1
    assert [each["outcome"] for each in found["iterations"]] == ["finished", "crashed", "finished"]


def test_nothing_but_text_reaches_the_terminal(workshop: ProjectFixture) -> None:
    evil = "\x1b]0;title\x07\x1b[2J\u202eevil"
    workshop.settings(guardrails=[{"command": f"printf '{evil}'\nfalse"}])
    workshop.agent(f"printf '%s' '{evil}' >&2; exit 1")
    workshop.ralph("run", "-p", "x", "-m", "1")
    for page in (shown(workshop), shown(workshop, "--color", "never")):
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", page)
        assert "\n   ✗ printf 'evil' false, exit code 1 (" in page
    colored = shown(workshop, "--color", "always")
    assert {*re.findall("\x1b.[^m]*m", colored)} <= {f"\x1b[{code}m" for code in (0, 1, 2, 31, 32, 33, 36)}
    assert re.sub("\x1b\\[\\d+m", "", colored) == shown(workshop)


@pytest.mark.parametrize(
    ("words", "variables", "colored"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color_is_as_everywhere(
    workshop: ProjectFixture, words: tuple[str, ...], variables: dict[str, str], colored: bool
) -> None:
    workshop.ralph("run", "-p", "x")
    assert ("\x1b[" in shown(workshop, *words, **variables)) == colored


def test_signs_are_those_the_terminal_has(night: ProjectFixture) -> None:
    page = shown(night, "--glyphs", "ascii")
    assert page.isascii()
    assert "[ERR] test -f done, exit code 1" in page


@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits_the_terminal(workshop: ProjectFixture, columns: int) -> None:
    words = " ".join(["word"] * 60)
    workshop.settings(guardrails=[{"command": f"echo {words}"}], scm={"command": "git", "tasks": ["commit"]})
    workshop.git("commit", "-q", "--allow-empty", "-m", "Start")
    workshop.agent(f"touch new; {CLAIM}", make_result_command(words))
    assert workshop.ralph("run", "-p", "x").returncode == 0
    terminal = PseudoTerminal([*RALPH_ARGV, "show"], workshop.repo, workshop.environment, (columns, 60))
    try:
        assert terminal.ended() == 0
        assert terminal.sees("ralph restore")
    finally:
        terminal.close()
    page = re.sub("\x1b\\[\\d+m", "", terminal.seen.decode()).replace("\r", "")
    own = [line for line in page.splitlines() if "folder" not in line]
    assert max(map(len, own)) <= columns
    assert max(map(len, own)) > columns - 10  # and uses what there is
    assert b"\x1b[32m" in terminal.seen


# -- completion in a shell ------------------------------------------------------------------------
def offered(workshop: ProjectFixture, line: str) -> list[str]:
    done = workshop.ralph(_RALPH_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(line.count(" ")))
    assert done.stderr == ""
    return [each.removeprefix("plain,") for each in done.stdout.split()]


def test_the_shell_offers_runs_by_name(workshop: ProjectFixture) -> None:
    assert offered(workshop, "ralph show ") == []
    ids: list[str] = []
    for _ in range(2):
        workshop.ralph("run", "-p", "x")
        ids.insert(0, workshop.status()["id"])
    for command in ("show", "logs", "run --resume"):
        assert offered(workshop, f"ralph {command} ") == ids
        assert offered(workshop, f"ralph {command} {ids[1]}") == [ids[1]]
    assert offered(workshop, "ralph cancel ") == []  # none goes on
    workshop.agent("touch up; while [ ! -f go ]; do sleep 0.05; done")
    with workshop.start("run", "-p", "x", "-m", "1") as run:
        assert wait_until((workshop.repo / "up").exists)
        assert offered(workshop, "ralph cancel ") == [workshop.status()["id"]]
        assert offered(workshop, "ralph run --resume ") == ids
        (workshop.repo / "go").touch()
        run.wait(timeout=20)


def test_a_spoiled_database_is_no_word_in_the_users_line(workshop: ProjectFixture) -> None:
    (workshop.repo / ".git/ralph").mkdir()
    (workshop.repo / ".git/ralph/ralph.db").write_text("this is no database, whatever its name says" * 99)
    assert offered(workshop, "ralph show ") == []
    assert workshop.ralph("show").returncode == 2
