"""Use case: `runs/<id>/receipt.json`: what proves a run, written at its end, and made again where it is missing."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app.paths import Paths, find_paths
from ralph.app.runs.proofs.evidence import JournalRows, RunEvidence, read_evidence
from ralph.core.check_evidence import digest_checks, redact_checks
from ralph.model.errors import MachineError
from ralph.model.ports import GitClient
from ralph.model.receipt import CheckEvidence, ProofReceipt
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore
from ralph.process.atomic_file import read_regular_file, write_atomic
from ralph.workspaces.snapshots import SNAPSHOT_REFS
from ralph.workspaces.tree_index import NOT_OUR_FILES

if TYPE_CHECKING:
    from ralph.core.proofs.check_files import TreeTexts

RECEIPT_FILE = "receipt.json"
HEAD_COMMIT = "HEAD^{commit}"

GitBlock = AbstractContextManager[GitClient | None]  # the repository around a folder


class _StoryPlace(Struct, frozen=True):
    project: str = ""


class _CheckPlace(Struct, frozen=True):
    """As much of a run's request as tells where its checks ran."""

    place: _StoryPlace = _StoryPlace()
    folder: str = ""


class CheckedTree(Struct, frozen=True, kw_only=True):
    """Which files the checks looked at."""

    commit: str = ""
    tree: str = ""
    is_committed: bool = False


def locate_checks(record: RunRecord, request: bytes) -> str:
    """The folder whose repository the checks looked at. A run is known by another: a list of stories, a task."""
    try:
        asked = msgspec.json.decode(request, type=_CheckPlace)
    except msgspec.MsgspecError:
        asked = _CheckPlace()
    if record.kind == "execute":  # each task has a work tree of its own
        return find_paths(record.folder).root
    return (asked.place.project if record.kind == "story" else asked.folder) or record.folder


def build_proof_receipt(
    record: RunRecord,
    rows: JournalRows,
    folder: str,
    git: GitClient | None,
    *,
    has_just_ended: bool = True,
    kept_tree: str = "",
    isolation: str = "none",
) -> ProofReceipt:
    """Of a run that has ended, whose checks ran in `folder`. Its commands are those that were run, secrets and all.
    What is checked out says something only of a run that has just ended. `kept_tree`: of its newest snapshot."""
    found = read_evidence(rows)
    where = CheckedTree()
    if git and found.has_worked:
        name = found.landed or (HEAD_COMMIT if has_just_ended else "")
        is_last = found.tree in ("", kept_tree)  # on a full disk, an earlier one may be the newest that is kept
        where = _find_checked_tree(git, record.id, name, kept_tree if is_last else "")
    return ProofReceipt(
        run=record.id,
        kind=record.kind,
        outcome=record.outcome or "",
        why=record.why or "",
        agent=record.agent,
        task=record.task,
        started_at=record.started_at,
        ended_at=record.ended_at,
        commit=where.commit,
        tree=where.tree,
        is_committed=where.is_committed,
        folder=_locate_below_root(folder),
        checks=found.checks,
        digest=digest_checks(found.checks),
        changed_proofs=found.changed_proofs,
        approved=found.approved,
        by_words_only=record.outcome == "completed" and not _is_proven(found),
        cost_usd=record.cost_usd,
        commits=found.commits,
        isolation=isolation,
    )


def name_proofs(receipt: ProofReceipt, files: "TreeTexts | None") -> ProofReceipt:
    """With the files that each check rests on. A sealed check had others; so may one of a tree nobody has kept."""
    if files is None:
        return receipt
    from ralph.core.proofs.check_files import list_check_files  # most of what a run loads at its end

    def name(check: CheckEvidence) -> CheckEvidence:
        if not check.is_repeatable:
            return check
        folder = os.path.normpath(os.path.join(receipt.folder, check.folder))
        return replace(check, proofs=list_check_files(check.name, files, "" if folder == "." else folder))

    with suppress(MachineError):  # a file of it cannot be read any more
        return replace(receipt, checks=tuple(map(name, receipt.checks)))
    return receipt


def write_proof_receipt(paths: Paths, receipt: ProofReceipt) -> None:
    """Without secrets: it is there to be shown around."""
    public = replace(receipt, checks=redact_checks(receipt.checks))
    text = msgspec.json.format(msgspec.json.encode(public), indent=2).decode()
    write_atomic(locate_proof_receipt(paths, receipt.run), text + "\n")


def note_accepted(paths: Paths, run: str, accepted: Sequence[str]) -> None:
    """In the file of a run that has ended, if it is there: a person has accepted these proofs since."""
    path = locate_proof_receipt(paths, run)
    with suppress(OSError, msgspec.MsgspecError):
        write_proof_receipt(paths, replace(read_proof_receipt(path), accepted=tuple(accepted)))


def locate_proof_receipt(paths: Paths, run: str) -> str:
    return os.path.join(paths.run_dir(run), RECEIPT_FILE)


def read_proof_receipt(path: str) -> ProofReceipt:
    """OSError where there is none, msgspec.MsgspecError where it is none."""
    return msgspec.json.decode(read_regular_file(path), type=ProofReceipt)


def load_proof_receipt(
    paths: Paths, record: RunRecord, runs: RunStore, open_git: Callable[[str], GitBlock], *, kept_tree: str = ""
) -> ProofReceipt:
    """What its file says of commit and tree, and what its journal says of all else; made again where the file is
    gone."""
    rows, folder = runs.list_transitions(record.id), locate_checks(record, runs.read_request(record.id))
    try:
        known = read_proof_receipt(locate_proof_receipt(paths, record.id))
    except (OSError, msgspec.MsgspecError):
        with open_git(folder) as git:
            made = build_proof_receipt(record, rows, folder, git, has_just_ended=False, kept_tree=kept_tree)
        with suppress(OSError):
            write_proof_receipt(paths, made)
        return made
    found = build_proof_receipt(record, rows, folder, None)
    kept = {name: getattr(known, name) for name in ("commit", "tree", "is_committed", "isolation")}
    if [each.name for each in known.checks] == [each.name for each in redact_checks(found.checks)]:
        pairs = zip(found.checks, known.checks, strict=True)
        kept["checks"] = tuple(replace(check, proofs=written.proofs) for check, written in pairs)
    return replace(found, **kept)


def _is_proven(found: RunEvidence) -> bool:
    return any(check.passed and check.kind in ("command", "judge") for check in found.checks)


def _find_checked_tree(git: GitClient, run: str, name: str, kept_tree: str) -> CheckedTree:
    """What has landed, else what is checked out, and for what is not committed the newest snapshot of the run, which
    runs of version 0.1 have in the project."""
    commit, tree = _resolve_commit(git, name) if name else ("", "")
    if commit and (name != HEAD_COMMIT or tree == kept_tree or _is_clean(git)):
        return CheckedTree(commit=commit, tree=tree, is_committed=True)
    return CheckedTree(commit=commit, tree=kept_tree or _resolve(git, f"{SNAPSHOT_REFS}/{run}^{{tree}}"))


def _resolve_commit(git: GitClient, name: str) -> tuple[str, str]:
    """A commit and its tree; empty where there is none of that name."""
    said = git.run("rev-parse", name, f"{name}^{{tree}}")
    commit, _, tree = said.text.partition("\n") if said.ok else ("", "", "")
    return commit, tree


def _is_clean(git: GitClient) -> bool:
    said = git.run("--no-optional-locks", "status", "--porcelain", "--", ":/", *NOT_OUR_FILES)
    return said.ok and not said.text


def _resolve(git: GitClient, name: str) -> str:
    said = git.run("rev-parse", "--verify", "--quiet", name)
    return said.text if said.ok else ""


def _locate_below_root(folder: str) -> str:
    below = os.path.relpath(folder, find_paths(folder).root)
    return "" if below == "." else below
