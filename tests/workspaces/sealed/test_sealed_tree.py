"""A sealed tree: the work tree as it is, some files as they were, at the same path where that can be."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.model.command import Command
from ralph.model.errors import DiskError, MachineError
from ralph.model.ports import SealedTree
from ralph.workspaces.snapshots import Snapshots
from support.processes import wait_until
from support.repository import RepositoryFixture, open_repository

RUN = "20261116-010203-abcd"
PLACES = ("mounted", "beside")


def can_mount() -> bool:
    words = ["bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "true"]
    return shutil.which("bwrap") is not None and subprocess.run(words, check=False, capture_output=True).returncode == 0


@pytest.fixture(params=PLACES)
def repo(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RepositoryFixture]:
    """Where bubblewrap works, and where it does not."""
    if request.param == "mounted" and not can_mount():
        pytest.skip("no bubblewrap here")
    with open_repository(tmp_path) as made:
        if request.param == "beside":
            broken = made.scratch / "bwrap"
            broken.write_text("#!/bin/sh\nexit 1\n")
            broken.chmod(0o755)
            made.environment["PATH"] = f"{made.scratch}:{made.environment['PATH']}"
        (made.root / "tests").mkdir()
        made.commit(".gitignore", "node_modules/\n__pycache__/\n*.local\n.env\nbuild/\n*.plug.py\n")
        made.commit("tests/test_a.py", "old\n")
        yield made


def begin(repo: RepositoryFixture) -> Snapshots:
    keep = repo.keeper(RUN)
    assert keep.save_initial_tree() == ""
    return keep


def ask(repo: RepositoryFixture, sealed: SealedTree, script: str, at: str = "") -> str:
    """What a check prints in there."""
    heard: list[bytes] = []
    cwd = os.path.join(repo.root, at)
    command = Command(argv=("/bin/sh", "-c", script), environment=repo.environment, cwd=cwd, merged=True)
    repo.supervisor.run(sealed.wrap(command), heard.append, heard.append)
    return b"".join(heard).decode().strip()


def test_given_files_are_as_they_were_and_all_others_as_they_are(repo: RepositoryFixture) -> None:
    repo.commit("gone", "was there\n")
    repo.commit("run.sh", "#!/bin/sh\necho ran\n")
    (repo.root / "run.sh").chmod(0o755)
    keep = begin(repo)
    (repo.root / "tests/test_a.py").write_text("weakened\n")
    (repo.root / "gone").unlink()
    (repo.root / "conftest.py").write_text("planted\n")
    (repo.root / "README").write_text("work\n")
    (repo.root / "tests/test_b.py").write_text("new test\n")
    keep.save_tree_after(1)
    with keep.open_sealed_tree(["tests/test_a.py", "gone", "conftest.py"]) as sealed:
        assert ask(repo, sealed, "cat tests/test_a.py gone README tests/test_b.py; ./run.sh; ls conftest.py") == (
            "old\nwas there\nwork\nnew test\nran\nls: cannot access 'conftest.py': No such file or directory"
        )
        assert ask(repo, sealed, "cat test_a.py", at="tests") == "old"
    assert (repo.root / "tests/test_a.py").read_text() == "weakened\n"
    assert not (repo.root / "gone").exists()


def test_what_is_not_committed_is_left_out_but_for_what_was_a_persons(repo: RepositoryFixture) -> None:
    repo.commit("calc.py", "wrong\n")
    repo.commit("gone", "committed\n")
    (repo.root / "notes").write_text("mine\n")
    keep = begin(repo)
    (repo.root / "calc.py").write_text("right\n")
    (repo.root / "gone").unlink()
    (repo.root / "new.py").write_text("x\n")
    (repo.root / "ralph").mkdir()
    (repo.root / "ralph/tasks.json").write_text("{}\n")
    repo.run("update-index", "--assume-unchanged", "calc.py")
    keep.save_tree_after(1)
    committed = keep.write_committed_tree(str(repo.root / "ralph"))
    changed = {change.path for change in keep.list_changes(committed, keep.tree())}
    assert changed == {"calc.py", "gone", "new.py"}
    with keep.open_sealed_tree(["tests/test_a.py"], is_committed=True, apart_from=str(repo.root / "ralph")) as sealed:
        there = ask(
            repo, sealed, "cat calc.py gone notes ralph/tasks.json tests/test_a.py; ls new.py 2>&1 | tail -c 10"
        )
        assert there == "wrong\ncommitted\nmine\n{}\nold\ndirectory"


def test_line_ends_that_git_makes_are_no_difference(repo: RepositoryFixture) -> None:
    repo.commit(".gitattributes", "*.txt text eol=crlf\n")
    repo.commit("a.txt", "one\r\n")
    keep = begin(repo)
    keep.save_tree_after(1)
    assert keep.write_committed_tree() == keep.tree()


def test_what_a_check_writes_stays_there(repo: RepositoryFixture) -> None:
    keep = begin(repo)
    with keep.open_sealed_tree([]) as sealed:
        assert ask(repo, sealed, "echo x > README; echo x > new; mkdir -p a/b; cat README") == "x"
    assert (repo.root / "README").read_text() == "x\n"
    assert not (repo.root / "new").exists()
    assert [*repo.root.parent.glob("*sealed-*")] == []
    assert [*(repo.own_dir / "sealed").iterdir()] == []


def test_dependencies_are_there_and_caches_are_not(repo: RepositoryFixture) -> None:
    for name in (
        "node_modules/a/b.js",
        "tests/__pycache__/x.pyc",
        "build/out.txt",
        ".env",
        "data.local",
        "old.plug.py",
    ):
        (repo.root / name).parent.mkdir(parents=True, exist_ok=True)
        (repo.root / name).write_text(f"{name}\n")
    time.sleep(0.02)
    keep = begin(repo)
    time.sleep(0.02)
    (repo.root / "new.plug.py").write_text("planted\n")
    (repo.root / "data.local").write_text("grown\n")
    keep.save_tree_after(1)
    with keep.open_sealed_tree([]) as sealed:
        there = ask(repo, sealed, "find . -path ./.git -prune -o -type f -print; find -L node_modules -type f").split()
        assert {"node_modules/a/b.js", "./build/out.txt", "./.env", "./data.local", "./old.plug.py"} <= {*there}
        assert not [name for name in there if "pycache" in name or "new.plug" in name]
        assert ask(repo, sealed, "cat data.local") == "grown"


def test_installed_dependencies_cannot_be_spoilt_where_they_are_mounted(repo: RepositoryFixture) -> None:
    (repo.root / "node_modules").mkdir()
    (repo.root / "node_modules/a.js").write_text("a\n")
    keep = begin(repo)
    with keep.open_sealed_tree([]) as sealed:
        if sealed.locate(str(repo.root)) != str(repo.root):
            pytest.skip("a link can be written through")
        assert "Read-only" in ask(repo, sealed, "echo x > node_modules/a.js")


def test_a_stale_cache_that_nobody_ignores_is_left_out(repo: RepositoryFixture) -> None:
    repo.commit(".gitignore", "")
    keep = begin(repo)
    (repo.root / "tests/__pycache__").mkdir()
    (repo.root / "tests/__pycache__/test_a.cpython-311.pyc").write_text("poison")
    keep.save_tree_after(1)
    with keep.open_sealed_tree([]) as sealed:
        assert ask(repo, sealed, "ls tests") == "test_a.py"


def test_git_answers_there_and_none_of_the_agents_hooks_run(repo: RepositoryFixture) -> None:
    keep = begin(repo)
    hook = repo.root / ".git/hooks/post-checkout"
    hook.write_text("#!/bin/sh\necho hooked\n")
    hook.chmod(0o755)
    repo.run("config", "core.fsmonitor", str(hook))
    (repo.root / "README").write_text("work\n")
    keep.save_tree_after(1)
    with keep.open_sealed_tree([]) as sealed:
        assert ask(repo, sealed, "git diff --stat | tail -1") == "1 file changed, 1 insertion(+), 1 deletion(-)"
        assert ask(repo, sealed, "git log --format=%s -1; git checkout -q -b mine; git branch --show-current") == (
            "Write tests/test_a.py\nmine"
        )
    assert repo.run("branch", "--format=%(refname:short)") == "main"


def test_a_link_in_the_way_of_a_restored_file_leads_nowhere(repo: RepositoryFixture) -> None:
    keep = begin(repo)
    outside = repo.scratch / "outside"
    outside.mkdir()
    shutil.rmtree(repo.root / "tests")
    (repo.root / "tests").symlink_to(outside)
    keep.save_tree_after(1)
    with keep.open_sealed_tree(["tests/test_a.py"]) as sealed:
        assert ask(repo, sealed, "cat tests/test_a.py") == "old"
    assert [*outside.iterdir()] == []


def test_a_folder_in_the_place_of_a_restored_file_gives_way(repo: RepositoryFixture) -> None:
    keep = begin(repo)
    (repo.root / "tests/test_a.py").unlink()
    (repo.root / "tests/test_a.py").mkdir()
    (repo.root / "tests/test_a.py/x").write_text("x")
    keep.save_tree_after(1)
    with keep.open_sealed_tree(["tests/test_a.py"]) as sealed:
        assert ask(repo, sealed, "cat tests/test_a.py") == "old"


def test_the_home_has_tools_and_nothing_that_came_since(repo: RepositoryFixture) -> None:
    home = Path(repo.environment["HOME"])
    (home / ".cargo").mkdir()
    (home / ".cargo/x").write_text("tool\n")
    (home / ".netrc").write_text("old settings\n")
    time.sleep(0.02)
    keep = begin(repo)
    time.sleep(0.02)
    (home / ".pythonrc").write_text("planted")
    plug = home / ".local/lib/python3.11/site-packages/usercustomize.py"
    plug.parent.mkdir(parents=True)
    plug.write_text("planted")
    with keep.open_sealed_tree([]) as sealed:
        said = ask(repo, sealed, "cat ~/.cargo/x ~/.netrc; ls ~/.pythonrc 2>&1; echo $PYTHONNOUSERSITE; touch ~/mine")
        assert said.splitlines()[:2] == ["tool", "old settings"]
        assert "No such file" in said
        assert said.endswith("\n1")
    assert not (home / "mine").exists()


def test_paths_of_the_work_tree_lead_into_the_copy(repo: RepositoryFixture) -> None:
    keep = begin(repo)
    (repo.root / "tests/test_a.py").write_text("weakened\n")
    keep.save_tree_after(1)
    repo.environment["PYTHONPATH"] = f"{repo.root}/tests:{repo.root}more"
    with keep.open_sealed_tree(["tests/test_a.py"]) as sealed:
        assert ask(repo, sealed, f"cat {repo.root}/tests/test_a.py") == "old"
        assert ask(repo, sealed, "cat ${PYTHONPATH%%:*}/test_a.py") == "old"
        assert ask(repo, sealed, "echo ${PYTHONPATH##*:}") == f"{repo.root}more"


def test_a_file_that_cannot_be_had_as_it_was_is_told(repo: RepositoryFixture) -> None:
    keep = begin(repo)
    blob = repo.run("rev-parse", "HEAD:tests/test_a.py")
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (repo.root / "tests/test_a.py").write_text("weakened\n")
    keep.save_tree_after(1)
    with pytest.raises(MachineError, match="cannot be read"), keep.open_sealed_tree(["tests/test_a.py"]):
        pass


def test_what_a_killed_run_left_is_removed_by_the_next(repo: RepositoryFixture, tmp_path: Path) -> None:
    begin(repo)
    script = (
        "import sys; from ralph.workspaces.sealed.sealed_tree import SealedPlaces\n"
        "from ralph.process.supervisor import Supervisor\n"
        "from support.quiet_inbox import QuietInbox\n"
        f"places = SealedPlaces({str(repo.own_dir)!r}, {str(repo.root)!r}, environment={repo.environment!r},"
        " processes=Supervisor(QuietInbox()))\n"
        "with places.open(0.0) as sealed:\n  print(sealed.copy, flush=True); sys.stdin.read()\n"
    )
    variables = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables
    ) as killed:
        assert killed.stdout
        copy = Path(killed.stdout.readline().strip())
        assert copy.is_dir()
        repo.keeper("20261117-010203-abcd").save_initial_tree()
        assert copy.is_dir()  # it is at work
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert wait_until(lambda: not repo.keeper("20261118-010203-abcd").save_initial_tree() and not copy.exists())
    assert [*repo.root.parent.glob("*sealed-*")] == []


def test_nobody_mounts_it_who_came_while_agents_were_at_work(repo: RepositoryFixture, tmp_path: Path) -> None:
    keep = begin(repo)
    (repo.root / "tests/test_a.py").write_text("weakened\n")
    keep.save_tree_after(1)
    liar = tmp_path / "bin/bwrap"
    liar.parent.mkdir()
    liar.write_text("#!/bin/sh\necho all is well\n")
    liar.chmod(0o755)
    repo.environment["PATH"] = f"{liar.parent}:{repo.environment['PATH']}"
    with keep.open_sealed_tree(["tests/test_a.py"]) as sealed:
        assert ask(repo, sealed, "cat tests/test_a.py") == "old"


@pytest.mark.parametrize(("number", "is_disk"), [(errno.ENOSPC, True), (errno.EIO, True), (errno.EACCES, False)])
def test_a_copy_that_finds_no_room_is_an_error_of_the_disk(
    repo: RepositoryFixture, monkeypatch: pytest.MonkeyPatch, number: int, is_disk: bool
) -> None:
    def fail(*args: object) -> None:
        raise OSError(number, os.strerror(number), "a file")

    keep = begin(repo)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", fail)
        with pytest.raises(MachineError, match="cannot copy the work tree") as told, keep.open_sealed_tree([]):
            pass
    assert isinstance(told.value, DiskError) is is_disk
