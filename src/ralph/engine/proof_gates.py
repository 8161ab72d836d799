"""The checks of a loop together with what they rest on: compared when they pass, put back for a sealed check."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ralph.core.proofs.wording import render_judge_question
from ralph.engine.gate_run import GateRunner
from ralph.engine.proof_watch import ProofWatch
from ralph.model.loop import Checked, Interrupted, Verified
from ralph.model.ports import SealedTree

AskProofJudge = Callable[[str], Verified | Interrupted]


class ProofGates:
    """`open_sealed`: the same gates for a sealed tree. `ask_judge`: about an explained change."""

    def __init__(
        self,
        gates: GateRunner,
        *,
        watch: ProofWatch | None = None,
        open_sealed: Callable[[SealedTree], GateRunner] | None = None,
        ask_judge: AskProofJudge | None = None,
    ) -> None:
        self._gates, self._watch = gates, watch
        self._open_sealed, self._ask_judge = open_sealed, ask_judge
        self._sealed = Checked((), sealed=True)

    def check(self, names: Sequence[str], iteration: int) -> Checked | Interrupted:
        """In the work tree. Where all pass, with what is not as it was when the loop began: agents, their children and
        the checks themselves may have touched it."""
        if self._watch:
            self._watch.compare()  # which runners there are
            self._watch.clear_caches()
        checked = self._gates.check(names, iteration)
        if self._watch is None or isinstance(checked, Interrupted) or checked.failures:
            return checked
        self._watch.look(iteration)
        return replace(checked, proofs=self._watch.compare())

    def check_sealed(self, names: Sequence[str], iteration: int) -> Checked | Interrupted:
        open_sealed = self._open_sealed
        if self._watch is None or open_sealed is None:
            return Checked((), sealed=True)
        self._watch.look(iteration)
        found = self._watch.check_sealed(lambda sealed: open_sealed(sealed).check(names, iteration))
        self._sealed = found if isinstance(found, Checked) else self._sealed
        return found

    def judge_change(self, explanation: str) -> Verified | Interrupted:
        """By the last sealed check."""
        if self._ask_judge is None:
            return Verified(verified=False, reason="there is no judge to ask")
        return self._ask_judge(render_judge_question(self._sealed.proofs, explanation, self._sealed.diff))
