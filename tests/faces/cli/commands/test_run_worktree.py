"""`ralph run --worktree`: a work tree and a branch of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.processes import wait_until
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

DONE = make_result_command("<response>DONE</response>")
MORE = make_result_command("more to do")


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    """One commit on main, and settings that nobody committed."""
    (workshop.repo / "below").mkdir()
    for name in ("a.txt", "below/b.txt"):
        (workshop.repo / name).write_text("one\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    workshop.settings(guardrails=["test -f made"])
    workshop.agent(f"pwd > made; {DONE}")
    return workshop


def tree_of(project: ProjectFixture, name: str) -> Path:
    return project.repo / ".ralph/worktrees" / name


def run_below(project: ProjectFixture, *words: str) -> "subprocess.CompletedProcess[str]":
    words = (*RALPH_ARGV, "run", *words)
    folder, environment = project.repo / "below", project.environment
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_a_run_works_beside_the_checkout_and_says_how_to_take_the_result_over(project: ProjectFixture) -> None:
    (project.repo / "a.txt").write_text("mine\n")  # whatever the user is at
    (project.repo / "mine.txt").write_text("mine\n")
    done = project.ralph("run", "-p", "x", "--worktree", "fix")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "working in .ralph/worktrees/fix on branch ralph/fix, from main at " in done.stdout
    assert "not committed, so not in the work tree: a.txt, mine.txt" in done.stdout
    assert (tree_of(project, "fix") / "a.txt").read_text() == "one\n"
    assert not (project.repo / "made").exists()
    assert [line for line in project.git("status", "--porcelain").splitlines() if ".ralph" not in line] == [
        " M a.txt",
        "?? mine.txt",
    ]
    # the two commands it names, typed as they are
    merge, remove = (line.split("`")[1] for line in done.stdout.splitlines()[-2:])
    for line in (merge, remove):
        subprocess.run(["sh", "-c", line], cwd=project.repo, env=project.environment, check=True, capture_output=True)
    assert (project.repo / "made").read_text() == f"{tree_of(project, 'fix')}\n"
    assert project.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert not tree_of(project, "fix").exists()


def test_what_the_agent_left_uncommitted_is_committed_when_it_completes(project: ProjectFixture) -> None:
    project.agent(f"touch made new; git add made; git commit -qm Mine; {DONE}")
    done = project.ralph("run", "-p", "x", "--worktree", "fix")
    assert project.git("log", "--format=%s", "main..ralph/fix").splitlines() == ["ralph: fix", "Mine"]
    assert project.git("show", "--name-only", "--format=", "ralph/fix").split() == ["new"]
    assert "2 commits since main" in done.stdout


def test_of_a_run_that_did_not_complete_all_stays_and_it_goes_on(project: ProjectFixture) -> None:
    project.agent(f"echo 1 >> work; {MORE}", f"echo 2 >> work; touch made; {DONE}")
    done = project.ralph("run", "-p", "x", "-m", "1", "--worktree", "fix")
    assert done.returncode == 1
    assert "not committed, in .ralph/worktrees/fix: work" in done.stdout
    assert "git merge" not in done.stdout
    again = project.ralph("run", "--resume", "-m", "2")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "`git merge ralph/fix`" in again.stdout
    assert project.git("show", "ralph/fix:work") == "1\n2\n"


def test_it_goes_on_by_its_name_and_where_the_work_tree_was_removed(project: ProjectFixture) -> None:
    project.agent(f"echo 1 >> work; git add work; git commit -qm One; {MORE}", MORE, f"touch made; {DONE}")
    assert project.ralph("run", "-p", "x", "-m", "1", "--worktree", "fix").returncode == 1
    assert project.ralph("run", "-p", "x", "-m", "1").returncode == 1  # a later run, in the checkout
    shutil.rmtree(tree_of(project, "fix"))
    assert project.ralph("run", "--resume", "--worktree", "other").returncode == 2
    done = project.ralph("run", "--resume", "--worktree", "fix", "-m", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.git("ls-tree", "--name-only", "ralph/fix").split() == ["a.txt", "below", "made", "work"]
    assert not (project.repo / "made").exists()


def test_a_run_elsewhere_is_not_in_the_work_tree(project: ProjectFixture) -> None:
    project.agent(MORE)
    assert project.ralph("run", "-p", "x", "-m", "1").returncode == 1
    name = project.status()["id"]
    done = project.ralph("run", "--resume", name, "--worktree")
    assert (done.returncode, f"run {name} works in {project.repo}" in done.stderr) == (2, True)


def test_without_a_name_it_is_called_after_the_run(project: ProjectFixture) -> None:
    done = project.ralph("run", "-p", "x", "--worktree", "--json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    run = next(event["run"] for event in events if event["type"] == "run_ended")
    hint = next(event["text"] for event in events if event["type"] == "hinted")
    assert hint.endswith(f"`git merge ralph/{run}`")
    assert tree_of(project, run).is_dir()


def test_a_subfolder_the_prompt_and_completion_files_are_those_that_were_meant(project: ProjectFixture) -> None:
    (project.repo / "below/PROMPT.md").write_text("Do it.\n")  # not committed: read where the user has it
    project.agent(f"pwd > {project.home}/where; touch made below/finished; {make_result_command('ok')}")
    done = run_below(project, "-f", "PROMPT.md", "--worktree", "fix", "--until", "file:finished", "-m", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (project.home / "where").read_text() == f"{tree_of(project, 'fix')}\n"  # the folder of the settings
    assert f"working in {tree_of(project, 'fix')}" in done.stdout
    assert "Do it." in project.prompt(1)


def test_settings_of_a_subfolder_mean_that_folder_of_the_work_tree(project: ProjectFixture) -> None:
    os.rename(project.repo / ".ralph", project.repo / "below/.ralph")
    done = run_below(project, "-p", "x", "--worktree", "fix")
    assert done.returncode == 0, done.stdout + done.stderr
    assert project.git("show", "ralph/fix:below/made") == f"{tree_of(project, 'fix')}/below\n"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("taken", "there is a work tree or a branch ralph/taken already"),
        ("in/two", "'in/two' cannot be the name of a work tree"),
        ("x.lock", "'x.lock' cannot be the name of a work tree"),
        (".x", "'.x' cannot be the name of a work tree"),
    ],
)
@pytest.mark.parametrize("words", [[], ["--dry-run"]])
def test_a_name_that_cannot_be_is_refused(project: ProjectFixture, name: str, says: str, words: list[str]) -> None:
    project.git("branch", "ralph/taken")
    done = project.ralph("run", "-p", "x", f"--worktree={name}", *words)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr
    assert project.calls == 0
    assert not (project.repo / ".git/ralph").exists()


def test_the_name_of_a_task_is_the_tasks(project: ProjectFixture) -> None:
    assert project.ralph("spec", "create", "files").returncode == 0
    words = ["--outcome", "x", "--acceptance", "x"]
    assert project.ralph("task", "create", "TASK-001", "files", "Make it", *words).returncode == 0
    done = project.ralph("run", "-p", "x", "--worktree", "TASK-001")
    assert (done.returncode, "TASK-001 is a task" in done.stderr) == (2, True)


def test_a_folder_that_is_not_committed_is_refused(project: ProjectFixture) -> None:
    os.rename(project.repo / ".ralph", project.repo / "below/.ralph")
    os.rename(project.repo / "below", project.repo / "new")
    project.git("rm", "-q", "--cached", "below/b.txt")
    done = subprocess.run(
        [*RALPH_ARGV, "run", "-p", "x", "--worktree", "fix"],
        cwd=project.repo / "new",
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "new/ is not in the last commit" in done.stderr) == (2, True), done.stderr


def test_outside_git_and_before_the_first_commit_it_is_refused(workshop: ProjectFixture) -> None:
    done = workshop.ralph("run", "-p", "x", "--worktree")
    assert (done.returncode, "there is no commit to start a work tree from" in done.stderr) == (2, True)
    shutil.rmtree(workshop.repo / ".git")
    done = workshop.ralph("run", "-p", "x", "--worktree")
    assert (done.returncode, "is not in a git repository" in done.stderr) == (2, True)
    assert workshop.calls == 0


def test_a_dry_run_makes_nothing(project: ProjectFixture) -> None:
    done = project.ralph("run", "-p", "x", "--worktree", "fix", "--dry-run")
    assert f"Folder:      {tree_of(project, 'fix')}\n" in done.stdout
    assert "Work tree:   new, on branch ralph/fix from main at " in done.stdout
    assert not tree_of(project, "fix").exists()
    assert project.git("branch", "--list", "ralph/*") == ""


def test_a_work_tree_and_the_checkout_are_busy_apart(project: ProjectFixture) -> None:
    project.agent(f"touch {project.home}/up; sleep 3; touch made; {DONE}", f"touch made; {DONE}")
    with project.start("run", "-p", "x", "--worktree", "fix") as first:
        assert wait_until((project.home / "up").exists)
        assert project.ralph("run", "-p", "x").returncode == 0
        out, _ = first.communicate()
    assert first.returncode == 0, out


def test_commits_of_scm_tasks_are_on_its_branch_and_a_dirty_checkout_is_fine(project: ProjectFixture) -> None:
    project.settings(guardrails=["test -f made"], scm={"command": "git", "tasks": ["commit"]})
    (project.repo / "a.txt").write_text("mine\n")
    project.agent(f"touch made; {DONE}", "echo Make it")
    assert project.ralph("run", "-p", "x", "--worktree", "fix").returncode == 0
    assert project.git("log", "--format=%s", "main..ralph/fix").split("\n")[0] == "Make it"
    assert project.git("log", "--format=%s", "main") == "Start\n"


def test_codex_may_write_what_a_commit_there_writes_to(project: ProjectFixture) -> None:
    closing = """echo '{"type":"item.completed","item":{"type":"agent_message","text":"<response>DONE</response>"}}'"""
    project.agent(f"""touch made; {closing}; echo '{{"type":"turn.completed"}}'""", name="codex")
    assert project.ralph("run", "-p", "x", "--worktree", "fix", "--agent", "codex").returncode == 0
    argv = [path.read_text().splitlines() for path in project.home.glob("argv.*")]
    (words,) = [words for words in argv if "exec" in words]
    opened = [words[at + 1] for at, word in enumerate(words) if word == "--add-dir"]
    git = project.repo / ".git"
    assert opened == [f"{git}/worktrees/fix", f"{git}/objects", f"{git}/refs", f"{git}/logs"]


def test_an_interrupted_run_says_where_its_work_is(project: ProjectFixture) -> None:
    project.agent(f"touch work {project.home}/up; sleep 30; {DONE}")
    with project.start("run", "-p", "x", "--worktree", "fix") as run:
        assert wait_until((project.home / "up").exists)
        assert project.ralph("cancel").returncode == 0
        out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert "not committed, in .ralph/worktrees/fix: work" in out


def test_what_cannot_be_committed_at_the_end_is_told(project: ProjectFixture) -> None:
    merge = "git checkout -qb o main; echo 2 > a.txt; git commit -qam o; git checkout -q ralph/fix; echo 3 > a.txt"
    project.agent(f"touch made; {merge}; git commit -qam f; git merge -q o; {DONE}")
    done = project.ralph("run", "-p", "x", "--worktree", "fix")
    assert done.returncode == 0, done.stdout
    assert "! not committed in .ralph/worktrees/fix: a merge in its work tree is not resolved: a.txt" in done.stdout
