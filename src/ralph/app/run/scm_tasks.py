"""Git, or what `scm.command` names, for the tasks after a passing iteration."""

import os

from ralph.app.run.dirty_tree import describe_files
from ralph.app.session import Session
from ralph.config.schema import Settings
from ralph.engine.emit import emit
from ralph.engine.scm import SCM_TIMEOUT_SECONDS, ScmRunner
from ralph.model.events import Noted
from ralph.process.index_lock import IndexLock
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.project_dir import find_git_dir


def build_scm_runner(session: Session, settings: Settings) -> ScmRunner | None:
    wanted = settings.scm
    if wanted is None:
        return None
    program, *options = wanted.command.split()
    git = Git(
        find_program(program, session.variables, session.paths.folder) or program,
        session.paths.folder,
        environment=session.gate_environment,
        processes=session.processes,
        options=options,
        timeout=SCM_TIMEOUT_SECONDS,
        is_users=True,
    )
    if os.path.basename(program) in ("git", "git.exe"):
        git = git.with_guard()
    scm = ScmRunner(
        wanted.command,
        wanted.tasks,
        git=git,
        run_dir=session.run_dir,
        find_detour=git.find_detour,
        index_lock=_find_index_lock(session) if session.paths.in_git else None,
    )
    if scm.left_out:
        emit(session.watchers, 0, Noted(f"untracked files are left out of commits: {describe_files(scm.left_out)}"))
    return scm


def _find_index_lock(session: Session) -> IndexLock:
    return IndexLock(
        os.path.join(find_git_dir(session.paths.root), "index.lock"),
        os.path.join(session.run_dir, "committing"),
        folder=session.paths.root,
        longest=SCM_TIMEOUT_SECONDS,
    )
