"""Use case: run every check of a receipt again, on the files it was made for, in any clone."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Paths
from ralph.app.runs.proofs.proof_receipt import load_proof_receipt, read_proof_receipt
from ralph.app.runs.snapshots import SnapshotReader
from ralph.app.stores import open_existing_stores
from ralph.app.wiring import build_gate_variables, build_git
from ralph.core.check_evidence import digest_checks
from ralph.core.environment import without_git_vars
from ralph.engine.inbox import SignalInbox
from ralph.model.errors import MachineError, NoSuchRun, UsageError
from ralph.model.ports import Processes
from ralph.model.receipt import CheckEvidence, ProofReceipt, parse_trailer
from ralph.model.verdict import Claim, Verdict, VerifierTools
from ralph.process.supervisor import Supervisor
from ralph.verifiers._verdict_cache import IterationCache
from ralph.verifiers.external import build as build_external_verifier
from ralph.workspaces.exported_tree import open_exported_tree
from ralph.workspaces.git import Git

NOT_A_COMMAND = "no command: it cannot be repeated"
HIDDEN_COMMAND = "its command holds a secret, which a receipt does not; verify it where the run is"
SEALED_CHECK = "it ran with its proofs as they were before the run, and is not repeated"
INTERRUPTED_REASON = "interrupted"

RecheckResult = Literal["holds", "broken", "unknown"]


class FoundReceipt(Struct, frozen=True, kw_only=True):
    """What is to be verified, and on which files."""

    receipt: ProofReceipt
    commit: str = ""  # another one than the receipt's: its message names the receipt
    problem: str = ""  # why the commit's message is not to be believed


class RecheckedCommand(Struct, frozen=True, kw_only=True):
    """What became of one check."""

    check: CheckEvidence
    standing: RecheckResult
    reason: str = ""
    detail: str = ""  # what it printed, where it does not hold
    seconds: float = 0.0


class VerifiedRun(Struct, frozen=True, kw_only=True):
    """What still holds of a receipt."""

    run: str
    commit: str
    tree: str
    notes: tuple[str, ...] = ()
    problem: str = ""
    checks: tuple[RecheckedCommand, ...] = ()
    interrupted: bool = False

    @property
    def holds(self) -> bool:
        """Whether there was something to run again, and all of it passed."""
        standings = {each.standing for each in self.checks}
        return "holds" in standings and "broken" not in standings and not self.problem and not self.interrupted


def verify_run(paths: Paths, name: str, variables: Mapping[str, str]) -> VerifiedRun:
    """`name` is a run, a receipt's file, or a commit whose message names a receipt."""
    with _open_tools(paths, variables) as tools:
        found = _find_receipt(paths, name, tools.git)
        receipt = found.receipt
        if receipt.outcome != "completed":
            problem = f"run {receipt.run} did not complete ({receipt.outcome}): {receipt.why}"
            return VerifiedRun(run=receipt.run, commit=receipt.commit, tree=receipt.tree, problem=problem)
        source = _choose_source(found, tools)
        with open_exported_tree(tools.git, source.name, source.write_files) as folder:
            checks = [*_repeat_checks(receipt, folder, tools)]
        interrupted = bool(tools.inbox.poll_interruption())
    return VerifiedRun(
        run=receipt.run,
        commit=found.commit or receipt.commit,
        tree=receipt.tree,
        notes=source.notes,
        problem=found.problem or _explain_nothing(receipt),
        checks=tuple(checks),
        interrupted=interrupted,
    )


class _Source(Struct, frozen=True, kw_only=True):
    """Where the files come from."""

    name: str  # of a commit or tree
    write_files: Callable[[str], None] | None = None  # others than the commit's
    notes: tuple[str, ...] = ()


class _Tools(Struct, frozen=True, kw_only=True):
    """What checks are run again with."""

    git: Git
    snapshots: SnapshotReader
    inbox: SignalInbox
    processes: Processes
    environment: Mapping[str, str]


@contextmanager
def _open_tools(paths: Paths, variables: Mapping[str, str]) -> Iterator[_Tools]:
    inbox = SignalInbox(lambda: False, int)
    supervisor = Supervisor(inbox)
    try:
        git = build_git(paths.root, variables, supervisor)
        if git is None:
            raise MachineError(
                f"{paths.root} is not a git repository", "run it in a clone of the one the run worked in"
            )
        environment = build_gate_variables(without_git_vars(variables), {})
        snapshots = SnapshotReader(paths, variables, supervisor)
        yield _Tools(git=git, snapshots=snapshots, inbox=inbox, processes=supervisor, environment=environment)
    finally:
        supervisor.close()
        inbox.close()


# -- which receipt --------------------------------------------------------------------------------
def _find_receipt(paths: Paths, name: str, git: Git) -> FoundReceipt:
    path = os.path.join(paths.started_in, name)
    if os.path.isfile(path):
        brought = _read_file(path)
        return FoundReceipt(receipt=brought, problem=_find_forgery(brought, git))
    if receipt := _load_recorded(paths, name):
        return FoundReceipt(receipt=receipt)
    if commit := git.find_commit(name):
        return _find_named_by(paths, commit, git)
    raise NoSuchRun(f"no run, receipt file or commit {name!r}", "see `ralph status`")


def _find_forgery(receipt: ProofReceipt, git: Git) -> str:
    """Why a receipt that somebody brought is not the one that was written; empty: nothing speaks against it. The commit
    of a task tells what was proven when it landed; what was checked after that comes behind it."""
    if receipt.digest and receipt.digest != digest_checks(receipt.checks):
        return f"the receipt of run {receipt.run} was edited: its checks do not have the digest it names"
    commit = git.find_commit(receipt.commit) if receipt.commit and receipt.task else ""
    named = parse_trailer(git.run("show", "--no-patch", "--format=%B", commit).output) if commit else None
    if named is None or named[0] != receipt.run:
        return ""
    proven = (digest_checks(receipt.checks[:count]) for count in range(len(receipt.checks) + 1))
    fits = any(each.startswith(named[1]) for each in proven)
    return "" if fits else _describe_other_digest(commit, receipt.run)


def _describe_other_digest(commit: str, run: str) -> str:
    return f"commit {commit[:12]} names another digest than the receipt of run {run} has"


def _read_file(path: str) -> ProofReceipt:
    try:
        return read_proof_receipt(path)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError(f"{path} is not a receipt: {error}", "give the receipt.json of a run") from error


def _load_recorded(paths: Paths, run: str) -> ProofReceipt | None:
    with open_existing_stores(paths) as stores:
        record = stores.runs.find_record(run) if stores else None
        if stores is None or record is None:
            return None
        if record.ended_at is None:
            raise UsageError(f"run {record.id} has not ended", "wait for it, or `ralph cancel` it")
        return load_proof_receipt(paths, record, stores.runs, lambda _: nullcontext())


def _find_named_by(paths: Paths, commit: str, git: Git) -> FoundReceipt:
    named = parse_trailer(git.run("show", "--no-patch", "--format=%B", commit).output)
    if named is None:
        raise UsageError(f"commit {commit[:12]} names no receipt", "give a run: see `ralph status`")
    run, digest = named
    receipt = _load_recorded(paths, run)
    if receipt is None:
        hint = f"get runs/{run}/receipt.json from where it ran, and `ralph verify FILE`"
        raise NoSuchRun(f"commit {commit[:12]} names run {run}, which this clone does not know", hint)
    known = {receipt.digest, *(signed.digest for signed in receipt.commits)}
    fits = any(each.startswith(digest) for each in known)
    problem = "" if fits else _describe_other_digest(commit, run)
    return FoundReceipt(receipt=receipt, commit=commit, problem=problem)


def _choose_source(found: FoundReceipt, tools: _Tools) -> _Source:
    """The very tree that was checked, if it is here; else the commit, and what is to be said about that."""
    receipt, commit = found.receipt, found.commit or found.receipt.commit
    if receipt.tree and not found.commit:
        if tools.git.run("cat-file", "-e", f"{receipt.tree}^{{tree}}").ok:
            return _Source(name=receipt.tree)
        if tools.snapshots.has_tree(receipt.tree):
            base = tools.git.find_commit(commit) if commit else ""
            write = partial(tools.snapshots.write_tree_files, receipt.tree)
            return _Source(name=base or tools.git.find_commit("HEAD"), write_files=write)
    if not commit:
        raise MachineError(
            f"the files of run {receipt.run} are not in this repository", "they were not committed; see `ralph show`"
        )
    if not tools.git.find_commit(commit):
        raise MachineError(f"commit {commit[:12]} is not in this repository", "get it with `git fetch`")
    if found.commit or receipt.is_committed:
        return _Source(name=commit)
    note = f"not all files of the run are here: checking commit {commit[:12]} without what it did not commit"
    return _Source(name=commit, notes=(note,))


# -- its checks -----------------------------------------------------------------------------------
def _explain_nothing(receipt: ProofReceipt) -> str:
    has_command = any(check.is_repeatable for check in receipt.checks)
    return "" if has_command else f"run {receipt.run} has no check that could be run again"


def _repeat_checks(receipt: ProofReceipt, folder: str, tools: _Tools) -> Iterator[RecheckedCommand]:
    """Each command once, however many stages it served."""
    verdicts: dict[CheckEvidence, Verdict] = {}
    for check in receipt.checks:
        if not check.is_repeatable:
            reason = HIDDEN_COMMAND if check.is_redacted else SEALED_CHECK if check.sealed else NOT_A_COMMAND
            yield RecheckedCommand(check=check, standing="unknown", reason=reason)
            continue
        key = _without_result(check)
        if key not in verdicts:
            if tools.inbox.poll_interruption():
                return
            verdicts[key] = _repeat_check(check, receipt, folder, tools)
        yield _compare(check, verdicts[key])


def _without_result(check: CheckEvidence) -> CheckEvidence:
    """What two checks have in common that are the same command."""
    return CheckEvidence(
        name=check.name,
        passed=True,
        timeout=check.timeout,
        folder=check.folder,
        success_exit_code=check.success_exit_code,
        output_contains=check.output_contains,
        output_not_contains=check.output_not_contains,
    )


def _repeat_check(check: CheckEvidence, receipt: ProofReceipt, folder: str, tools: _Tools) -> Verdict:
    config = {
        "command": check.name,
        "timeout": check.timeout,
        "working_dir": os.path.join(receipt.folder, check.folder) or ".",
        "success_exit_code": check.success_exit_code,
        "output_contains": check.output_contains,
        "output_not_contains": check.output_not_contains,
    }
    verifier_tools = VerifierTools(
        processes=lambda: nullcontext(tools.processes), memory=IterationCache(), build=lambda *_: None
    )
    claim = Claim(promise="", output="", folder=folder, environment=tools.environment)
    return build_external_verifier(config, verifier_tools).verify(claim)


def _compare(check: CheckEvidence, verdict: Verdict) -> RecheckedCommand:
    if verdict.interrupted:
        return RecheckedCommand(check=check, standing="unknown", reason=INTERRUPTED_REASON)
    found = RecheckedCommand(check=check, standing="broken", reason=verdict.reason, seconds=verdict.seconds)
    if verdict.verified == check.passed:
        return replace(found, standing="holds")
    return replace(found, detail=verdict.detail)
