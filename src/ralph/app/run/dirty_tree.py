"""What the user has not committed, and ralph would commit with the agent's work."""

import os
from collections.abc import Mapping

from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.config.schema import Settings
from ralph.core.own_files import adds_only_own_ignores, is_own_file
from ralph.core.text.plain import sanitize
from ralph.core.text.quantities import list_some
from ralph.model.errors import UsageError
from ralph.process.atomic_file import open_regular_file
from ralph.process.lock import find_lock_holder
from ralph.process.shell import find_program
from ralph.workspaces.git import Git

MAX_NAMED_FILES = 5


def refuse_uncommitted_changes(settings: Settings, paths: Paths, variables: Mapping[str, str]) -> None:
    """Before the first agent: `git commit -a` cannot tell the user's changes from the agent's. Files that git does not
    know yet are no matter: those that are there before a run are left out of its commits."""
    git, *options = _find_committing_git(settings, paths, variables) or [""]
    if not git or find_lock_holder(paths.lock):  # what is going on there is a run's, and opening ours will say so
        return
    with open_short_lived_processes() as processes:
        own = Git(git, paths.root, environment=variables, processes=processes, options=options)
        changed = list_own_changes(own.with_guard())
    if changed:
        raise UsageError(
            f"uncommitted changes of yours would go into the agent's commits: {describe_files(changed)}",
            "commit or stash them, keep them apart with --worktree, or add --allow-dirty (in settings: scm.allowDirty)",
        )


def list_own_changes(git: Git) -> list[str]:
    """Files that git knows and that are not as they were committed, ralph's own doing left out."""
    return [name for name in git.list_changed_files() if not is_own_file(name) and not _is_our_ignore(git, name)]


def describe_files(names: list[str]) -> str:
    return sanitize(list_some(names, MAX_NAMED_FILES)).replace("\n", " ")


def _find_committing_git(settings: Settings, paths: Paths, variables: Mapping[str, str]) -> list[str]:
    """The git that would commit, and its options; of another program nobody knows what it takes along."""
    scm = settings.scm
    if scm is None or scm.allow_dirty or "commit" not in scm.tasks or not paths.in_git:
        return []
    program, *options = scm.command.split()
    found = find_program(program, variables, paths.folder) if os.path.basename(program) in ("git", "git.exe") else None
    return [found, *options] if found else []


def _is_our_ignore(git: Git, name: str) -> bool:
    if os.path.basename(name) != ".gitignore":
        return False
    try:
        with open(os.path.join(git.folder, name), encoding="utf-8", errors="replace", opener=open_regular_file) as file:
            return adds_only_own_ignores(git.run("show", f"HEAD:{name}").output, file.read())
    except OSError:
        return False
