"""The effects of `ralph story run`: the story list, the repository, an agent and the commands that verify."""

import os
from collections.abc import Callable, Sequence

from ralph.core.stories.review_scope import is_review_file, is_tool_output
from ralph.core.stories.story_prompt import render_story_prompt
from ralph.core.text.questions import add_notes
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles
from ralph.engine.emit import emit_debug
from ralph.engine.marker import MarkerFile
from ralph.engine.proofs.proof_gates import ProofGates
from ralph.engine.protected_files import ProtectedFiles
from ralph.model.errors import DiskError, MachineError, RalphError
from ralph.model.loop import (
    Brief,
    Check,
    Decision,
    Fact,
    Interrupted,
    Restore,
    Restored,
    RunAgent,
    Survey,
    Surveyed,
    TakeSnapshot,
)
from ralph.model.ports import GitClient, TreeKeeper, Watcher
from ralph.model.story import MARKER_NAME, StoryPaths
from ralph.process.atomic_file import read_regular_file, write_atomic

MAX_NAMED_PATHS = 200
# Nothing of what an agent may have configured is run, and no lock taken, only to look.
READ_ONLY_GIT_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-optional-locks")


def _keep_nothing(brief: Brief) -> None: ...


class StoryEffects:
    """Everything a story loop may touch."""

    def __init__(
        self,
        place: StoryPaths,
        run_dir: str,
        *,
        runner: AgentRunner,
        gates: ProofGates,
        marker: MarkerFile,
        git: GitClient,
        watchers: Sequence[Watcher],
        trees: TreeKeeper | None = None,
        keep_list: Callable[[Brief], None] = _keep_nothing,
    ) -> None:
        """`keep_list`: puts the list that counts where no agent finds it."""
        self._place, self._run_dir = place, run_dir
        self._runner, self._gates = runner, gates
        self._marker, self._git = marker, git
        self._watchers, self._trees = watchers, trees
        self._keep_list = keep_list
        self._before = ""  # the tree the last agent found
        self._files = ProtectedFiles(place.folder)
        self._calls = 0

    def perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                return self._run_agent(brief)
            case TakeSnapshot(iteration):
                return self._runner.take_snapshot(iteration, self._watchers)
            case Survey():
                return self._survey()
            case Restore(text, files=files):
                return self._restore(text, files)
            case Check(gates, iteration, sealed=True, approved=approved):
                return self._gates.check_sealed(gates, iteration, approved)
            case Check(gates, iteration):
                return self._gates.check(gates, iteration)
            case _:
                return None

    def _run_agent(self, brief: Brief) -> Fact:
        self._calls += 1
        self._before = self._trees.tree() if self._trees else ""
        reported = self._runner.call(lambda: self._build_request(brief), self._watchers, brief.agent)
        if self._trees and not self._before:
            self._before = self._trees.tree()  # as seen before that agent; the baseline may be an earlier loop's
        if isinstance(reported, Interrupted):  # the next loop has to know whose work it is
            self._runner.save_cut_off_work(brief.iteration, self._watchers)
        return reported

    def _build_request(self, brief: Brief) -> AgentRequest:
        prompt = add_notes(render_story_prompt(_read_prompt(self._place.prompt), brief), brief.notes)
        try:
            self._marker.write(brief)
        except OSError as error:
            raise MachineError(f"cannot write {error.filename}: {error.strerror}") from error
        self._keep_list(brief)
        emit_debug(self._watchers, brief.iteration, f"Prompt: {prompt[:200]}")
        return AgentRequest(
            prompt=prompt,
            mode="stream",
            files=CallFiles.of_call(self._run_dir, self._calls),
            iteration=brief.iteration,
            budget_usd=brief.budget_usd,
            environment=_build_variables(brief),
            pausable=True,
        )

    def _survey(self) -> Surveyed:
        text, problem = _read_story_list(self._place.tasks)
        folder = os.path.relpath(self._place.folder, self._place.project)
        head, committed, subject = _read_head(self._git)
        lost, rewritten = self._files.find_changes()
        proofs, diff = self._gates.compare() if self._before else ((), "")
        return Surveyed(
            text=text,
            head=head,
            committed=committed,
            subject=subject,
            uncommitted=_list_uncommitted(self._git, folder),
            problem=problem,
            lost=lost,
            rewritten=rewritten,
            branch=_read_branch(self._git),
            touched=self._list_touched(),
            proofs=proofs,
            diff=diff,
        )

    def _list_touched(self) -> tuple[str, ...]:
        """What the last agent changed or committed, but for the files of the loop. What running tests leaves behind is
        no change: files that are new and that nobody commits."""
        trees = self._trees
        if trees is None or not self._before or not trees.tree():
            return ()
        own = os.path.relpath(self._place.folder, trees.root)
        try:
            changes = trees.list_changes(self._before, trees.tree())
        except DiskError:
            raise  # else a review that changed code would count
        except MachineError:
            return ()
        found = [change for change in changes if not is_review_file(change.path, own)]
        added = [change.path for change in found if not change.old_blob and not is_tool_output(change.path)]
        committed = _list_committed(self._git, added[:MAX_NAMED_PATHS]) if added else ()
        return (*(change.path for change in found if change.old_blob), *committed)

    def _restore(self, text: str | None, files: Sequence[str]) -> Restored:
        try:
            if text is not None:
                write_atomic(self._place.tasks, text)
            self._files.restore_files(files)
        except OSError as error:
            raise MachineError(
                f"cannot restore {error.filename}: {error.strerror}", "make room for it, then start again"
            ) from error
        return Restored()


def _list_committed(git: GitClient, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of these paths that the last commit has; they count from the root."""
    said = git.run(
        *READ_ONLY_GIT_OPTIONS,
        "--literal-pathspecs",
        "ls-tree",
        "-r",
        "--full-tree",
        "--name-only",
        "-z",
        "HEAD",
        "--",
        *paths,
    )
    return tuple(name for name in said.output.split("\0") if name) if said.ok else ()


def _read_head(git: GitClient) -> tuple[str, str, str]:
    """The last commit, its tree and its subject; all empty where there is none."""
    found = git.run(*READ_ONLY_GIT_OPTIONS, "log", "-1", "--format=%H %T %s")
    commit, _, rest = found.text.partition(" ") if found.ok else ("", "", "")
    tree, _, subject = rest.partition(" ")
    return commit, tree, subject


def _read_branch(git: GitClient) -> str:
    found = git.run(*READ_ONLY_GIT_OPTIONS, "symbolic-ref", "--quiet", "--short", "HEAD")
    return found.text if found.ok else ""


def _list_uncommitted(git: GitClient, folder: str) -> tuple[str, ...]:
    """Paths that differ from the last commit, but for what ralph keeps beside the loop's folder."""
    found = git.run(*READ_ONLY_GIT_OPTIONS, "status", "--porcelain", "--no-renames", "-z")
    lines = found.output.split("\0") if found.ok else []
    return tuple(line[3:] for line in lines if len(line) > 3 and not _is_ralph_file(line, folder))


def _is_ralph_file(line: str, folder: str) -> bool:
    """As the Stop hook has it: the marker, and settings and logs that nobody has to commit."""
    parts = line[3:].split("/")
    kept = line.startswith("??") and ".ralph" in parts[:-1] and not folder.startswith(".ralph")
    return kept or parts[-1] == MARKER_NAME


def _read_prompt(path: str) -> str:
    try:
        return read_regular_file(path)
    except OSError as error:
        raise RalphError(f"cannot read {path}: {error.strerror}", "create it with `ralph story init`") from error


def _read_story_list(path: str) -> tuple[str | None, str]:
    """The text of tasks.json, or why there is none."""
    try:
        return read_regular_file(path), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"tasks.json cannot be read: {error.strerror}."


def _build_variables(brief: Brief) -> dict[str, str]:
    return {
        "RALPH_ITERATION": str(brief.iteration),
        "RALPH_MAX_ITERATIONS": str(brief.limit),
        "RALPH_MODE": brief.role,
        "RALPH_STORY": brief.story,
    }
