"""Our own git directory: whatever an agent does to the repository, we see the files as they are and run nothing."""

import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.paths import find_paths
from ralph.app.wiring import build_snapshots
from ralph.model.errors import DiskError, MachineError
from ralph.process.supervisor import Supervisor
from ralph.workspaces.own_git import OwnAnswer, replace_file
from support.quiet_inbox import QuietInbox
from support.repository import RepositoryFixture, open_repository

RUN = "20261116-010203-abcd"
TEST, HONEST, WEAKENED = "tests/test_a.py", "assert 1 == 2\n", "pass  # $Id: x$\r\n"
# Each is a script of an agent's; $SPY is a program that leaves a mark, $1 the test it weakens.
TRICKS = {
    "assume unchanged": 'git update-index --assume-unchanged "$1"; {weaken}',
    "skip worktree": 'git update-index --skip-worktree "$1"; {weaken}',
    "fsmonitor": 'git config core.fsmonitor "$SPY"; git update-index --fsmonitor; {weaken}',
    "hooks": 'for h in post-index-change reference-transaction pre-commit; do cp "$SPY" .git/hooks/$h; done; {weaken}',
    "hooks path": 'mkdir .h; cp "$SPY" .h/reference-transaction; git config core.hooksPath .h; {weaken}',
    "clean filter": (
        "echo '*.py filter=f' > .gitattributes; git config filter.f.clean \"$SPY; git cat-file blob HEAD:$1\"; {weaken}"
    ),
    "process filter": "echo '*.py filter=f' > .gitattributes; git config filter.f.process \"$SPY\"; {weaken}",
    "required filter": (
        "echo '*.py filter=f' > .gitattributes; git config filter.f.required true;"
        " git config filter.f.clean false; {weaken}"
    ),
    "info attributes": "echo '*.py filter=f' > .git/info/attributes; git config filter.f.clean \"$SPY\"; {weaken}",
    "line ends": "echo '* text eol=crlf ident working-tree-encoding=UTF-16' > .gitattributes; {weaken}",
    "attribute macro": "printf '[attr]m -diff text\\n* m\\n' > .gitattributes; {weaken}",
    "autocrlf": "git config core.autocrlf true; git config core.eol crlf; {weaken}",
    "external diff": 'git config diff.external "$SPY"; {weaken}',
    "textconv": "echo '*.py diff=d' > .gitattributes; git config diff.d.textconv \"$SPY\"; {weaken}",
    "no diff": "echo '*.py -diff' > .gitattributes; {weaken}",
    "replaced blob": '{weaken}; git replace $(git rev-parse "HEAD:$1") $(git hash-object -w "$1")',
    "replaced commit": "{weaken}; git add -A; git commit -qm x; git replace HEAD~1 HEAD; git reset -q --soft HEAD~1",
    "graft": "git rev-parse HEAD > .git/info/grafts; {weaken}",
    "ignored": 'echo "$1" >> .gitignore; {weaken}',
    "excluded": 'echo "$1" >> .git/info/exclude; {weaken}',
    "excluded by the user's settings": 'echo "$1" > x; git config core.excludesFile "$PWD/x"; {weaken}',
    "not tracked any more": 'git rm -q --cached "$1"; echo tests >> .gitignore; git commit -qm x; {weaken}',
    "a repository of its own": "{weaken}; git init -q tests; cd tests; git add -A; git commit -qm x",
    "another work tree": 'mkdir -p ../else/tests; cp "$1" ../else/tests; git config core.worktree ../../else; {weaken}',
    "sparse checkout": '{weaken}; git config core.sparseCheckout true; echo "/README" > .git/info/sparse-checkout',
    "the same size and time": 'touch -r "$1" ../t; {weaken}; touch -r ../t "$1"',
    "alternates": '{weaken}; mkdir -p ../o/pack; echo "$PWD/../o" > .git/objects/info/alternates',
    "an odd index": "{weaken}; echo junk > .git/index",
    "split index": "git update-index --split-index; {weaken}",
    "a locked index": "{weaken}; touch .git/index.lock",
    "no stat": "for s in ignoreStat=true trustctime=false; do git config core.${s%=*} ${s#*=}; done; {weaken}",
    "aliases": 'for c in add ls-files write-tree; do git config alias.$c "!$SPY"; done; {weaken}',
    "include": 'printf "[core]\\nfsmonitor=$SPY\\n" > ../inc; git config include.path "$PWD/../inc"; {weaken}',
    "user's settings": 'git config --global core.fsmonitor "$SPY"; git config --global core.hooksPath "$PWD"; {weaken}',
}


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[RepositoryFixture]:
    with open_repository(tmp_path) as made:
        (made.root / "tests").mkdir()
        made.commit(TEST, HONEST)
        yield made


def play_agent(repo: RepositoryFixture, script: str) -> Path:
    """Whatever its git says; the mark is there if something of the agent's was run later."""
    mark, spy = repo.scratch / "mark", repo.scratch / "spy"
    spy.write_text(f"#!/bin/sh\necho ran >> {mark}\nexec cat\n")
    spy.chmod(0o755)
    weaken = f"printf '%s' '{WEAKENED}' > \"$1\""
    subprocess.run(
        ["sh", "-c", script.replace("{weaken}", weaken), "agent", TEST],
        cwd=repo.root,
        env={**repo.environment, "SPY": str(spy)},
        capture_output=True,
        check=False,
    )
    mark.unlink(missing_ok=True)
    return mark


@pytest.mark.parametrize("trick", TRICKS)
def test_a_weakened_test_is_seen_byte_for_byte_and_nothing_of_the_agents_runs(
    repo: RepositoryFixture, trick: str
) -> None:
    keep = repo.keeper(RUN)
    assert keep.save_initial_tree() == ""
    mark = play_agent(repo, TRICKS[trick])
    keep.save_tree_after(1)
    found = {each.path: each for each in keep.list_changes(keep.baseline(), keep.tree())}
    assert keep.read_blob(found[TEST].old_blob) == HONEST.encode()
    if found[TEST].new_blob:  # what is no longer tracked counts as deleted
        assert keep.read_blob(found[TEST].new_blob) == WEAKENED.encode()
    assert "-assert 1 == 2" in keep.diff(keep.baseline(), keep.tree(), [TEST])
    assert not mark.exists()


@pytest.mark.parametrize(
    "script",
    [
        "echo conftest.py >> .gitignore",
        "echo conftest.py > tests/.gitignore",
        "echo '*' > tests/.gitignore",
        "echo 'tests/*' >> .git/info/exclude",
        "echo conftest.py > ../ignore; git config --global core.excludesFile $PWD/../ignore",
    ],
)
def test_a_new_file_cannot_be_hidden_by_a_new_rule(repo: RepositoryFixture, script: str) -> None:
    repo.commit(".gitignore", "*.tmp\nnode_modules/\n")
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    play_agent(
        repo, f"{script}; echo x > tests/conftest.py; echo x > a.tmp; mkdir node_modules; echo x > node_modules/y"
    )
    keep.save_tree_after(1)
    found = [each.path for each in keep.list_changes(keep.baseline(), keep.tree())]
    assert "tests/conftest.py" in found
    assert not {"a.tmp", "node_modules/y"} & {*found}


def test_a_dependency_folder_that_is_installed_and_ignored_at_once_is_not_walked(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    play_agent(repo, "echo node_modules > .gitignore; mkdir -p node_modules/a; echo x > node_modules/a/b")
    keep.save_tree_after(1)
    assert [each.path for each in keep.list_changes(keep.baseline(), keep.tree())] == [".gitignore"]


def test_a_committed_file_is_seen_though_it_is_ignored(repo: RepositoryFixture) -> None:
    repo.commit(".gitignore", "dist/\n")
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    play_agent(repo, "mkdir dist; echo x > dist/x.js; git add -f dist; git commit -qm x")
    keep.save_tree_after(1)
    assert [each.path for each in keep.list_changes(keep.baseline(), keep.tree())] == ["dist/x.js"]


def test_other_bytes_under_the_hash_of_a_file_are_not_believed(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    blob = repo.run("rev-parse", f"HEAD:{TEST}")
    (repo.root / TEST).write_text(WEAKENED)
    forged = repo.run("hash-object", "-w", "--no-filters", TEST)
    objects = repo.root / ".git/objects"
    path = objects / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes((objects / forged[:2] / forged[2:]).read_bytes())
    keep.save_tree_after(1)
    assert [each.path for each in keep.list_changes(keep.baseline(), keep.tree())] == [TEST]
    for read in (lambda: keep.read_blob(blob), lambda: keep.diff(keep.baseline(), keep.tree())):
        with pytest.raises(MachineError, match="cannot be read as it was"):
            read()


def test_an_index_of_before_is_used_again(repo: RepositoryFixture) -> None:
    repo.keeper(RUN).save_initial_tree()
    (index,) = (repo.own_dir / "work").glob("*/index")
    before = index.stat().st_ino
    (repo.root / "new").write_text("x")
    later = repo.keeper("20261117-010203-abcd")
    later.save_initial_tree()
    os.utime(repo.root / TEST)  # touched, not changed
    later.save_tree_after(1)
    assert (later.baseline() == later.tree(), before > 0) == (True, True)
    assert repo.run_own("ls-tree", "-r", "--name-only", later.tree()).splitlines() == ["README", "new", TEST]


def test_two_runs_in_one_work_tree_do_not_share_an_index(repo: RepositoryFixture) -> None:
    first, second = repo.keeper(RUN), repo.keeper("20261117-010203-abcd")
    for keep in (first, second):
        assert keep.save_initial_tree() == ""
    (repo.root / "new").write_text("x")
    for keep in (second, first):
        assert keep.save_tree_after(1) == ""
    assert first.tree() == second.tree() != first.baseline()


def test_a_git_that_was_stopped_half_way_is_no_obstacle(repo: RepositoryFixture) -> None:
    repo.keeper(RUN).save_initial_tree()
    (index,) = (repo.own_dir / "work").glob("*/index")
    (index.parent / "index.lock").touch()
    (repo.root / "new").write_text("x")
    keep = repo.keeper("20261117-010203-abcd")
    assert keep.save_initial_tree() == ""
    assert keep.tree()


def test_a_branch_that_is_switched_takes_its_files_along(repo: RepositoryFixture) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    play_agent(repo, "git checkout -qb other; git rm -q README; echo x > new; git add -A; git commit -qm x")
    keep.save_tree_after(1)
    assert keep.tree() == repo.run("rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize("what", ["fifo", "symlink", "folder", "file for a folder"])
def test_whatever_takes_a_files_place_is_no_obstacle(repo: RepositoryFixture, what: str) -> None:
    keep = repo.keeper(RUN)
    keep.save_initial_tree()
    scripts = {
        "fifo": f"rm {TEST}; mkfifo {TEST}",
        "symlink": f"rm {TEST}; ln -s /etc/passwd {TEST}",
        "folder": f"rm {TEST}; mkdir {TEST}; echo x > {TEST}/x",
        "file for a folder": "rm -r tests; echo x > tests",
    }
    play_agent(repo, f"{scripts[what]}; echo x > new")
    keep.save_tree_after(1)
    found = {each.path: each for each in keep.list_changes(keep.baseline(), keep.tree())}
    assert {"new", TEST} <= {*found}
    assert found[TEST].new_mode == ("120000" if what == "symlink" else "")


def test_in_a_repository_with_sha256(tmp_path: Path) -> None:
    with open_repository(tmp_path) as repo:
        other = tmp_path / "other"
        repo.run("init", "-q", "--object-format=sha256", str(other))
        repo.commit("a", "a\n", at=other)
        keep = repo.keeper(RUN, other)
        assert keep.save_initial_tree() == ""
        (other / "a").write_text("b\n")
        keep.save_tree_after(1)
        (change,) = keep.list_changes(keep.baseline(), keep.tree())
        assert (keep.read_blob(change.old_blob), keep.read_blob(change.new_blob)) == (b"a\n", b"b\n")


def test_where_the_home_cannot_be_written_to_the_state_will_do(repo: RepositoryFixture) -> None:
    (repo.scratch / "file").write_text("")
    repo.environment["XDG_STATE_HOME"] = str(repo.scratch / "file")
    assert repo.keeper(RUN).save_initial_tree() == ""
    assert [*(repo.root / ".git/ralph/trees").iterdir()]


def test_runs_that_start_at_once_do_not_disturb_each_other(repo: RepositoryFixture) -> None:
    """As the tasks of `ralph execute -j 4` do, in a repository that ralph has never seen."""
    trees = [repo.open(f"TASK-00{number}").folder for number in range(4)]
    problems: list[str] = []

    def look(number: int) -> None:
        inbox = QuietInbox()
        supervisor = Supervisor(inbox)
        variables = repo.environment
        keep = build_snapshots(
            True, f"{RUN}{number}", tree=find_paths(trees[number]), variables=variables, processes=supervisor
        )
        assert keep
        problems.append(keep.save_initial_tree() + ("" if keep.tree() else "no tree"))
        supervisor.close()
        inbox.close()

    threads = [threading.Thread(target=look, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [""] * 4


@pytest.mark.parametrize(
    ("complaint", "is_disk"),
    [
        ("fatal: unable to write loose object file: No space left on device", True),
        ("fatal: sha1 file '/x/index.lock' write error. Out of diskspace", True),
        ("fatal: not a tree object", False),
        ("fatal: unable to write loose object file: Permission denied", False),
    ],
)
def test_an_answer_that_fails_by_the_disk_is_an_error_of_its_own(complaint: str, is_disk: bool) -> None:
    said = OwnAnswer(128, b"", complaint)
    assert bool(said.disk_error) is is_disk
    error = said.build_error("cannot look")
    assert isinstance(error, DiskError) is is_disk
    assert error.message == f"cannot look: {said.problem}"


def test_a_git_that_was_stopped_says_nothing_of_the_disk() -> None:
    said = OwnAnswer(-15, b"", "No space left on device")
    assert (said.disk_error, said.build_error("cannot look").message) == ("", "cannot look: stopped")


def test_a_file_of_ours_that_finds_no_room_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    target = tmp_path / "ref"
    target.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            replace_file(str(target), b"new")
    assert (os.listdir(tmp_path), target.read_text()) == (["ref"], "old")


@pytest.mark.parametrize("command", ["read-tree", "ls-files", "update-index", "write-tree"])
def test_a_look_whose_guardian_is_killed_is_made_again(repo: RepositoryFixture, command: str) -> None:
    (repo.root / "new").write_text("x")
    repo.kill_guardian_at(command)
    keep = repo.keeper(RUN)
    assert keep.save_initial_tree() == ""
    assert repo.run_own("ls-tree", "-r", "--name-only", keep.tree()).splitlines() == ["README", "new", TEST]
    assert not (repo.scratch / "broken").exists(), "nobody was killed"
