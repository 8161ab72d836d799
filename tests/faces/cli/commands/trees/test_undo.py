"""`ralph undo`, `ralph recover` and parts of `ralph diff`, on one run that did all an agent can do to files."""

import shutil
import subprocess

from support.workshop import ProjectFixture

WORK = """n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n
echo run$n >> a.txt; rm -f b.txt; mkdir -p new/deep; echo x > new/deep/f$n.txt
git add a.txt; git commit -qm "agent $n"; """
CONTINUE, DONE = "echo on", "echo '<response>DONE</response>'"


def play(workshop: ProjectFixture) -> None:
    """Two iterations in a tree with an uncommitted change of the user's."""
    for name in ("a.txt", "b.txt", "mine.txt"):
        (workshop.repo / name).write_text(f"{name}\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-q", "-m", "Start")
    (workshop.repo / "mine.txt").write_text("of the user\n")
    workshop.agent(WORK + CONTINUE, WORK + DONE, name="worker")
    workshop.settings(agent={"command": "worker"})
    workshop.git("add", ".ralph")
    workshop.git("commit", "-q", "-m", "Settings")
    assert workshop.ralph("run", "-p", "x").returncode == 0


def read_files(workshop: ProjectFixture) -> dict[str, str]:
    names = ("a.txt", "b.txt", "mine.txt", "n", "new/deep/f1.txt", "new/deep/f2.txt")
    return {name: (workshop.repo / name).read_text() for name in names if (workshop.repo / name).exists()}


def undo(workshop: ProjectFixture, *words: str) -> subprocess.CompletedProcess[str]:
    done = workshop.ralph("undo", *words)
    assert done.returncode == 0, done.stderr
    return done


def test_a_run_is_undone_and_the_undo_too(workshop: ProjectFixture) -> None:
    play(workshop)
    left, commits = read_files(workshop), workshop.git("rev-list", "--count", "HEAD").strip()
    asked = workshop.ralph("undo")
    assert (asked.returncode, "--yes" in asked.stderr) == (2, True)
    assert "revert   2 commits" in undo(workshop, "--dry-run").stdout
    assert read_files(workshop) == left

    undo(workshop, "--yes", "--to", "1")
    assert (read_files(workshop)["a.txt"], "new/deep/f2.txt" in read_files(workshop)) == ("a.txt\nrun1\n", False)
    said = undo(workshop, "--yes").stdout
    assert read_files(workshop) == {"a.txt": "a.txt\n", "b.txt": "b.txt\n", "mine.txt": "of the user\n"}
    assert workshop.git("status", "--porcelain", "--untracked-files=no").split() == ["M", "mine.txt"]
    assert workshop.git("rev-list", "--count", "HEAD").strip() == str(int(commits) + 2)
    again = undo(workshop, "--yes").stdout
    assert ("Nothing to undo" in again, "changed nothing" in again) == (True, False)

    undo(workshop, "--yes", said.rsplit(maxsplit=1)[-1])
    assert read_files(workshop)["a.txt"] == "a.txt\nrun1\n"
    assert "new/deep/f1.txt" in read_files(workshop)


def test_what_somebody_changed_since_is_not_touched(workshop: ProjectFixture) -> None:
    play(workshop)
    (workshop.repo / "new/deep/f1.txt").write_text("of the user\n")
    (workshop.repo / "a.txt").write_text("of the user\n")
    assert "keep     a.txt (changed since the run)" in undo(workshop, "--yes").stdout
    assert read_files(workshop) == {
        "a.txt": "of the user\n",
        "b.txt": "b.txt\n",
        "mine.txt": "of the user\n",
        "new/deep/f1.txt": "of the user\n",
    }
    done = workshop.ralph("undo", "--to", "7", "--yes")
    assert (done.returncode, "no iteration 7" in done.stderr) == (2, True)


def test_what_was_lost_comes_back(workshop: ProjectFixture) -> None:
    play(workshop)
    left = read_files(workshop)
    shown = workshop.ralph("diff", "2").stdout
    assert ("+run2" in shown, "+run1" in shown, "+run1" in workshop.ralph("diff", "0..2").stdout) == (True, False, True)
    workshop.git("reset", "-q", "--hard", "HEAD~1")
    workshop.git("clean", "-qfdx", "-e", ".ralph")
    said = workshop.ralph("recover", "--yes").stdout
    assert "git merge" in said  # the commit that was reset
    assert {**left, "b.txt": "b.txt\n"} == read_files(workshop)  # nothing is deleted
    assert "Nothing is lost" in workshop.ralph("recover", "--yes").stdout
    (workshop.repo / "a.txt").write_text("of the user\n")
    assert "keep     a.txt" in workshop.ralph("recover", "--yes").stdout
    assert read_files(workshop)["a.txt"] == "of the user\n"


def test_a_work_tree_of_its_own_is_reset_and_a_deleted_one_comes_back(workshop: ProjectFixture) -> None:
    workshop.settings(agent={"command": "worker"})
    workshop.git("add", "-A")
    workshop.git("commit", "-q", "-m", "Start")
    commit = "echo 1 > one.txt; git add -A; git commit -qm one; "
    workshop.agent(commit + CONTINUE, "echo 2 > two.txt; " + DONE, name="worker")
    assert workshop.ralph("run", "-p", "x", "--worktree", "feat").returncode == 0
    tree = workshop.repo / ".ralph/worktrees/feat"
    left, start = workshop.git("rev-parse", "ralph/feat"), workshop.git("rev-parse", "main")

    said = undo(workshop, "--yes").stdout
    assert (workshop.git("rev-parse", "ralph/feat"), (tree / "one.txt").exists()) == (start, False)
    assert workshop.git("-C", str(tree), "status", "--porcelain") == ""
    undo(workshop, "--yes", said.rsplit(maxsplit=1)[-1])  # in the same work tree, not in the one around it
    assert (workshop.git("rev-parse", "ralph/feat"), (tree / "two.txt").exists()) == (left, True)
    assert not (workshop.repo / "two.txt").exists()

    (tree / "three.txt").write_text("of the user\n")
    workshop.git("-C", str(tree), "add", "-A")
    workshop.git("-C", str(tree), "commit", "-qm", "Mine")
    assert "revert   1 commit" in undo(workshop, "--dry-run").stdout  # somebody has committed since

    shutil.rmtree(tree)
    assert workshop.ralph("recover", "--yes").returncode == 0
    assert (tree / "two.txt").exists()
    assert workshop.git("-C", str(tree), "branch", "--show-current").strip() == "ralph/feat"
    assert "Nothing is lost" in workshop.ralph("recover", "--yes").stdout
    assert not (workshop.repo / "one.txt").exists()


def test_an_iteration_that_never_was_has_no_diff(workshop: ProjectFixture) -> None:
    play(workshop)
    for words in ("3", "1..3"):
        done = workshop.ralph("diff", words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "has no iteration 3" in done.stderr
    assert workshop.ralph("diff", "1..2").returncode == 0
