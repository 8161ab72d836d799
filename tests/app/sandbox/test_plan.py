"""What a sandbox opens for a work tree, and what it keeps closed."""

import subprocess
from pathlib import Path

import pytest

from ralph.app.paths import find_paths
from ralph.app.sandbox.plan import SandboxRequest, build_plan
from ralph.config.schema import SandboxSettings
from ralph.model.errors import ConfigError, MachineError
from ralph.model.sandbox import SandboxPlan


def plan(folder: Path, home: Path, *, path: str = "/usr/bin", settings: SandboxSettings | None = None) -> SandboxPlan:
    request = SandboxRequest(
        run="r",
        paths=find_paths(str(folder)),
        settings=settings or SandboxSettings(),
        protected=("*.lock",),
        adapters=("claude",),
        variables={"HOME": str(home), "PATH": path},
    )
    return build_plan(request, scratch=str(home / "scratch"), caches=str(home / "caches"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    for name in (".claude/plugins/one", ".cargo/bin", ".ssh", "bin", ".tools/bin", ".tools/lib"):
        (home / name).mkdir(parents=True)
    for name in (".claude/settings.json", ".claude/.credentials.json", ".claude.json", ".claude/history.jsonl"):
        (home / name).write_text("{}")
    return home


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", repo], check=True)
    for name in (".ralph/worktrees", ".git/ralph", "deep"):
        (repo / name).mkdir(parents=True)
    for name in (".claude/settings.json", "uv.lock", "deep/x.lock"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("")
    return repo


@pytest.mark.parametrize(
    ("named", "closed"), [(".githooks", ".githooks"), ("./.husky/_", ".husky"), ("/elsewhere", ""), ("none", "")]
)
def test_hooks_in_the_work_tree_are_closed_where_git_looks_for_them(
    repo: Path, home: Path, named: str, closed: str
) -> None:
    for name in (".githooks", ".husky/_"):
        (repo / name).mkdir(parents=True)
    subprocess.run(["git", "-C", repo, "config", "core.hooksPath", named], check=True)
    found = {path for path in plan(repo, home).protected if path.startswith((f"{repo}/.g", f"{repo}/.husky"))}
    own = {path for path in found if not path.startswith(f"{repo}/.git/")}
    assert own == ({str(repo / closed)} if closed else set())


def test_the_work_tree_is_open_and_what_steers_ralph_and_git_is_closed(repo: Path, home: Path) -> None:
    made = plan(repo, home)
    assert made.folder == str(repo)
    closed = {path.removeprefix(f"{repo}/") for path in made.protected}
    assert closed >= {
        ".ralph",
        ".git/hooks",
        ".git/config",
        ".git/info",
        ".claude/settings.json",
        "uv.lock",
        "deep/x.lock",
    }
    assert {path.removeprefix(f"{repo}/") for path in made.hidden} == {".git/ralph", ".ralph/worktrees"}


def test_of_the_home_there_are_programs_and_the_agents_own_files(repo: Path, home: Path) -> None:
    made = plan(repo, home, path=f"{home}/bin:{home}/.tools/bin:{repo}/node_modules/.bin:/mnt/c/Windows")
    assert made.home.logins == (f"{home}/.claude/.credentials.json",)
    assert set(made.home.settings) == {f"{home}/.claude/settings.json", f"{home}/.claude.json"}
    assert made.home.folders == (f"{home}/.claude/plugins",)
    assert made.home.tools == (f"{home}/.cargo/bin",)
    own = {path for path in made.readable if path.startswith(f"{home}/")}
    assert own == {f"{home}/bin", f"{home}/.tools/bin", f"{home}/.tools/lib"}
    assert made.environment["IS_SANDBOX"] == "1"


def test_a_linked_work_tree_has_its_branch_and_nothing_of_the_others(repo: Path, home: Path) -> None:
    git = ["git", "-C", str(repo), "-c", "user.name=t", "-c", "user.email=t@x"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    tree = repo / ".ralph/worktrees/T-1"
    subprocess.run([*git, "worktree", "add", "-q", "-b", "ralph/T-1", tree], check=True)
    made = plan(tree, home)
    common = repo / ".git"
    assert made.folder == str(tree)
    assert set(made.writable) == {
        f"{common}/worktrees/T-1",
        f"{common}/objects",
        f"{common}/refs/heads/ralph",
        f"{common}/logs/refs/heads/ralph",
    }
    assert str(common) in made.readable
    assert {f"{tree}/.git", f"{common}/worktrees/T-1/commondir"} <= set(made.protected)
    assert {f"{common}/ralph", f"{common}/worktrees"} <= set(made.hidden)


def test_a_home_is_no_work_tree(home: Path) -> None:
    subprocess.run(["git", "init", "-q", home], check=True)
    with pytest.raises(MachineError, match="your home folder"):
        plan(home, home)


def test_more_folders_are_brought_in_by_name(repo: Path, home: Path) -> None:
    made = plan(repo, home, settings=SandboxSettings(mounts=(f"{home}/.ssh", "~/bin:rw")))
    assert f"{home}/.ssh" in made.readable
    assert f"{home}/bin" in made.writable
    with pytest.raises(ConfigError, match="missing does not exist"):
        plan(repo, home, settings=SandboxSettings(mounts=("missing",)))
