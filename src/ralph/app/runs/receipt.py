"""Use case: the receipt of a run: what was done, checked, spent and kept, and why it stopped."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import paths as whereabouts
from ralph.app.paths import Paths
from ralph.app.processes import open_short_lived_processes
from ralph.app.runs.journal_reader import CheckLine, Iteration, Remark, read_journal
from ralph.app.runs.proofs.proof_receipt import load_proof_receipt
from ralph.app.runs.snapshots import SnapshotCommit, list_snapshots, read_accepted_paths, read_snapshot_tree
from ralph.app.runs.status import find_run
from ralph.app.stores import open_existing_stores
from ralph.app.wiring import build_git
from ralph.core.check_evidence import redact_checks
from ralph.model.errors import NoSuchRun
from ralph.model.events import NO_USAGE, Usage
from ralph.model.loop import Limits, Outcome
from ralph.model.receipt import ProofReceipt
from ralph.model.runs import RunRecord
from ralph.workspaces.git import Git

START_SECOND, NEVER_SECOND = 0, 1 << 62  # seconds at which no run goes on


class Receipt(Struct, frozen=True, kw_only=True):
    """Everything a run leaves to tell."""

    id: str
    kind: str
    agent: str
    folder: str
    root: str  # of the work tree around the folder
    task: str
    parent: str | None
    started_at: float
    ended_at: float | None
    seconds: float
    active: bool
    doing: str | None  # while it is active
    outcome: str | None
    why: str | None
    exit_code: int | None
    cost_usd: float | None
    earlier_cost_usd: float | None  # how much of it an earlier run of the same work had spent
    usage: Usage | None
    limits: Limits | None
    before: Iteration | None  # what was done before the first agent, if anything
    iterations: tuple[Iteration, ...]
    snapshots: tuple[SnapshotCommit, ...]
    unread: int  # rows of the journal that nobody can read
    proof: ProofReceipt | None = None  # once it has ended
    paused_by: str = ""
    question: str = ""  # of its agent, which nobody has answered
    title: str = ""  # the first line of its prompt, where somebody asked for it
    estimated_usd: float = 0.0  # of agents that told no cost, apart from cost_usd
    unpriced: int = 0  # agent runs of which nobody knows the cost


def build_receipt(places: Paths, name: str, variables: Mapping[str, str], now: float) -> Receipt:
    """Of a run by its id or the beginning of it; of the newest without a name."""
    record = find_run(places, name)
    rows = _read_rows(places, record.id)
    book = read_journal(rows)
    snapshots = list_snapshots(places, record.id, len(rows) + 1, variables)  # no row makes more than one
    before, *iterations = _point_to_kept_logs(_attach_snapshots(book.iterations, snapshots), places.run_dir(record.id))
    active = record.ended_at is None
    since = max(0.0, now - record.changed_at) if active and record.doing != "pause" else 0.0
    if active and record.doing == "run_agent" and iterations:
        iterations[-1] = replace(iterations[-1], seconds=since)
    return Receipt(
        id=record.id,
        kind=record.kind,
        agent=record.agent,
        folder=record.folder,
        root=whereabouts.find_paths(record.folder).root,
        task=record.task,
        parent=record.parent,
        started_at=record.started_at,
        ended_at=record.ended_at,
        seconds=record.elapsed + since,
        active=active,
        doing=record.doing if active else None,
        outcome=record.outcome,
        why=record.why,
        exit_code=_exit_code(record),
        cost_usd=record.cost_usd,
        earlier_cost_usd=book.earlier_usd,
        usage=None if book.usage == NO_USAGE else book.usage,
        limits=book.limits,
        before=None if before == Iteration(iteration=0) else before,
        iterations=tuple(iterations),
        snapshots=snapshots,
        unread=book.unreadable_rows,
        paused_by=record.paused_by,
        question=record.question,
        estimated_usd=sum(each.estimated_usd or 0.0 for each in iterations),
        unpriced=sum(each.is_unpriced for each in iterations),
        proof=None if active else _load_proof(places, record, variables),
    )


def _load_proof(places: Paths, record: RunRecord, variables: Mapping[str, str]) -> ProofReceipt | None:
    """Without secrets: this is to be shown."""
    with open_existing_stores(places) as stores:
        if stores is None:
            return None
        found = load_proof_receipt(
            places,
            record,
            stores.runs,
            lambda folder: _open_git(folder, variables),
            kept_tree=read_snapshot_tree(places, record.id, variables),
        )
    accepted = read_accepted_paths(places, record.id, record.task if record.kind == "execute" else "", variables)
    return replace(found, checks=redact_checks(found.checks), accepted=accepted)


@contextmanager
def _open_git(folder: str, variables: Mapping[str, str]) -> Iterator[Git | None]:
    with open_short_lived_processes() as processes:
        yield build_git(folder, variables, processes)


def _read_rows(places: Paths, run: str) -> list[tuple[bytes, bytes]]:
    with open_existing_stores(places) as stores:
        if stores is None:
            raise NoSuchRun(f"run {run!r} is gone", "see `ralph status`")
        return stores.runs.list_transitions(run)


def _exit_code(record: RunRecord) -> int | None:
    """None while it runs, and for one whose process ended without a word."""
    known = {outcome.value: outcome.exit_code for outcome in Outcome}
    return known.get(record.outcome or "")


def _point_to_kept_logs(iterations: Sequence[Iteration], run_dir: str) -> list[Iteration]:
    """What the run itself keeps stands for the file in `.ralph/`, which a later run may have written over."""

    def find_log(check: CheckLine) -> CheckLine:
        kept = os.path.join(run_dir, check.run_log)
        return replace(check, log=kept) if check.run_log and os.path.exists(kept) else check

    return [replace(each, checks=tuple(map(find_log, each.checks))) for each in iterations]


def _attach_snapshots(iterations: Sequence[Iteration], snapshots: Sequence[SnapshotCommit]) -> list[Iteration]:
    """Each snapshot beside the iteration that left it, and what a resumed run found beside its beginning."""
    begun = _snapshots_by_start(iterations, snapshots)
    left = _snapshots_by_iteration(iterations, snapshots)
    return [
        replace(
            each,
            snapshot=left.get(at) if each.iteration else begun.get(START_SECOND),
            remarks=tuple(replace(remark, snapshot=begun.get(_resumed_at(remark))) for remark in each.remarks),
        )
        for at, each in enumerate(iterations)
    ]


def _snapshots_by_iteration(iterations: Sequence[Iteration], snapshots: Iterable[SnapshotCommit]) -> dict[int, str]:
    """By place: after an interruption two iterations have the same number, and the last that had begun left it. Git
    knows no time below a second: one that began within it comes second."""
    places: dict[int, list[int]] = {}
    for place, each in enumerate(iterations):
        places.setdefault(each.iteration, []).append(place)
    left: dict[int, str] = {}
    for snapshot in snapshots:
        same = places.get(snapshot.iteration or 0, [])
        begun = [place for place in same if (iterations[place].started_at or 0) < snapshot.at + 1] or same[:1]
        if not snapshot.iteration or not begun:
            continue
        last = max((place for place in begun if (iterations[place].started_at or 0) < snapshot.at), default=begun[0])
        later = [place for place in begun if place > last]
        left[later[0] if last in left and later else last] = snapshot.commit
    return left


def _snapshots_by_start(iterations: Iterable[Iteration], snapshots: Iterable[SnapshotCommit]) -> dict[int, str]:
    """What each life of the run found when it began, by the second of that; git knows no smaller time."""
    lives = [START_SECOND, *(_resumed_at(remark) for each in iterations for remark in each.remarks)]
    return {
        max(life for life in lives if life <= snapshot.at): snapshot.commit
        for snapshot in snapshots
        if snapshot.iteration == 0
    }


def _resumed_at(remark: Remark) -> int:
    """Which one it begins; what is no beginning is of no time."""
    return int(remark.at) if remark.kind == "resumed" else NEVER_SECOND
