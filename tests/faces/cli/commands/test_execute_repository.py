"""`ralph execute` in repositories as people have them: hooks, signatures, submodules, odd states, full disks."""

import subprocess
from pathlib import Path

import pytest

from support.pipeline import PipelineFixture

LEFT = "echo done > $RALPH_TASK.txt; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit"  # not committed


@pytest.fixture
def pipeline(pipeline: PipelineFixture) -> PipelineFixture:
    pipeline.honest()
    pipeline.task("TASK-001")
    return pipeline


def lands(pipeline: PipelineFixture, *words: str) -> None:
    done = pipeline.execute(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert pipeline.status("TASK-001")["status"] == "done"
    assert pipeline.workshop.git("show", "main:TASK-001.txt") == "done\n"
    assert pipeline.workshop.git("branch", "--list", "ralph/*") == ""


def configured(pipeline: PipelineFixture, text: str) -> None:
    path = pipeline.home / "gitconfig"
    path.write_text(path.read_text() + text)


def hook(pipeline: PipelineFixture, name: str) -> None:
    """One that never agrees."""
    path = pipeline.repo / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho no {name} >&2\nexit 1\n")
    path.chmod(0o755)


def other_commit(pipeline: PipelineFixture) -> str:
    """What someone else does to the target meanwhile."""
    repo = pipeline.repo
    return f"echo o > {repo}/other; git -C {repo} add other; git -C {repo} commit -qm Other --no-verify --no-gpg-sign"


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "post-checkout", "post-merge"])
def test_hooks_of_the_users_stop_no_landing(pipeline: PipelineFixture, name: str) -> None:
    pipeline.agent(LEFT)
    hook(pipeline, name)
    lands(pipeline)


def test_nobody_is_asked_for_a_signature(pipeline: PipelineFixture) -> None:
    configured(pipeline, "[gpg]\nprogram = /bin/false\n[commit]\ngpgsign = true\n")
    pipeline.agent(f"{other_commit(pipeline)}; {LEFT}")
    lands(pipeline)
    assert (pipeline.repo / "other").exists()  # so there was something to merge, not only to commit


@pytest.mark.parametrize("ff", ["only", "false"])
def test_how_the_user_likes_to_merge_stops_no_landing(pipeline: PipelineFixture, ff: str) -> None:
    configured(pipeline, f"[merge]\nff = {ff}\n")
    pipeline.agent(other_commit(pipeline))
    lands(pipeline)
    assert (pipeline.repo / "other").exists()


def test_variables_of_a_hook_that_runs_us_do_not_lead_agents_astray(pipeline: PipelineFixture) -> None:
    (pipeline.repo / "mine.txt").write_text("not to be committed\n")
    git = str(pipeline.repo / ".git")
    pipeline.workshop.environment |= {
        "GIT_DIR": git,
        "GIT_WORK_TREE": str(pipeline.repo),
        "GIT_INDEX_FILE": f"{git}/index",
    }
    lands(pipeline)
    assert pipeline.workshop.git("status", "--porcelain") == "?? mine.txt\n"
    assert "Do TASK-001" in pipeline.workshop.git("log", "-1", "--format=%s")


def test_without_a_branch_checked_out_the_target_is_to_be_named(pipeline: PipelineFixture) -> None:
    pipeline.workshop.git("checkout", "-q", "--detach")
    done = pipeline.execute()
    assert done.returncode == 2
    assert "ralph execute --target BRANCH" in done.stderr
    lands(pipeline, "--target", "main")


def test_a_target_somebody_is_rebasing_is_left_alone(pipeline: PipelineFixture) -> None:
    git, readme = pipeline.workshop.git, pipeline.repo / "README"
    git("checkout", "-qb", "other")
    readme.write_text("other\n")
    git("commit", "-qam", "Other")
    git("checkout", "-q", "main")
    readme.write_text("mine\n")
    git("commit", "-qam", "Mine")
    before = git("rev-parse", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git("rebase", "other")
    done = pipeline.execute("--target", "main")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "somebody is rebasing it" in done.stdout
    assert git("rev-parse", "main") == before
    git("rebase", "--abort")
    assert pipeline.workshop.ralph("task", "edit", "TASK-001", "--status", "todo").returncode == 0
    lands(pipeline)


def test_a_repository_inside_the_repository_does_not_land_as_an_empty_name(pipeline: PipelineFixture) -> None:
    inner = "git init -q lib; echo code > lib/code; git -C lib add -A; git -C lib commit -qm Lib"
    told = "grep -q 'lib is a separate git repository' {home}/prompt.*"
    pipeline.agent(f"if {told}; then rm -rf lib/.git; git rm -q --cached lib; else {inner}; fi; {LEFT}")
    lands(pipeline)
    assert pipeline.workshop.git("show", "main:lib/code") == "code\n"
    assert len(pipeline.told("TASK-001", "coder")) == 2


def test_submodules_are_no_obstacle(pipeline: PipelineFixture) -> None:
    inner = pipeline.home / "inner"
    for folder, words in (
        (pipeline.home, ("init", "-q", str(inner))),
        (inner, ("commit", "-q", "--allow-empty", "-m", "Inner")),
        (pipeline.repo, ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")),
        (pipeline.repo, ("commit", "-qm", "Add inner")),
    ):
        subprocess.run(["git", *words], cwd=folder, env=pipeline.workshop.environment, check=True, capture_output=True)
    pipeline.agent("git -c protocol.file.allow=always submodule update -q --init")
    assert pipeline.execute().returncode == 0
    assert pipeline.status("TASK-001")["status"] == "done"
    assert pipeline.workshop.git("show", "main:TASK-001.txt") == "done\n"


def test_a_branch_in_the_way_is_told_and_nothing_is_begun(pipeline: PipelineFixture) -> None:
    pipeline.workshop.git("branch", "ralph")
    done = pipeline.execute()
    assert done.returncode == 2
    assert "'refs/heads/ralph' exists" in done.stdout
    assert pipeline.status("TASK-001")["status"] == "todo"
    pipeline.workshop.git("branch", "-m", "ralph", "mine")
    lands(pipeline)


def test_where_nothing_can_be_written_the_task_is_let_go(pipeline: PipelineFixture) -> None:
    runs: Path = pipeline.repo / ".git/ralph/runs"
    runs.write_text("no folder\n")
    done = pipeline.execute()
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"TASK-001  unusable  Not a directory: {runs}" in done.stdout
    assert pipeline.status("TASK-001")["status"] == "todo"
    runs.unlink()
    lands(pipeline)


@pytest.mark.parametrize("left", ["tree and branch", "branch"])
def test_what_a_killed_run_left_of_a_task_that_is_done_is_removed(pipeline: PipelineFixture, left: str) -> None:
    lands(pipeline)
    git, tree = pipeline.workshop.git, str(pipeline.repo / ".ralph/worktrees/TASK-001")
    git("branch", "ralph/TASK-001")
    git("branch", "ralph/mine")  # of no task
    if left != "branch":
        git("worktree", "add", "-q", tree, "ralph/TASK-001")
    assert pipeline.execute().returncode == 0
    assert git("branch", "--list", "ralph/*").split() == ["ralph/mine"]
    assert not Path(tree).exists()


def test_what_is_not_reachable_from_the_target_is_kept_even_of_a_task_that_is_done(pipeline: PipelineFixture) -> None:
    lands(pipeline)
    git, tree = pipeline.workshop.git, pipeline.repo / ".ralph/worktrees/TASK-001"
    git("worktree", "add", "-q", "-b", "ralph/TASK-001", str(tree))
    (tree / "more.txt").write_text("someone went on\n")
    assert pipeline.execute().returncode == 0
    assert (tree / "more.txt").exists()


def test_the_users_git_gc_during_a_run_takes_nothing_that_an_agent_committed(pipeline: PipelineFixture) -> None:
    repo, dropped = pipeline.repo, pipeline.home / "dropped"
    commit = "git add -A; git commit -qm Try; git rev-parse HEAD"
    first = f"git checkout -q --detach; echo half > half.txt; {{ {commit}; }} > {dropped}; exit"
    second = "git reset -q --hard HEAD~1"  # no branch and no work tree has it any more
    pipeline.agent(
        f"if [ -f {dropped} ]; then [ -f half.txt ] && {second}; else {first}; fi",
        before=f"git -C {repo} reflog expire --expire=now --all; git -C {repo} gc -q --prune=now",
    )
    lands(pipeline)
    assert pipeline.workshop.git("show", f"{dropped.read_text().strip()}:half.txt") == "half\n"
    assert "missing" not in pipeline.workshop.git("fsck", "--connectivity-only")


def test_a_tasks_own_setup_is_stronger_than_the_projects(pipeline: PipelineFixture) -> None:
    noted = pipeline.home / "noted"
    pipeline.task("TASK-002", "--setup", f"echo own >> {noted}")
    pipeline.workshop.environment["RALPH_SETUP"] = f"echo project >> {noted}"
    assert "setup echo own" in pipeline.workshop.call("task", "show", "TASK-002")
    done = pipeline.execute()
    assert done.returncode == 0, done.stdout + done.stderr
    assert noted.read_text().split() == ["project", "own"]
