"""A repository that was moved, one that was copied, and linked work trees, as a user meets them."""

import json
import shutil
import subprocess
from pathlib import Path

from ralph.app.relocation import repair_worktree_links
from support.workshop import ProjectFixture, make_result_command

HALF_DONE = f"pwd >> worked_in; {make_result_command('half done')}"


def test_a_moved_repository_goes_on_where_it_is_now(workshop: ProjectFixture) -> None:
    workshop.agent(HALF_DONE)
    assert workshop.ralph("run", "-p", "work", "-m", "1").returncode == 1
    before, workshop.repo = workshop.repo, workshop.repo.rename(workshop.repo.with_name("moved"))
    workshop.agent(f"pwd >> worked_in; {make_result_command('<response>DONE</response>')}")
    done = workshop.ralph("run", "--resume", "-m", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not before.exists()
    assert (workshop.repo / "worked_in").read_text().splitlines() == [str(before), str(workshop.repo)]
    (run,) = json.loads(workshop.ralph("status", "--json").stdout)["runs"]
    assert (run["folder"], run["outcome"]) == (str(workshop.repo), "completed")


def test_a_copy_does_not_touch_what_it_was_copied_from(workshop: ProjectFixture) -> None:
    workshop.agent(HALF_DONE)
    assert workshop.ralph("run", "-p", "work", "-m", "1").returncode == 1
    original, workshop.repo = workshop.repo, Path(shutil.copytree(workshop.repo, workshop.repo.with_name("copy")))
    refused = workshop.ralph("run", "--resume", "-m", "3")
    assert refused.returncode == 2
    assert "belongs to the repository this one was copied from" in refused.stderr
    assert workshop.ralph("run", "-p", "work", "-m", "1").returncode == 1  # a run of its own
    assert (original / "worked_in").read_text().splitlines() == [str(original)]


def test_work_trees_do_not_take_over_each_others_runs(workshop: ProjectFixture) -> None:
    workshop.git("commit", "-q", "--allow-empty", "-m", "first")
    workshop.git("worktree", "add", "-q", "../other", "-b", "other")
    workshop.agent(HALF_DONE)
    assert workshop.ralph("run", "-p", "work", "-m", "1").returncode == 1
    workshop.repo = workshop.repo.with_name("other")
    nothing = workshop.ralph("run", "--resume", "-m", "3")
    assert nothing.returncode == 2
    assert "no run to resume" in nothing.stderr


def test_moved_work_trees_find_their_repository_again(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    subprocess.run(["git", "init", "-q", old], check=True)
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    subprocess.run(["git", "-C", old, *identity, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run(["git", "-C", old, "worktree", "add", "-q", old / ".ralph/worktrees/T-1"], check=True)
    shutil.copytree(old, new)
    repair_worktree_links(str(new / ".git"), str(old), str(new))
    tree = new / ".ralph/worktrees/T-1"
    found = subprocess.run(
        ["git", "-C", tree, "rev-parse", "--git-common-dir"], check=True, capture_output=True, text=True
    )
    assert Path(found.stdout.strip()) == new / ".git"  # not the one it was copied from
    listed = subprocess.run(["git", "-C", new, "worktree", "list"], check=True, capture_output=True, text=True)
    assert str(tree) in listed.stdout
    assert str(old) not in listed.stdout
