"""What the checks rest on is compared with the start, and put back for a sealed check."""

import os
import time
from pathlib import Path

import pytest

from ralph.engine.proofs.proof_watch import MAX_SUMMARY_BYTES, ProofWatch
from ralph.model.errors import DiskError
from ralph.model.loop import Checked, GateResult, Interrupted
from ralph.model.ports import SealedTree
from ralph.model.proofs import ANY_BLOB, GONE_BLOB, ClosedSettings, ProofApproval, ProofChange, WorkTime
from support.tree_keeper import MemoryKeeper

TEST = "from calc import add\n\n\ndef test_add():\n    assert add(1, 1) == 2\n"
FILES = {
    "calc.py": "def add(a, b): return a - b\n",
    "tests/test_calc.py": TEST,
    "Makefile": "test:\n\tpytest\n",
    ".gitignore": "x\n",
}


class Project:
    """A folder, its trees, and a watch over them."""

    def __init__(self, root: Path) -> None:
        self.keeper = MemoryKeeper(root, FILES)
        self.root = root
        self.accepted: dict[str, str] = {}
        self.closed = ClosedSettings()

    def watch(
        self, *commands: str, protected: tuple[str, ...] = (), since: float | None = None, **environment: str
    ) -> ProofWatch:
        return ProofWatch(
            self.keeper,
            commands=commands,
            protected=protected,
            folder=str(self.root),
            environment={"PATH": "/nowhere", **environment},
            worked=WorkTime(since=time.time() + 60 if since is None else since),
            list_accepted=lambda: self.accepted,
            closed=self.closed,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def kinds(watch: ProofWatch) -> dict[str, str]:
    return {change.path: change.kind for change in watch.compare()}


def green(_: SealedTree) -> Checked:
    return Checked((GateResult(gate="test", passed=True),))


def test_nothing_changed_is_nothing_to_tell(project: Project) -> None:
    assert project.watch("make test").compare() == ()


def test_without_checks_and_protected_files_nobody_compares(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    assert project.watch().compare() == ()


def test_a_run_that_has_not_looked_yet_looks_first(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = [""]
    monkeypatch.setattr(project.keeper, "tree", lambda: trees[-1])
    monkeypatch.setattr(project.keeper, "save_initial_tree", lambda: trees.append("now"))
    project.keeper.write({"tests/test_calc.py": None})
    assert kinds(project.watch("pytest")) == {"tests/test_calc.py": "deleted"}


def test_without_a_tree_of_the_start_nobody_compares_and_without_one_of_now_all_is_suspect(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.keeper.write({"tests/test_calc.py": None, "conftest.py": "import x\n"})
    with monkeypatch.context() as patched:
        patched.setattr(project.keeper, "baseline", lambda: "")
        assert project.watch("pytest").compare() == ()
    monkeypatch.setattr(project.keeper, "tree", lambda: "")
    (found,) = project.watch("pytest").compare()
    assert (found.path, found.is_suspect) == (".", True)
    assert "gone or broken" in found.reason


def test_a_disk_that_is_full_is_no_suspicion(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DiskError("no space left")

    project.keeper.write({"tests/test_calc.py": None})
    watch = project.watch("pytest")
    monkeypatch.setattr(project.keeper, "open_sealed_tree", fail)
    with pytest.raises(DiskError):
        watch.check_sealed(green)
    monkeypatch.setattr(project.keeper, "list_changes", fail)
    with pytest.raises(DiskError):
        watch.compare()


def test_changes_count_against_the_start(project: Project) -> None:
    watch = project.watch("pytest")
    project.keeper.write({"tests/test_calc.py": TEST.replace("== 2", "== 0")})
    assert kinds(watch) == {"tests/test_calc.py": "changed"}
    project.keeper.write({"calc.py": "x\n"})
    assert kinds(watch) == {"tests/test_calc.py": "changed"}
    project.keeper.write({"tests/test_calc.py": TEST})
    assert kinds(watch) == {}


def test_a_check_is_followed_through_the_makefile_of_the_start(project: Project) -> None:
    project.keeper.write({"Makefile": "test:\n\ttrue\n", "pytest.ini": "[pytest]\naddopts = --co\n"})
    assert kinds(project.watch("make test")) == {"Makefile": "changed", "pytest.ini": "changed"}


def test_what_a_person_accepted_counts_as_if_it_had_always_been_so(project: Project) -> None:
    watch, changed = project.watch("pytest"), TEST.replace("== 2", "== 0")
    project.keeper.write({"tests/test_calc.py": changed})
    project.accepted["tests/test_calc.py"] = f"tests/test_calc.py\0{changed}"
    assert kinds(watch) == {}
    project.keeper.write({"tests/test_calc.py": f"{changed}\n# and more"})
    assert kinds(watch) == {"tests/test_calc.py": "changed"}


def test_what_can_be_accepted_is_the_file_as_it_is_now(project: Project) -> None:
    project.keeper.write({"calc.py": "x\n", "tests/test_calc.py": None})
    found = project.watch("pytest").find_blobs(["calc.py", "tests/test_calc.py", "ignored.env"])
    assert found == {"calc.py": "calc.py\0x\n", "tests/test_calc.py": GONE_BLOB, "ignored.env": ANY_BLOB}


def test_a_tree_is_untouched_until_something_changes(project: Project) -> None:
    watch = project.watch("pytest")
    assert watch.is_untouched
    project.keeper.write({"calc.py": "x\n"})
    assert not watch.is_untouched


def test_a_check_in_a_subfolder_rests_on_what_is_there(project: Project) -> None:
    (project.root / "sub").mkdir()
    project.keeper.write({"sub/Makefile": "test:\n\ttrue\n", "Makefile": "test:\n\ttrue\n"})
    project.keeper.before["sub/Makefile"] = "test:\n\tpytest\n"
    watch = ProofWatch(
        project.keeper,
        commands=["make test"],
        protected=(),
        folder=str(project.root / "sub"),
        environment={"PATH": "/nowhere"},
        worked=WorkTime(since=time.time() + 60),
        list_accepted=dict,
    )
    assert kinds(watch) == {"sub/Makefile": "changed"}


def test_a_deletion_can_be_accepted_too(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    project.accepted["tests/test_calc.py"] = GONE_BLOB
    assert kinds(project.watch("pytest")) == {}


def test_protected_files_count_without_checks(project: Project) -> None:
    project.keeper.write({"calc.py": "x\n"})
    (change,) = project.watch(protected=("*.py",)).compare()
    assert (change.path, change.protected) == ("calc.py", True)


# -- sealed ----------------------------------------------------------------------------------------
def test_a_sealed_check_has_the_suspects_as_they_were(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None, "pytest.py": "", "calc.py": "fixed\n"})
    checked = project.watch("pytest").check_sealed(green)
    assert isinstance(checked, Checked)
    assert (checked.sealed, [change.path for change in checked.proofs]) == (True, ["pytest.py", "tests/test_calc.py"])
    assert checked.diff == "diff of pytest.py\ndiff of tests/test_calc.py\n"
    assert project.keeper.sealed[0].files == {**FILES, "calc.py": "fixed\n"}


def test_new_tests_that_may_need_what_is_put_back_are_left_out(project: Project) -> None:
    project.keeper.write({"conftest.py": "import x\n", "tests/test_new.py": "def test_x(): assert 1\n"})
    project.watch("pytest").check_sealed(green)
    assert project.keeper.sealed[0].files == FILES


def test_work_that_is_only_doubtful_is_not_undone(project: Project) -> None:
    steered = "import os\ndef add(a, b): return 2 if 'PYTEST_CURRENT_TEST' in os.environ else 0\n"
    project.keeper.write({"conftest.py": "import x\n", "calc.py": steered})
    watch = project.watch("pytest")
    assert kinds(watch) == {"conftest.py": "changed", "calc.py": "doubtful"}
    watch.check_sealed(green)
    assert project.keeper.sealed[0].files == {**FILES, "calc.py": steered}


def test_values_that_tests_read_are_told_wherever_they_lie(project: Project) -> None:
    test = "def test_add():\n    assert add(1, 1) == load('sums.json')\n"
    project.keeper.before |= {"tests/test_calc.py": test, "data/sums.json": "2"}
    project.keeper.write({"tests/test_calc.py": test, "data/sums.json": "0", "data/other.json": "0"})
    assert kinds(project.watch("pytest")) == {"data/sums.json": "doubtful"}


def test_a_test_that_the_check_names_stays(project: Project) -> None:
    project.keeper.write({"conftest.py": "import x\n", "tests/test_new.py": "def test_x(): assert 1\n"})
    project.watch("pytest tests/test_new.py").check_sealed(green)
    assert project.keeper.sealed[0].files == {**FILES, "tests/test_new.py": "def test_x(): assert 1\n"}


def test_without_suspects_nothing_is_run(project: Project) -> None:
    project.keeper.write({"calc.py": "fixed\n"})
    assert project.watch("pytest").check_sealed(green) == Checked((), sealed=True)
    assert project.keeper.sealed == []


def test_a_sealed_tree_that_cannot_be_made_is_no_proof(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    project.keeper.problem = "no space"
    checked = project.watch("pytest").check_sealed(green)
    assert isinstance(checked, Checked)
    assert [(each.passed, each.exit_code, each.reason) for each in checked.results] == [(False, 1, "no space.")]
    assert (checked.sealed, [change.path for change in checked.proofs]) == (True, ["tests/test_calc.py"])


def test_what_a_reviewer_approved_stays_as_it_is_unless_it_is_protected_or_changed_since(project: Project) -> None:
    changed = TEST.replace("== 2", "== 0")
    project.keeper.write({"tests/test_calc.py": changed, "Makefile": "test:\n\ttrue\n"})
    found = project.watch("make test").compare()
    assert [(change.path, change.blob) for change in found] == [
        ("Makefile", "Makefile\0test:\n\ttrue\n"),
        ("tests/test_calc.py", f"tests/test_calc.py\0{changed}"),
    ]
    approved = [ProofApproval(change=change, by="reviewer") for change in found if change.path != "Makefile"]
    checked = project.watch("make test").check_sealed(green, approved)
    assert isinstance(checked, Checked)
    assert [change.path for change in checked.proofs] == ["Makefile"]
    assert project.keeper.sealed[0].files == {**FILES, "tests/test_calc.py": changed}
    guarded = project.watch("make test", protected=("tests/*",)).check_sealed(green, approved)
    assert isinstance(guarded, Checked)
    assert [change.path for change in guarded.proofs] == ["Makefile", "tests/test_calc.py"]
    project.keeper.write({"tests/test_calc.py": "\n"})
    later = project.watch("make test").check_sealed(green, approved)
    assert isinstance(later, Checked)
    assert [change.path for change in later.proofs] == ["Makefile", "tests/test_calc.py"]


def test_trees_that_cannot_be_compared_are_suspect(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    project.keeper.is_broken = True
    watch = project.watch("pytest")
    assert [(each.path, each.is_suspect, each.reason) for each in watch.compare()] == [(".", True, "objects are gone")]
    checked = watch.check_sealed(green)
    assert isinstance(checked, Checked)
    assert [each.passed for each in checked.results] == [False]


def test_an_interruption_is_passed_on(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    assert project.watch("pytest").check_sealed(lambda _: Interrupted("SIGINT")) == Interrupted("SIGINT")


def test_what_would_be_put_back_can_be_told_without_a_check(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    told = project.watch("pytest").describe_suspects()
    assert ([change.path for change in told.proofs], told.diff) == (
        ["tests/test_calc.py"],
        "diff of tests/test_calc.py\n",
    )
    assert told.sealed


# -- green checks that said nothing ----------------------------------------------------------------
@pytest.mark.parametrize(
    ("command", "printed", "found"),
    [
        ("pytest", "== 3 passed in 0.1s ==", None),
        ("pytest", "", "exits with 0, and reports no test"),
        ("make test", "pytest", "exits with 0, and reports no test"),
        ("make test", "== 3 passed in 0.1s ==", None),
        ("pytest", "1 failed, 2 passed in 0.1s\n" + "x" * MAX_SUMMARY_BYTES, "exits with 0, and reports no test"),
        ("pytest", "== 3 passed, 1 skipped in 0.1s ==", None),
        ("pytest", "\udcff 3 passed in 0.1s", None),
        ("true", "", None),
    ],
)
def test_a_green_check_whose_output_tells_of_no_test_is_doubtful(
    project: Project, command: str, printed: str, found: str | None
) -> None:
    (project.root / "check.log").write_bytes(printed.encode("utf-8", "surrogateescape"))
    watch = project.watch(command)
    result = GateResult(gate=command, passed=True, log="check.log")
    doubt = ProofChange(path=command, kind="doubtful", reason=found or "", check=command, noted=True)
    assert watch.compare_after(3, [result]) == ((doubt,) if found else ())
    assert project.keeper.looks == [3], "checks may have touched what they rest on"
    assert watch.find_silent_checks([GateResult(gate=command, passed=False, log="check.log")]) == ()
    assert watch.find_silent_checks([GateResult(gate=command, passed=True)]) == ()


def test_tests_that_are_skipped_since_packages_went_are_doubtful(project: Project) -> None:
    (project.root / "check.log").write_text("== 3 passed, 1 skipped in 0.1s ==")
    (project.root / "home/.local/lib/python3.11/site-packages").mkdir(parents=True)
    watch = project.watch("pytest", since=0, HOME=str(project.root / "home"))
    watch.compare()
    (doubt,) = watch.find_silent_checks([GateResult(gate="pytest", passed=True, log="check.log")])
    assert doubt.reason == "skips tests, and packages came or went"


# -- what no tree knows ----------------------------------------------------------------------------
def test_a_replaced_program_is_a_failure_no_sealed_tree_can_undo(project: Project) -> None:
    program = project.root / ".venv/bin/pytest"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    checked = project.watch(".venv/bin/pytest", since=0).check_sealed(green)
    assert isinstance(checked, Checked)
    assert [(each.gate, each.passed) for each in checked.results] == [("test", True), (".venv/bin/pytest", False)]
    assert project.keeper.sealed[0].restored == ()


def test_a_check_that_asks_git_rests_on_its_settings(project: Project) -> None:
    (project.root / ".git/info").mkdir(parents=True)
    (project.root / ".git/info/exclude").write_text("*.py\n")
    assert kinds(project.watch("git ls-files --others", since=0)) == {".git/info/exclude": "changed"}


def test_an_ignored_file_that_shadows_a_runner_is_seen(project: Project) -> None:
    (project.root / "test").write_text("")
    assert kinds(project.watch("make test", since=0)) == {"test": "shadowed"}
    assert kinds(project.watch("make test")) == {}  # it was there before


def test_settings_above_the_tree_are_a_failure_no_sealed_tree_can_undo(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    watch = Project(tmp_path / "repo").watch("pytest", since=time.time() - 60)
    assert kinds(watch) == {}
    above = tmp_path / "pytest.ini"
    above.write_text("[pytest]\naddopts = -k sub\n")
    assert kinds(watch) == {str(above): "changed"}
    checked = watch.check_sealed(green)
    assert isinstance(checked, Checked)
    assert [(each.gate, each.passed) for each in checked.results] == [("test", True), (str(above), False)]


def test_a_cache_that_selects_tests_is_removed_before_checks_that_ask_it(project: Project) -> None:
    cache = project.root / ".pytest_cache/v/cache/lastfailed"
    cache.parent.mkdir(parents=True)
    for command, is_kept in (("pytest", True), ("pytest --lf", False)):
        cache.write_text("{}")
        watch = project.watch(command, since=time.time() - 60)
        watch.compare()
        watch.clear_caches()
        assert cache.exists() is is_kept


def test_compiled_python_of_the_run_is_removed_before_checks(project: Project) -> None:
    cache = project.root / "__pycache__"
    cache.mkdir()
    for name in ("calc.cpython-311.pyc", "keep.txt"):
        (cache / name).write_bytes(b"")
    watch = project.watch("pytest", since=0)
    watch.clear_caches()  # before the first agent nobody has touched anything
    assert len(os.listdir(cache)) == 2
    watch.compare()
    watch.clear_caches()
    assert os.listdir(cache) == ["keep.txt"]


@pytest.mark.parametrize("way", ["file", "link", "ignored"])
def test_settings_that_an_agent_made_in_a_sandbox_are_found_however_it_made_them(project: Project, way: str) -> None:
    project.closed = ClosedSettings(
        paths=(".mcp.json", ".codex/config.toml"), absent=(".mcp.json", ".codex/config.toml")
    )
    watch = project.watch()
    assert watch.compare() == ()
    if way == "file":
        project.keeper.write({".codex/config.toml": "notify = ['x']"})
    else:
        (project.root / "made").mkdir()
        (project.root / "made/config.toml").write_text("notify = ['x']")
        os.rename(project.root / "made", project.root / ".codex") if way == "ignored" else os.symlink(
            project.root / "made", project.root / ".codex"
        )
    [found] = watch.compare()
    assert (found.path, found.kind, found.protected) == (".codex/config.toml", "added", True)


def test_a_protected_file_that_git_ignores_is_compared_by_its_time(project: Project) -> None:
    (project.root / "deep").mkdir()
    (project.root / "deep/local.env").write_text("x")
    for since, found in ((0.0, {"deep/local.env": "changed"}), (time.time() + 60, {})):
        assert kinds(project.watch(protected=("*.env",), since=since)) == found
    assert kinds(project.watch(protected=("calc.py",), since=0.0)) == {}, "its tree knows it"


# -- a disk that is full or broken -----------------------------------------------------------------
def test_a_full_disk_says_nothing_about_the_work(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    project.keeper.is_broken = project.keeper.is_disk_full = True
    watch = project.watch("pytest")
    for look in (watch.compare, lambda: watch.check_sealed(green)):
        with pytest.raises(DiskError):
            look()


def test_a_sealed_tree_that_finds_no_room_is_no_failed_check(project: Project) -> None:
    project.keeper.write({"tests/test_calc.py": None})
    project.keeper.problem, project.keeper.is_disk_full = "no space", True
    with pytest.raises(DiskError, match="no space"):
        project.watch("pytest").check_sealed(green)
