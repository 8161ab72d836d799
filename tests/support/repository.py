"""A real repository, with our git in it through a real guardian."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ralph.agents._cards import load_builtin_cards
from ralph.app.paths import find_paths
from ralph.app.wiring import build_snapshots
from ralph.core.instruction_files import collect_instruction_files
from ralph.process.supervisor import Supervisor
from ralph.workspaces.git import Git
from ralph.workspaces.snapshots import BaselineSource, Snapshots
from ralph.workspaces.worktree import Worktree, Worktrees
from support.quiet_inbox import QuietInbox

BREAKABLE_GIT = """#!/bin/sh
for word; do
    if [ -f {broken} ] && [ "$word" = "$(cat {broken})" ]; then
        if [ -f {broken}.guardian ]; then rm {broken}.guardian {broken}; kill -9 $PPID; sleep 30; fi
        cat {broken}.words >&2; exit 128
    fi
done
exec {git} "$@"
"""
GIT_USER_CONFIG = "[user]\nname = t\nemail = t@localhost\n[init]\ndefaultBranch = main\n"
INSTRUCTIONS = collect_instruction_files(load_builtin_cards().values())


class RepositoryFixture:
    """One commit on main, and whatever a test adds."""

    def __init__(self, folder: Path, supervisor: Supervisor, config: str = GIT_USER_CONFIG) -> None:
        self.supervisor = supervisor
        self.root = folder / "repo"
        self.root.mkdir()
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        (folder / "gitconfig").write_text(GIT_USER_CONFIG)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
        self.environment["GIT_CONFIG_GLOBAL"] = str(folder / "gitconfig")
        self.run("init", "-q")
        self.commit("README", "x\n")
        (folder / "gitconfig").write_text(config)
        self.git = self._make_git().with_identity()
        self.trees = Worktrees(self.git, str(self.root), str(self.root / ".git"))

    def run(self, *words: str, at: str | Path = "") -> str:
        """The user's git, or an agent's."""
        done = subprocess.run(
            ["git", *words], cwd=at or self.root, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def commit(self, name: str, text: str, at: str | Path = "") -> str:
        """Someone writes a file and commits it."""
        (Path(at or self.root) / name).write_text(text)
        self.run("add", "-A", at=at)
        self.run("commit", "-qm", f"Write {name}", at=at)
        return self.run("rev-parse", "HEAD", at=at)

    def make_users_git(self) -> Git:
        """Git as the user has it, with settings and hooks as they are now."""
        return self._make_git(is_users=True).with_guard()

    def _make_git(self, *, is_users: bool = False) -> Git:
        program = shutil.which("git", path=self.environment["PATH"])
        assert program
        folder, processes = str(self.root), self.supervisor
        return Git(program, folder, environment=self.environment, processes=processes, is_users=is_users)

    def guard(self) -> None:
        """From now on git believes nothing that comes new into its settings and hooks."""
        self.git = self.git.with_guard()
        self.trees = Worktrees(self.git, str(self.root), str(self.root / ".git"))

    def keeper(
        self, run: str, at: str | Path = "", *, keeps: bool = True, unfinished: tuple[str, ...] = ()
    ) -> Snapshots:
        """What looks at the work tree for a run."""
        made = build_snapshots(
            keeps,
            run,
            tree=find_paths(str(at or self.root)),
            variables=self.environment,
            processes=self.supervisor,
            baseline=BaselineSource(name=run, unfinished=unfinished),
        )
        assert made
        return made

    def break_git(self, command: str, complaint: str) -> None:
        """From now on this command of git fails and says so, for who looks for git from now on; "": none does."""
        broken, program = self.scratch / "broken", self.scratch / "bin/git"
        broken.write_text(command)
        broken.with_suffix(".words").write_text(complaint)
        if not program.exists():
            program.parent.mkdir()
            program.write_text(BREAKABLE_GIT.format(broken=broken, git=shutil.which("git")))
            program.chmod(0o755)
            self.environment["PATH"] = f"{program.parent}:{self.environment['PATH']}"

    def kill_guardian_at(self, command: str) -> None:
        """Once, when this command of git is run."""
        self.break_git(command, "")
        (self.scratch / "broken.guardian").touch()

    @property
    def own_dir(self) -> Path:
        """Where our git keeps what a keeper has seen; there is one when there was a keeper."""
        (found,) = (self.root.parent / ".local/state/ralph/trees").iterdir()
        return found

    def run_own(self, *words: str) -> str:
        """Git in our own directory."""
        return self.run(f"--git-dir={self.own_dir}", f"--work-tree={self.root}", *words)

    def open(self, task: str = "TASK-001") -> Worktree:
        """A task's work tree."""
        return self.trees.open(task, "main")


@contextmanager
def open_repository(folder: Path, config: str = GIT_USER_CONFIG) -> Iterator[RepositoryFixture]:
    """For as long as the block lasts."""
    inbox = QuietInbox()
    supervisor = Supervisor(inbox)
    try:
        yield RepositoryFixture(folder, supervisor, config)
    finally:
        supervisor.close()
        inbox.close()
