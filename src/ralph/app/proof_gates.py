"""The checks of a loop, put together with what watches the files they rest on."""

from collections.abc import Sequence

from ralph.app.guardrails import build_gates, list_guardrail_commands
from ralph.app.session import Session
from ralph.config.schema import Guardrail
from ralph.engine.committed_trees import CommittedTrees
from ralph.engine.gate_run import GateRunner
from ralph.engine.proof_gates import AskProofJudge, ProofGates
from ralph.model.ports import Gate, Processes, SealedTree
from ralph.model.proofs import ProofMode
from ralph.model.runs import RunRecord
from ralph.workspaces.snapshots import Snapshots


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
) -> ProofGates:
    """`folder`: where the checks run. What they rest on is watched unless that was switched off; what is protected,
    always. `committed_apart_from`: they look at what is committed, but for the files of that folder. `earlier`: runs of
    the same work, the newest first."""

    def build(processes: Processes) -> dict[str, Gate]:
        return build_gates(guardrails, processes, folder=folder, run_dir=session.run_dir)

    def open_sealed(sealed: SealedTree) -> GateRunner:
        return session.prepare_sealed_gates(sealed, build, folder)

    def open_committed(copy: SealedTree) -> GateRunner:
        return session.prepare_sealed_gates(copy, build, folder, tree="committed")

    protected = session.protect(protected)
    commands = list_guardrail_commands(guardrails) if mode != "off" else []
    is_watched = bool(commands or protected or session.containment)
    trees = CommittedTrees(keep, committed_apart_from) if keep and committed_apart_from else None
    watch = session.watch_proofs(keep, commands, folder=folder, protected=protected, trees=trees, earlier=earlier)
    return ProofGates(
        session.prepare_gates(build(session.contained), folder),
        watch=watch if is_watched else None,
        open_sealed=open_sealed,
        ask_judge=ask_judge,
        committed=trees,
        open_committed=open_committed,
    )
