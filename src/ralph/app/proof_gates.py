"""The checks of a loop, put together with what watches the files they rest on."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ralph.app.guardrails import DEFAULT_OUTPUT_LIMIT, build_gates, list_guardrail_commands
from ralph.app.runs.earlier_life import find_work_time
from ralph.app.sandbox.choice import WITHOUT_COPIES
from ralph.app.session import Session
from ralph.config.schema import Guardrail
from ralph.engine.committed_trees import CommittedTrees
from ralph.engine.gate_run import GateRunner, GateTree, WrappedProcesses
from ralph.engine.proofs.proof_gates import AskProofJudge, ProofGates
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.model.ports import Gate, Processes, SealedTree, TreeKeeper
from ralph.model.proofs import ProofMode
from ralph.model.runs import RunRecord
from ralph.workspaces.snapshots import Snapshots

_GateFactory = Callable[[Processes], Mapping[str, Gate]]


def build_proof_gates(
    session: Session,
    guardrails: Sequence[Guardrail],
    *,
    keep: Snapshots | None,
    folder: str,
    mode: ProofMode,
    protected: Sequence[str],
    ask_judge: AskProofJudge | None = None,
    committed_apart_from: str = "",
    earlier: Sequence[RunRecord] = (),
    output_limit: int = DEFAULT_OUTPUT_LIMIT,
) -> ProofGates:
    """`folder`: where the checks run. What they rest on is watched unless that was switched off; what is protected,
    always. `committed_apart_from`: they look at what is committed, but for the files of that folder. `earlier`: runs of
    the same work, the newest first. `output_limit`: characters of what a check printed, for the next agent."""

    def build(processes: Processes) -> dict[str, Gate]:
        return build_gates(guardrails, processes, folder=folder, run_dir=session.run_dir, output_limit=output_limit)

    def open_sealed(sealed: SealedTree) -> GateRunner:
        return _prepare_sealed_gates(session, sealed, build, folder)

    def open_committed(copy: SealedTree) -> GateRunner:
        return _prepare_sealed_gates(session, copy, build, folder, tree="committed")

    protected = session.protect(protected)
    commands = list_guardrail_commands(guardrails) if mode != "off" else []
    trees = CommittedTrees(keep, committed_apart_from) if keep and committed_apart_from else None
    watch = None
    if commands or protected or session.containment:
        watch = _watch_proofs(session, keep, commands, folder=folder, protected=protected, trees=trees, earlier=earlier)
    return ProofGates(
        _prepare_gates(session, build(session.contained), folder),
        watch=watch,
        open_sealed=open_sealed,
        ask_judge=ask_judge,
        committed=trees,
        open_committed=open_committed,
    )


def _prepare_gates(
    session: Session, gates: Mapping[str, Gate], folder: str, *, sealed_from: str = "", tree: GateTree = "sealed"
) -> GateRunner:
    return GateRunner(
        gates,
        folder=folder,
        environment=session.gate_environment,
        inbox=session.inbox,
        watchers=session.watchers,
        sealed_from=sealed_from,
        tree=tree,
    )


def _prepare_sealed_gates(
    session: Session, sealed: SealedTree, build: _GateFactory, folder: str, *, tree: GateTree = "sealed"
) -> GateRunner:
    """Checks with the proofs as they were, or on what is committed, in the same sandbox as all others."""
    is_contained = session.containment is not None and session.containment.sandbox.kind not in WITHOUT_COPIES
    gates = build(WrappedProcesses(session.contained, sealed.contain if is_contained else sealed.wrap))
    place = folder if is_contained else sealed.locate(folder)
    return _prepare_gates(session, gates, place, sealed_from=folder, tree=tree)


def _watch_proofs(
    session: Session,
    keep: Snapshots | None,
    commands: Sequence[str],
    *,
    folder: str,
    protected: Sequence[str],
    trees: TreeKeeper | None = None,
    earlier: Iterable[RunRecord] = (),
) -> ProofWatch | None:
    """Watches what these checks rest on, as it was when the run was recorded; None where nobody keeps trees.
    `trees`: how they are looked at, where that is not as they lie on disk. `earlier`: runs of the same work, the
    newest first."""
    record = session.runs.find_record(session.run)
    if keep is None or record is None:
        return None
    return ProofWatch(
        trees or keep,
        commands=commands,
        protected=protected,
        folder=folder,
        environment=session.gate_environment,
        worked=find_work_time(record, earlier),
        closed=session.closed_settings,
        list_accepted=keep.accepted.read,
    )
