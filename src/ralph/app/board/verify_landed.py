"""Use case: the commands of all tasks that have landed, run on what their targets hold now."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app.board.tasks import list_cards
from ralph.app.paths import Paths
from ralph.app.pipeline import stages
from ralph.app.pipeline.task_inbox import TaskInbox
from ralph.app.pipeline.task_processes import TaskProcesses
from ralph.app.pipeline.verification import build_tools, select_file_criteria, verify_claim
from ralph.app.session import Callbacks
from ralph.app.stores import open_existing_stores
from ralph.app.wiring import build_gate_variables, build_git
from ralph.config.schema import Settings
from ralph.core.environment import without_git_vars
from ralph.engine.inbox import SignalInbox
from ralph.model.board import Entry
from ralph.model.errors import MachineError
from ralph.model.receipt import CheckEvidence
from ralph.model.spec import ROLES
from ralph.model.verdict import Claim, VerifierTools
from ralph.workspaces.exported_tree import open_exported_tree
from ralph.workspaces.git import Git


class LandedFinding(Struct, frozen=True, kw_only=True):
    """What a landed task's own commands say of its target today."""

    task: str
    target: str
    checks: tuple[CheckEvidence, ...] = ()  # none: it has no command, or was not reached
    interrupted: bool = False

    @property
    def holds(self) -> bool:
        return all(check.passed for check in self.checks) and not self.interrupted


def verify_landed_tasks(
    paths: Paths, settings: Settings, *, variables: Mapping[str, str], callbacks: Callbacks
) -> list[LandedFinding]:
    """A command that several tasks have in common runs once for each target."""
    entries = _list_landed(paths)
    found: list[LandedFinding] = []
    with _open_processes(callbacks) as processes:
        for target in dict.fromkeys(entry.target for entry in entries):
            git = build_git(paths.root, variables, processes.make_uninterruptible())
            if git is None:
                raise MachineError(f"{paths.root} is not a git repository", "run it where the tasks are")
            landed = [entry for entry in entries if entry.target == target]
            found += _verify_target(landed, target, settings, _Tools(git, processes, variables))
    return found


class _Tools(Struct, frozen=True):
    """What commands are run with."""

    git: Git
    processes: TaskProcesses
    variables: Mapping[str, str]


def _list_landed(paths: Paths) -> list[Entry]:
    done = [card.id for card in list_cards(paths) if card.status == "done"]
    with open_existing_stores(paths) as stores:
        return [] if stores is None else [stores.tasks.get(name) for name in done]


@contextmanager
def _open_processes(callbacks: Callbacks) -> Iterator[TaskProcesses]:
    signals = SignalInbox(lambda: False, callbacks.on_signal)
    inbox = TaskInbox(signals, lambda: bool(signals.poll_interruption()))  # nothing here is worth finishing
    processes = TaskProcesses(inbox, set())
    try:
        yield processes
    finally:
        processes.close()
        signals.close()


def _verify_target(entries: Sequence[Entry], target: str, settings: Settings, tools: _Tools) -> list[LandedFinding]:
    commit = tools.git.find_commit(f"refs/heads/{target}" if target else "HEAD")
    if not commit:
        raise MachineError(f"there is no branch {target!r}", f"tasks have landed on it: {entries[0].task.id}")
    verifier_tools = build_tools(tools.processes.borrow)
    environment = build_gate_variables(without_git_vars(tools.variables), {})
    with open_exported_tree(tools.git, commit) as folder:
        claim = Claim(promise="", output="", folder=folder, environment=environment, tree=commit)
        return [*_verify_entries(entries, target, settings, claim=claim, tools=verifier_tools)]


def _verify_entries(
    entries: Sequence[Entry], target: str, settings: Settings, *, claim: Claim, tools: VerifierTools
) -> Iterator[LandedFinding]:
    for entry in entries:
        checks: dict[tuple[str, str], CheckEvidence] = {}  # of a command that several stages have, the first is enough
        interrupted = False
        for role in ROLES:
            criteria = select_file_criteria(stages.resolve_stage_criteria(entry.task, role, settings).criteria)
            if criteria is None or interrupted:
                continue
            promised = _build_promise(claim, criteria.promise)
            verdict = verify_claim(promised, criteria, tools)
            interrupted = verdict.interrupted
            for check in verdict.list_evidence(role):
                checks.setdefault((check.name, check.folder), check)
        yield LandedFinding(task=entry.task.id, target=target, checks=tuple(checks.values()), interrupted=interrupted)
        if interrupted:
            return


def _build_promise(claim: Claim, promise: str) -> Claim:
    """As its agent did, whose message is not asked for again."""
    return Claim(
        promise=promise,
        output=f"<promise>{promise}</promise>",
        folder=claim.folder,
        environment=claim.environment,
        tree=claim.tree,
    )
