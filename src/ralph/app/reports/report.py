"""Use case: the report on a command: every run of it, what it cost, which checks failed, what reviewers said."""

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ralph.app.paths import Paths, find_paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.reports.command_runs import (
    TASK_RUN_KIND,
    describe_goal,
    list_command_runs,
    list_runs_since,
    read_branch_of,
)
from ralph.app.runs.journal_reader import DONE_CHECK_NAME, Iteration
from ralph.app.runs.receipt import Receipt, build_receipt
from ralph.app.runs.spending import ExpenseSum, group_expenses, list_expenses, sum_expenses
from ralph.app.runs.status import explain_lost_records
from ralph.app.stores import open_existing_stores
from ralph.app.wiring import build_git
from ralph.core.reporting.next_steps import EndedRun, NextStep, find_next_step
from ralph.core.text.secrets import redact
from ralph.model.board import NoSuchTask
from ralph.model.errors import CorruptState, NoSuchRun
from ralph.model.receipt import ProofReceipt
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

MAX_REPORTED_RUNS = 200  # the latest; a year of runs is no report


class ReportedRun(Struct, frozen=True, kw_only=True):
    """One run, what it was for, and what it leaves to do."""

    goal: str
    receipt: Receipt
    next_step: NextStep | None = None


class CheckCount(Struct, frozen=True, kw_only=True):
    """How often one check ran, and how often it failed."""

    name: str
    runs: int
    failed: int


class ReviewNote(Struct, frozen=True, kw_only=True):
    """What one reviewer, tester or qa came to."""

    run: str
    task: str  # or story
    iteration: int
    role: str
    verdict: str  # approved, changes requested, …
    text: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """All of it. As JSON, what `ralph report --json` prints."""

    root: str
    made_at: float
    since: float | None = None  # None: one command
    runs: tuple[ReportedRun, ...]
    left_out: int = 0  # older runs
    total: ExpenseSum
    by_model: tuple[ExpenseSum, ...] = ()
    checks: tuple[CheckCount, ...] = ()
    reviews: tuple[ReviewNote, ...] = ()

    @property
    def is_active(self) -> bool:
        return any(run.receipt.active for run in self.runs)

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        return tuple(run.next_step for run in self.runs if run.next_step)


def build_report(paths: Paths, name: str, variables: Mapping[str, str]) -> Report:
    """On the run of that name (its beginning will do), or on the newest command."""
    if lost := explain_lost_records(paths):
        raise lost
    with open_existing_stores(paths) as stores:
        if stores is None:
            raise NoSuchRun("there is no run yet", "start one with `ralph run -p PROMPT`")
        return _build_report(paths, stores, list_command_runs(stores, name), variables)


def build_report_since(paths: Paths, since: float, variables: Mapping[str, str]) -> Report:
    """On all runs of this repository since then; one without runs is a report, too."""
    if lost := explain_lost_records(paths):
        raise lost
    with open_existing_stores(paths) as stores:
        if stores is None:
            return Report(root=paths.root, made_at=time.time(), since=since, runs=(), total=sum_expenses([]))
        return _build_report(paths, stores, list_runs_since(stores, since), variables, since=since)


def _build_report(
    paths: Paths,
    stores: Stores,
    records: Sequence[RunRecord],
    variables: Mapping[str, str],
    *,
    since: float | None = None,
) -> Report:
    now, kept = time.time(), records[-MAX_REPORTED_RUNS:]
    ids = {record.id for record in kept}
    first = min((record.started_at for record in kept), default=now) if since is None else since
    expenses = [expense for expense in list_expenses(paths, first) if expense.run in ids]
    receipts = {record.id: build_receipt(paths, record.id, variables, now) for record in kept}
    superseded = _find_superseded(kept, stores)
    runs = tuple(
        ReportedRun(
            goal=redact(describe_goal(record, stores)),
            receipt=receipts[record.id],
            next_step=None if record.id in superseded else _find_step(record, receipts[record.id], stores, variables),
        )
        for record in kept
    )
    iterations = [(receipt, each) for receipt in receipts.values() for each in receipt.iterations]
    return Report(
        root=paths.root,
        made_at=now,
        since=since,
        runs=runs,
        left_out=len(records) - len(kept),
        total=sum_expenses(expenses),
        by_model=tuple(group_expenses(expenses, "model")),
        checks=count_checks(each for _, each in iterations),
        reviews=tuple(note for receipt, each in iterations for note in list_review_notes(receipt, each)),
    )


def _find_superseded(records: Sequence[RunRecord], stores: Stores) -> set[str]:
    """Runs whose work a later one took up again: only that one leaves anything to do."""
    last = {(run.kind, run.folder, run.task or describe_goal(run, stores)): run.id for run in records}
    return {run.id for run in records} - {*last.values()}


def _find_step(record: RunRecord, receipt: Receipt, stores: Stores, variables: Mapping[str, str]) -> NextStep | None:
    if receipt.active:
        return None
    proof = receipt.proof
    ended = EndedRun(
        run=record.id,
        kind=record.kind,
        outcome=record.outcome or "",
        why=redact(record.why or ""),
        task=record.task if record.kind == TASK_RUN_KIND else "",
        task_status=_find_task_status(stores, record),
        iterations=record.limit,
        suspect_proofs=list_unseen_proofs(proof) if proof else (),
        by_words_only=proof is not None and proof.by_words_only,
        question=redact(record.question),
        folder=os.path.relpath(record.folder) if record.kind == "supervise" else "",
        branch=_find_unmerged_branch(stores.runs.read_request(record.id), record.folder, variables),
    )
    return find_next_step(ended)


def _find_unmerged_branch(request: bytes, folder: str, variables: Mapping[str, str]) -> str:
    """The branch a run worked on, as long as it is there and has what is not checked out."""
    if not (branch := read_branch_of(request)):
        return ""
    with open_short_lived_processes() as processes:
        git = build_git(find_paths(folder).main_root, variables, processes)
        if git is None or not git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").ok:
            return ""
        is_merged = git.run("merge-base", "--is-ancestor", f"refs/heads/{branch}", "HEAD").ok
    return "" if is_merged else branch


def list_unseen_proofs(proof: ProofReceipt) -> tuple[str, ...]:
    """Files its checks rest on that are not what they were, and of which nobody has said that this is right."""
    seen = {*proof.accepted, *(approval.change.path for approval in proof.approved)}
    return tuple(change.path for change in proof.changed_proofs if change.is_suspect and change.path not in seen)


def _find_task_status(stores: Stores, record: RunRecord) -> str:
    if record.kind != TASK_RUN_KIND:
        return ""
    try:
        return str(stores.tasks.get(record.task).task.status)
    except (NoSuchTask, CorruptState):
        return ""


def count_checks(iterations: Iterable[Iteration]) -> tuple[CheckCount, ...]:
    """By name: those that failed most come first."""
    runs, failed = Counter[str](), Counter[str]()
    for each in iterations:
        for check in each.checks:
            if check.name == DONE_CHECK_NAME:
                continue  # a mark that is not there yet is no failure
            what = check.command or check.name
            name = f"{each.role}: {what}" if each.role else what
            runs[name] += 1
            failed[name] += not check.passed
    counts = (CheckCount(name=name, runs=count, failed=failed[name]) for name, count in runs.items())
    return tuple(sorted(counts, key=lambda one: (-one.failed, -one.runs, one.name)))


def list_review_notes(receipt: Receipt, each: Iteration) -> list[ReviewNote]:
    """What was said about the work after that agent run: by a task's later stages, or in the list of stories."""

    def note(verdict: str, text: str) -> ReviewNote:
        what = each.story if receipt.kind == "story" else receipt.task
        return ReviewNote(
            run=receipt.id, task=what, iteration=each.iteration, role=each.role, verdict=verdict, text=redact(text)
        )

    sent_back = [note("sent back", remark.text) for remark in each.remarks if remark.kind == "sent_back"]
    if each.reviewed is not None and each.role == "review":
        return [*sent_back, note((each.reviewed.status or "open").replace("_", " "), each.reviewed.feedback)]
    if receipt.kind == TASK_RUN_KIND and each.role not in ("", "coder") and not sent_back:
        return [note("passed" if check.passed else "not proven", check.reason) for check in each.checks[-1:]]
    return sent_back
