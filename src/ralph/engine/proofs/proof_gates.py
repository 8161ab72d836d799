"""The checks of a loop together with what they rest on: compared when they pass, put back for a sealed check."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ralph.core.proofs.wording import render_judge_question
from ralph.engine.committed_trees import CommittedTrees
from ralph.engine.gate_run import GateRunner
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.model.errors import DiskError, MachineError
from ralph.model.loop import Checked, GateResult, Interrupted, Verified
from ralph.model.ports import SealedTree
from ralph.model.proofs import ProofApproval, ProofChange

AskProofJudge = Callable[[str], Verified | Interrupted]


class ProofGates:
    """`open_sealed`: the same gates for a sealed tree. `ask_judge`: about an explained change. `committed`,
    `open_committed`: where the checks look at what is committed."""

    def __init__(
        self,
        gates: GateRunner,
        *,
        watch: ProofWatch | None = None,
        open_sealed: Callable[[SealedTree], GateRunner] | None = None,
        ask_judge: AskProofJudge | None = None,
        committed: CommittedTrees | None = None,
        open_committed: Callable[[SealedTree], GateRunner] | None = None,
    ) -> None:
        self._gates, self.watch = gates, watch
        self._open_sealed, self._ask_judge = open_sealed, ask_judge
        self._committed, self._open_committed = committed, open_committed
        self._sealed = Checked((), sealed=True)

    def compare(self) -> tuple[tuple[ProofChange, ...], str]:
        """What is not as it was when the loop began, by the tree as last looked at, and the diff of what is suspect."""
        if self.watch is None:
            return (), ""
        if self._committed:
            self._committed.follow()
        found = self.watch.compare()
        return found, self.watch.diff_suspects(found)

    def check(self, names: Sequence[str], iteration: int) -> Checked | Interrupted:
        """Where all pass, with what is not as it was when the loop began: agents, their children and the checks
        themselves may have touched it."""
        if self.watch:
            self.watch.compare()  # which runners there are
            self.watch.clear_caches()
        checked = self.run_gates(names, iteration)
        if self.watch is None or isinstance(checked, Interrupted) or checked.failures:
            return checked
        return replace(checked, proofs=self.watch.compare_after(iteration, checked.results))

    def run_gates(self, names: Sequence[str], iteration: int) -> Checked | Interrupted:
        """Without a look at what they rest on."""
        trees, open_copy = self._committed, self._open_committed
        if trees is None or open_copy is None or not names:
            return self._gates.check(names, iteration)
        try:
            trees.save_tree_after(iteration)
            if trees.is_work_tree:
                return self._gates.check(names, iteration)
            with trees.open_sealed_tree(()) as copy:
                return open_copy(copy).check(names, iteration)
        except DiskError:
            raise
        except MachineError as error:
            failure = GateResult(gate="what is committed", passed=False, exit_code=1, reason=error.message)
            return Checked((failure,))

    def check_sealed(
        self, names: Sequence[str], iteration: int, approved: Sequence[ProofApproval] = ()
    ) -> Checked | Interrupted:
        open_sealed = self._open_sealed
        if self.watch is None or open_sealed is None:
            return Checked((), sealed=True)
        self.watch.look(iteration)  # the checks themselves may have changed a proof since the agent ended
        found = self.watch.check_sealed(lambda sealed: open_sealed(sealed).check(names, iteration), approved)
        self._sealed = found if isinstance(found, Checked) else self._sealed
        return found

    def judge_change(self, explanation: str) -> Verified | Interrupted:
        """By the last sealed check, which was red; a resumed run has forgotten its diff, and looks again."""
        if self._ask_judge is None:
            return Verified(verified=False, reason="there is no judge to ask")
        if not self._sealed.proofs and self.watch is not None:
            self._sealed = self.watch.describe_suspects()
        return self._ask_judge(render_judge_question(self._sealed.proofs, explanation, self._sealed.diff))
