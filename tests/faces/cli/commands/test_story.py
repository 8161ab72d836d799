"""`ralph story` as a user meets it: real git, a scripted agent, real files."""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from support.processes import wait_until
from support.sandboxes import refuse_sandboxes
from support.stories import (
    CHEAT_FIELDS,
    REJECT_FIELDS,
    RESUBMIT_FIELDS,
    SUBMIT_FIELDS,
    StoryFixture,
    build_work_command,
    make_approval,
    make_story,
    write_plan,
)
from support.workshop import ProjectFixture, make_result_command


@pytest.fixture
def stories(workshop: ProjectFixture) -> StoryFixture:
    return StoryFixture(workshop)


def test_init_lays_out_the_files_once(workshop: ProjectFixture) -> None:  # 004-02, 004-28
    done = workshop.ralph("story", "init", "--name", "my-feature")
    assert done.returncode == 0
    names = sorted(path.name for path in (workshop.repo / "ralph").iterdir())
    assert names == ["prd.md", "progress.txt", "prompt.md", "tasks.json"]
    assert json.loads((workshop.repo / "ralph/tasks.json").read_text())["branchName"] == "ralph/my-feature"
    progress = (workshop.repo / "ralph/progress.txt").read_text()
    assert re.search(r"^Started: \d{4}-\d\d-\d\d$", progress, re.MULTILINE)
    assert "{{" not in progress
    assert (workshop.repo / ".gitignore").read_text().splitlines().count(".ralph-active") == 1
    assert workshop.ralph("story", "init", "--ralph-dir", "other", "--name", "two words").returncode == 0
    assert json.loads((workshop.repo / "other/tasks.json").read_text())["branchName"] == "ralph/two-words"
    again = workshop.ralph("story", "init")
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert workshop.ralph("story", "init", "--force").returncode == 0
    assert (workshop.repo / ".gitignore").read_text().splitlines().count(".ralph-active") == 1


def test_the_loop_works_on_the_branch_that_init_announced(workshop: ProjectFixture) -> None:  # C34
    workshop.git("commit", "-q", "--allow-empty", "-m", "Begin")
    done = workshop.ralph("story", "init", "--name", "demo")
    assert "Created branch ralph/demo from main" in done.stdout
    write_plan(workshop.repo, make_story("US-001"))
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Plan")
    again = workshop.ralph("story", "init", "--name", "other", "--ralph-dir", "ralph")
    assert (again.returncode, "--force" in again.stderr) == (2, True)
    workshop.git("checkout", "-q", "main")
    (workshop.repo / "ralph").mkdir()
    write_plan(workshop.repo, make_story("US-001"))
    refused = workshop.ralph("story", "run", "-n", "1", "--agent", "claude")
    assert refused.returncode == 2
    assert "git switch ralph/demo" in refused.stderr
    assert workshop.calls == 0
    here = workshop.ralph("story", "run", "-n", "1", "--agent", "claude", "--branch", "ralph/new")
    assert "Working on branch ralph/new, created from main" in here.stdout
    assert workshop.git("branch", "--show-current").strip() == "ralph/new"


def test_a_name_is_not_lost_on_a_list_that_is_there(workshop: ProjectFixture) -> None:  # C34
    assert workshop.ralph("story", "init", "--name", "one").returncode == 0
    (workshop.repo / "ralph/prompt.md").unlink()
    other = workshop.ralph("story", "init", "--name", "two")
    assert (other.returncode, "ralph/one" in other.stderr) == (2, True)
    assert not (workshop.repo / "ralph/prompt.md").exists()
    assert workshop.ralph("story", "init", "--name", "one").returncode == 0


def test_two_stories_with_one_requested_change(stories: StoryFixture) -> None:  # 004-31
    stories.plan(make_story("US-001"), make_story("US-002", dependsOn=["US-001"]))
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - Title of US-001"),
        ("US-001", REJECT_FIELDS, "review: [US-001] - changes requested"),
        ("US-001", RESUBMIT_FIELDS, "fix: [US-001] - address review feedback"),
        ("US-001", make_approval(2), "review: [US-001] - approved"),
        ("US-002", SUBMIT_FIELDS, "feat: [US-002] - Title of US-002"),
        ("US-002", make_approval(1), "review: [US-002] - approved"),
    )
    done = stories.workshop.ralph("story", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [s["reviewCount"] for s in stories.stories] == [2, 1]
    assert "About 6 iterations for 2 open stories (estimate)" in done.stdout
    assert "every story is approved" in done.stdout
    assert re.search(r"US-001 +Title of US-001 +approved +2 +4 +\S+ +\$0\.20", done.stdout)
    assert not (stories.repo / ".ralph-active").exists()
    report = json.loads(stories.workshop.ralph("story", "report", "--json").stdout)
    assert [line["iterations"] for line in report["stories"]] == [4, 2]
    whole = stories.workshop.ralph("report").stdout
    assert "US-001 review: changes requested: handle zero" in whole
    assert (whole.count("US-001 review"), whole.count("US-002 review: approved")) == (2, 1)
    page = stories.workshop.ralph("story", "report", "--html", "report.html")
    assert page.returncode == 0
    text = (stories.repo / "report.html").read_text()
    assert "US-002" in text
    assert "http" not in text
    bars = re.findall(r'<rect width="(\d+)"', text)
    assert (bars[:2], bars[4:6]) == (["60", "60"], ["30", "30"])  # reviews and iterations of each


def test_an_agent_that_passes_itself_is_undone_and_told(stories: StoryFixture) -> None:  # 004-17, C18
    stories.plan(make_story("US-001"))
    stories.script(
        ("US-001", CHEAT_FIELDS, "feat: [US-001] - mine"),
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - again"),
        ("US-001", make_approval(1), "review: [US-001] - approved"),
    )
    done = stories.workshop.ralph("story", "run", "-V")
    assert done.returncode == 0
    assert (stories.repo / "work.txt").read_text().count("US-001") == 2  # the code stays
    folder = Path(stories.workshop.ralph("logs", "--path").stdout.strip())
    assert folder.is_dir()
    assert stories.stories[0]["reviewCount"] == 1


def test_without_review(stories: StoryFixture) -> None:  # 004-26
    stories.plan(make_story("US-001"))
    stories.script(("US-001", {"passes": True, "notes": "done"}, "feat: [US-001] - it"))
    assert stories.workshop.ralph("story", "run", "--skip-review").returncode == 0
    assert (stories.stories[0]["reviewStatus"], stories.stories[0]["reviewCount"]) == (None, 0)


def test_at_a_cap_of_one_the_first_review_approves(stories: StoryFixture) -> None:  # 004-25
    stories.plan(make_story("US-001"))
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"),
        ("US-001", REJECT_FIELDS, "review: [US-001] - changes requested"),
    )
    assert stories.workshop.ralph("story", "run", "--review-cap", "1").returncode == 0
    assert stories.stories[0]["reviewFeedback"] == "[AUTO-APPROVED AT CAP] handle zero"
    assert "approved at cap" in stories.workshop.ralph("story", "report").stdout


def test_the_marker_tells_hooks_what_is_going_on(stories: StoryFixture) -> None:  # 004-06
    stories.plan(make_story("US-001"))
    keep = "cp .ralph-active marker.json"
    stories.play([{"bash": keep}, {"say": "x"}])
    stories.workshop.ralph("story", "run", "-n", "1", "--review-cap", "3")
    marker = json.loads((stories.repo / "marker.json").read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", marker["timestamp"])
    assert (marker["max_iterations"], marker["reviewCap"], marker["skipReview"]) == (1, 3, False)
    assert (marker["mode"], marker["iterationMode"]) == ("direct", "implement")
    assert marker["preIterationSnapshot"] == {"US-001": {"passes": False, "reviewStatus": None, "reviewCount": 0}}


def test_the_prompt_has_its_variables_and_the_runners_words(stories: StoryFixture) -> None:  # 004-05, 004-21
    stories.plan(make_story("US-001"))
    stories.workshop.environment.pop("RALPH_AGENT_COMMAND", None)
    stories.workshop.agent("echo dirt > dirt.txt; echo working")
    stories.workshop.ralph("story", "run", "-n", "2", "--agent", "claude")
    first, second = stories.workshop.prompt(1), stories.workshop.prompt(2)
    assert "iteration 1 of 2" in first
    assert "{{" not in first
    assert "Mode: implement. Story: US-001 - Title of US-001" in first
    assert "left uncommitted changes: dirt.txt" in second
    flags = stories.workshop.argv(1)
    assert "--dangerously-skip-permissions" in flags
    assert flags[flags.index("--plugin-dir") + 1].endswith("plugins/ralph")


def test_the_model_is_handed_on(stories: StoryFixture) -> None:  # 004-03, C7
    stories.plan(make_story("US-001"))
    stories.workshop.agent("echo x")
    stories.workshop.ralph("story", "run", "-n", "1", "-m", "opus", "--agent", "claude")
    flags = stories.workshop.argv(1)
    assert flags[flags.index("--model") + 1] == "opus"


@pytest.mark.parametrize(
    ("listed", "says"),
    [
        ([], "no user stories"),
        (
            [make_story("US-001", dependsOn=["US-002"]), make_story("US-002", dependsOn=["US-001"])],
            "wait for each other",
        ),
        ([make_story("US-001", dependsOn=["US-009"])], "US-009"),
    ],
)
def test_a_list_that_cannot_work_exits_2(stories: StoryFixture, listed: list[dict[str, Any]], says: str) -> None:
    stories.plan(*listed)
    stories.script(("US-001", {}, ""))
    done = stories.workshop.ralph("story", "run")
    assert done.returncode == 2
    assert says in done.stdout
    checked = stories.workshop.ralph("story", "check")
    assert checked.returncode == 2
    assert says in checked.stdout


def test_a_report_needs_a_list_and_a_place(stories: StoryFixture) -> None:  # 004-32
    stories.plan(make_story("US-001"))
    nowhere = stories.workshop.ralph("story", "report", "--html", "no/where.html")
    assert (nowhere.returncode, "cannot write no/where.html" in nowhere.stderr) == (2, True)
    stories.plan(make_story("US-001", reviewCount=-1))
    broken = stories.workshop.ralph("story", "report")
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "'reviewCount' must be a non-negative integer" in broken.stderr
    stories.script(("US-001", {}, ""))
    run = stories.workshop.ralph("story", "run")
    assert (run.returncode, "iterations  time" in run.stdout) == (2, False)


def test_max_iterations_exit_1_and_a_sandbox_that_is_not_there_2(stories: StoryFixture) -> None:  # 004-03, 004-08
    stories.plan(make_story("US-001"))
    stories.script(("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"))
    assert stories.workshop.ralph("story", "run", "-n", "1").returncode == 1
    refuse_sandboxes(stories.workshop)
    done = stories.workshop.ralph("story", "run", "--sandbox")
    assert done.returncode == 2
    assert "--no-sandbox" in done.stderr


def test_an_agent_gets_this_machine_only_where_somebody_said_yes(stories: StoryFixture) -> None:
    stories.plan(make_story("US-001"))
    refuse_sandboxes(stories.workshop)
    del stories.workshop.environment["RALPH_SANDBOX_KIND"]
    refused = stories.workshop.ralph("story", "run", "-n", "1")
    assert refused.returncode == 2
    assert "bubblewrap: bwrap: No permissions" in refused.stderr
    assert "--no-sandbox" in refused.stderr
    assert not (stories.repo / ".git/ralph/ralph.db").exists()
    allowed = stories.workshop.ralph("story", "run", "-n", "1", "--no-sandbox")
    assert (allowed.returncode, "no sandbox" in allowed.stdout) == (1, True)


def test_a_second_start_exits_2(stories: StoryFixture) -> None:  # 004-32, C23
    stories.plan(make_story("US-001"))
    stories.play([{"bash": "touch up; sleep 60"}])
    with stories.workshop.start("story", "run") as run:
        assert wait_until((stories.repo / "up").exists)
        second = stories.workshop.ralph("story", "run")
        assert second.returncode == 2
        assert f"pid {run.pid}" in second.stderr
        anew = stories.workshop.ralph("story", "init", "--force")
        assert (anew.returncode, stories.stories[0]["title"]) == (2, "Title of US-001")
        assert (stories.repo / ".ralph-active").exists()
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert not (stories.repo / ".ralph-active").exists()


def test_what_a_killed_loop_left_is_judged_by_the_next(stories: StoryFixture) -> None:  # C18
    stories.plan(make_story("US-001"))
    cheats = build_work_command(stories.workshop.home, "US-001", CHEAT_FIELDS, "feat: [US-001] - mine")
    stories.play([{"bash": cheats}, {"bash": "touch up; sleep 60"}])
    with stories.workshop.start("story", "run") as run:
        assert wait_until((stories.repo / "up").exists)
        run.kill()
        run.communicate()
    assert stories.stories[0]["passes"] is True
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"), ("US-001", make_approval(1), "review: [US-001] - approved")
    )
    done = stories.workshop.ralph("story", "run")
    assert done.returncode == 0, done.stdout
    assert stories.stories[0]["reviewCount"] == 1


def test_red_verify_commands_keep_it_from_being_done(stories: StoryFixture) -> None:
    stories.plan(
        make_story("US-001", passes=True, reviewStatus="approved", reviewCount=1, notes="n"), verifyCommands=["false"]
    )
    stories.script(("US-001", {}, ""))
    done = stories.workshop.ralph("story", "run")
    assert done.returncode == 1
    assert "not every verifyCommand passes" in done.stdout


def test_archive_leaves_a_clean_slate_and_a_commit(stories: StoryFixture) -> None:  # 004-29
    first = make_story("US-001", title="a | b", passes=True, reviewStatus="approved", reviewCount=1, notes="n")
    stories.plan(first, make_story("US-002"))
    done = stories.workshop.ralph("story", "archive", "--label", "first try")
    assert done.returncode == 0, done.stderr
    (folder,) = (stories.repo / "ralph-archive").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-first-try", folder.name)
    assert sorted(p.name for p in folder.iterdir()) == ["prd.md", "progress.txt", "summary.md", "tasks.json"]
    summary = (folder / "summary.md").read_text()
    assert "Stories completed: 1 of 2" in summary
    assert r"| US-001 | a \| b | yes | 1 |" in summary
    assert stories.stories[0]["title"] == ""
    assert "archive ralph loop" in stories.workshop.git("log", "-1", "--format=%s")
    assert stories.workshop.git("status", "--porcelain") == ""


# -- what the runner does about what agents leave -------------------------------------------------
def cut_off(stories: StoryFixture) -> None:
    """A loop whose agent cheats, and which someone ends gently before anybody judged that."""
    cheats = build_work_command(stories.workshop.home, "US-001", CHEAT_FIELDS, "feat: [US-001] - mine")
    stories.play([{"bash": cheats}, {"bash": "touch up; sleep 1"}, {"say": "Ended."}])
    with stories.workshop.start("story", "run") as run:
        assert wait_until((stories.repo / "up").exists)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=20)
    assert run.returncode == 130
    assert stories.stories[0]["passes"] is True
    (stories.repo / "up").unlink()


def test_what_is_undone_is_shown(stories: StoryFixture) -> None:  # C18
    stories.plan(make_story("US-001"))
    stories.script(("US-001", CHEAT_FIELDS, "feat: [US-001] - mine"))
    done = stories.workshop.ralph("story", "run", "-n", "1")
    assert "Undone in tasks.json: US-001: passes true → false" in done.stdout
    assert stories.stories[0] == make_story("US-001", notes=CHEAT_FIELDS["notes"])


def test_what_the_runner_approves_is_shown_and_named_as_uncommitted(stories: StoryFixture) -> None:  # 004-25
    stories.plan(make_story("US-001"))
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"),
        ("US-001", REJECT_FIELDS, "review: [US-001] - changes requested"),
    )
    done = stories.workshop.ralph("story", "run", "--review-cap", "1")
    assert "US-001 is approved as it is: the review cap is reached" in done.stdout
    assert "every story is approved; not committed: tasks.json" in done.stdout


def test_what_a_gently_ended_loop_left_is_judged_by_the_next(stories: StoryFixture) -> None:  # C18
    stories.plan(make_story("US-001"))
    cut_off(stories)
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"), ("US-001", make_approval(1), "review: [US-001] - approved")
    )
    done = stories.workshop.ralph("story", "run")
    assert done.returncode == 0, done.stdout
    assert "--as-is keeps it): US-001: passes true → false" in done.stdout
    assert stories.stories[0]["reviewCount"] == 1


def test_as_is_keeps_what_it_left(stories: StoryFixture) -> None:
    stories.plan(make_story("US-001"))
    cut_off(stories)
    done = stories.workshop.ralph("story", "run", "--as-is")
    assert done.returncode == 0, done.stdout
    assert stories.stories[0]["reviewCount"] == 0


@pytest.mark.parametrize("words", [("archive",), ("init", "--force")])
def test_a_new_list_is_not_judged_by_the_old_one(stories: StoryFixture, words: tuple[str, ...]) -> None:  # 004-29
    stories.plan(make_story("US-001"))
    cut_off(stories)
    assert stories.workshop.ralph("story", *words).returncode == 0
    stories.plan(make_story("US-001", title="New"), make_story("US-003"))
    stories.script(("US-001", SUBMIT_FIELDS, "feat: [US-001] - New"))
    done = stories.workshop.ralph("story", "run", "-n", "1")
    assert "Undone" not in done.stdout
    assert [s["reviewStatus"] for s in stories.stories] == ["needs_review", None]
    report = json.loads(stories.workshop.ralph("story", "report", "--json").stdout)
    assert [line["iterations"] for line in report["stories"]] == [1, 0]


def test_an_empty_answer_is_tried_again_and_is_no_iteration(stories: StoryFixture) -> None:  # 004-09
    stories.plan(make_story("US-001"))
    stories.workshop.agent(make_result_command(""), make_result_command("Nothing to do."))
    done = stories.workshop.ralph("story", "run", "-n", "1", "--agent", "claude")
    assert (done.returncode, stories.workshop.calls) == (1, 2)
    report = json.loads(stories.workshop.ralph("story", "report", "--json").stdout)
    assert (report["iterations"], report["cost_usd"]) == (1, 0.02)


def test_stories_that_all_wait_exit_3_and_tell_why(stories: StoryFixture) -> None:
    stories.plan(make_story("US-001"), make_story("US-002"))
    stories.script(
        ("US-001", {"dependsOn": ["US-007"]}, "feat: [US-001] - a"), ("US-002", {"dependsOn": ["US-001"]}, "")
    )
    done = stories.workshop.ralph("story", "run")
    assert done.returncode == 3, done.stdout
    assert "no story can be worked on: US-001 waits for US-007; US-002 waits for US-001" in done.stdout


# -- before the first iteration -------------------------------------------------------------------
def test_the_estimate_learns_from_what_stories_took(stories: StoryFixture) -> None:  # 004-32
    stories.plan(make_story("US-001"))
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"), ("US-001", make_approval(1), "review: [US-001] - approved")
    )
    first = stories.workshop.ralph("story", "run")
    assert "About 3 iterations for 1 open story (estimate)" in first.stdout
    assert stories.workshop.ralph("story", "archive").returncode == 0
    stories.plan(make_story("US-001"), make_story("US-002"))
    again = stories.workshop.ralph("story", "run", "-n", "1")
    seen = "About 4 iterations for 2 open stories (2 each so far)"
    assert f"{seen}, more than the limit of 1; raise it with -n" in again.stdout
    other = stories.workshop.ralph("story", "run", "-n", "1", "--skip-review")
    assert "About 2 iterations for 2 open stories (estimate)" in other.stdout  # without reviews nothing was seen so far


@pytest.mark.parametrize("place", [".ralph-active", ".ralph/.ralph-active"])
def test_the_marker_of_a_living_process_is_honoured_in_both_places(stories: StoryFixture, place: str) -> None:  # C23
    stories.plan(make_story("US-001"))
    stories.script(("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"))
    marker = stories.repo / place
    marker.parent.mkdir(exist_ok=True)
    marker.write_text('{"pid": 1}')
    for words in (("run", "-n", "1"), ("archive",)):
        done = stories.workshop.ralph("story", *words)
        assert (done.returncode, "pid 1" in done.stderr) == (2, True)
    marker.write_text('{"pid": 1, "ticks": -1, "boot": "another"}')  # the number is someone else's by now
    assert stories.workshop.ralph("story", "run", "-n", "1").returncode == 1
    assert stories.stories[0]["reviewStatus"] == "needs_review"


def test_a_marker_the_agent_spoiled_is_removed(stories: StoryFixture) -> None:  # 004-06
    stories.plan(make_story("US-001"))
    stories.play([{"bash": "echo x > .ralph-active"}, {"say": "x"}])
    stories.workshop.ralph("story", "run", "-n", "1")
    assert not (stories.repo / ".ralph-active").exists()


# -- another folder -------------------------------------------------------------------------------
def test_the_loops_folder_may_have_another_name(stories: StoryFixture) -> None:  # 004-03, C10
    assert stories.workshop.ralph("story", "init", "--ralph-dir", "plans/next").returncode == 0
    stories.plan(make_story("US-001"))
    (stories.repo / "plans/next/tasks.json").write_text((stories.repo / "ralph/tasks.json").read_text())
    stories.workshop.agent("cp .ralph-active marker.json; echo x")
    stories.workshop.ralph("story", "run", "-n", "1", "--ralph-dir", "plans/next", "--agent", "claude")
    assert json.loads((stories.repo / "marker.json").read_text())["ralphDir"] == "plans/next"
    assert "`plans/next/tasks.json`" in stories.workshop.prompt(1)
    assert "`ralph/" not in stories.workshop.prompt(1)


def test_an_archive_that_cannot_be_committed_says_why(stories: StoryFixture) -> None:  # 004-29
    stories.plan(make_story("US-001"))
    hook = stories.repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no commits on Fridays >&2\nexit 1\n")
    hook.chmod(0o755)
    done = stories.workshop.ralph("story", "archive")
    assert done.returncode == 1
    assert "Not committed: git commit failed: no commits on Fridays" in done.stderr
    (stories.repo / ".git/info/exclude").write_text("ralph-archive\n")
    ignored = stories.workshop.ralph("story", "archive")
    assert ignored.returncode == 1
    assert "Not committed: git add failed: The following paths are ignored" in ignored.stderr


def test_an_archive_commits_nothing_of_the_users(stories: StoryFixture) -> None:  # 004-29
    stories.plan(make_story("US-001"))
    (stories.repo / "mine.txt").write_text("x\n")
    (stories.repo / "ralph/mine.txt").write_text("x\n")
    assert stories.workshop.ralph("story", "archive").returncode == 0
    assert stories.workshop.git("status", "--porcelain").splitlines() == ["?? mine.txt", "?? ralph/mine.txt"]


def test_what_was_not_committed_before_the_first_agent_is_named(stories: StoryFixture) -> None:  # 004-21
    stories.plan(make_story("US-001"))
    stories.script(("US-001", SUBMIT_FIELDS, "feat: [US-001] - it"))
    (stories.repo / "mine.txt").write_text("half a thought")
    done = stories.workshop.ralph("story", "run", "-n", "1")
    assert "Not committed yet: mine.txt. Agents are told to commit everything" in done.stdout
    assert "Not committed yet" not in stories.workshop.ralph("story", "run", "-n", "1").stdout


def test_another_repository_that_variables_name_is_not_looked_at(stories: StoryFixture, tmp_path: Path) -> None:
    stories.workshop.git("init", "-q", str(tmp_path / "other"))
    stories.plan(make_story("US-001"))
    stories.script(("US-001", SUBMIT_FIELDS, ""))
    (stories.repo / "mine.txt").write_text("half a thought")
    done = stories.workshop.ralph("story", "run", "-n", "1", GIT_DIR=str(tmp_path / "other/.git"))
    assert "Not committed yet: mine.txt. Agents" in done.stdout


def test_what_ralph_keeps_and_what_was_renamed(stories: StoryFixture) -> None:  # 004-21
    stories.plan(make_story("US-001"))
    stories.workshop.agent(
        "mkdir -p .ralph; touch .ralph/settings.json; git mv ralph/prd.md ralph/moved.md; echo working"
    )
    stories.workshop.ralph("story", "run", "-n", "2", "--agent", "claude")
    assert "left uncommitted changes: ralph/moved.md, ralph/prd.md. Commit ALL" in stories.workshop.prompt(2)


def test_every_flag_of_the_seed_is_there(workshop: ProjectFixture) -> None:  # 004-03
    shown = workshop.ralph("story", "run", "--help").stdout
    flags = (
        "-n --max-iterations --ralph-dir -d --project-dir -m --model --sandbox --no-sandbox --skip-review --review-cap"
    )
    assert [flag for flag in flags.split() if flag not in shown] == []
    assert "default: 15" in shown
    assert "default: 5" in shown


def test_a_weakened_check_is_approved_by_name_or_not_at_all(stories: StoryFixture) -> None:
    (stories.repo / "check.sh").write_text("test -f result\n")
    stories.plan(make_story("US-001"), verifyCommands=["sh check.sh"])
    home = stories.workshop.home
    work = build_work_command(home, "US-001", SUBMIT_FIELDS, "feat: [US-001] - Title")
    review = build_work_command(home, "US-001", make_approval(1), "review: [US-001] - approved")
    stories.play(
        [{"bash": f"echo true > check.sh; {work}"}, {"say": "<changes>nobody needs a result</changes>"}],
        [{"bash": review}, {"say": "Fine."}],
        [{"bash": review}, {"say": "<approves>check.sh</approves>"}],
    )
    done = stories.workshop.ralph("story", "run", "-V")
    assert done.returncode == 0, done.stdout
    assert "US-001 is reopened: check.sh was changed, and the checks fail with the files as they were" in done.stdout
    assert "check.sh was changed, which the review approved" in done.stdout
    assert "sh check.sh (with the tests as they were)" in done.stdout
    receipt = json.loads(next(stories.repo.rglob("receipt.json")).read_text())
    assert [(each["change"]["path"], each["by"]) for each in receipt["approved"]] == [("check.sh", "review")]
    assert receipt["accepted"] == []
    assert [each["path"] for each in receipt["checks"][0]["proofs"]] == ["check.sh"]
    assert "Verified: 1 check passed again" in stories.workshop.ralph("verify", receipt["run"]).stdout
    run = receipt["run"]
    assert stories.workshop.ralph("accept", run, "check.sh").returncode == 0
    assert json.loads(next(stories.repo.rglob("receipt.json")).read_text())["accepted"] == ["check.sh"]
    assert json.loads(stories.workshop.ralph("show", run, "--json").stdout)["proof"]["accepted"] == ["check.sh"]


def test_the_checks_look_at_what_is_committed(stories: StoryFixture) -> None:
    stories.plan(make_story("US-001"), verifyCommands=["test -f result"])
    home = stories.workshop.home
    work = build_work_command(home, "US-001", SUBMIT_FIELDS, "feat: [US-001] - Title")
    review = build_work_command(home, "US-001", make_approval(1), "review: [US-001] - approved")
    stories.play(
        [{"bash": f"{work}; touch result"}, {"say": "Done."}],
        [{"bash": review.replace("git add -A", "git add ralph")}, {"say": "Fine."}],
    )
    done = stories.workshop.ralph("story", "run")
    assert (done.returncode, (stories.repo / "result").exists()) == (1, True)
    assert "test -f result (as committed)" in done.stdout


def test_a_new_start_does_not_take_loosened_checks_for_its_own(stories: StoryFixture) -> None:
    (stories.repo / "check.sh").write_text("test -f result\n")
    stories.plan(make_story("US-001"), verifyCommands=["sh check.sh"])
    home = stories.workshop.home
    work = build_work_command(home, "US-001", SUBMIT_FIELDS, "feat: [US-001] - Title")
    review = build_work_command(home, "US-001", make_approval(1), "review: [US-001] - approved")
    stories.play([{"bash": f"echo true > check.sh; {work}"}, {"say": "Done."}])
    assert stories.workshop.ralph("story", "run", "-n", "1").returncode == 1
    stories.play([{"bash": review}, {"say": "Fine."}])
    done = stories.workshop.ralph("story", "run", "-n", "1")
    assert done.returncode == 1, done.stdout
    assert "US-001 is reopened: check.sh was changed, and the checks fail with the files as they were" in done.stdout
