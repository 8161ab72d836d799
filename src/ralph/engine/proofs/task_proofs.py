"""What the checks of one task rest on: compared after every agent, put back as it was before a stage passes."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.check_evidence import describe_gate
from ralph.core.policies.staged import REPAIR_ROLE
from ralph.core.proofs.approval import (
    describe_approvals,
    describe_missing_approvals,
    read_approvals,
    render_review_question,
)
from ralph.core.proofs.ruling import counts_as_proof
from ralph.core.proofs.wording import describe_altered, describe_sealed_pass, render_judge_question
from ralph.core.tasks.proof_state import passes_with_changed_proofs
from ralph.core.text.check_output import summarize_output, take_last_lines
from ralph.core.text.secrets import redact
from ralph.engine.proofs.proof_gates import AskProofJudge
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.model.loop import Brief, Checked, GateResult, Interrupted, Verify
from ralph.model.ports import SealedTree
from ralph.model.proofs import ProofApproval, ProofChange, ProofMode
from ralph.model.receipt import CheckEvidence
from ralph.model.verdict import ClaimVerifier, Verdict

PROOFS_METHOD = "proofs"  # how a verification is called that failed because of them
VerifySealed = Callable[[SealedTree], Verdict]


class SealedVerifier(Struct, frozen=True):
    """Verifies what a sealed tree holds; `folder` is where its commands find it."""

    verifier: ClaimVerifier
    folder: str


OpenSealed = Callable[[SealedTree], SealedVerifier]


class ProofFinding(Struct, frozen=True, kw_only=True):
    """What became of a verdict once proofs were looked at."""

    verdict: Verdict
    sealed: Checked | None = None
    approved: tuple[ProofApproval, ...] = ()
    judge: str = ""  # who was asked about the change of proofs
    remark: str = ""  # what became of it, in words; empty: nothing

    def list_evidence(self, role: str) -> tuple[CheckEvidence, ...]:
        """Every look that had a say in it, those at the sealed tree last."""
        sealed = self.sealed.results if self.sealed else ()
        looks = (replace(describe_gate(each), sealed=True, role=role) for each in sealed)
        return (*self.verdict.list_evidence(role), *looks)


class TaskProofs:
    """Of one task. `ask_judge`: about an explained change, where no reviewer will be asked; `approve`: keeps the
    reviewer's word, path → content, for later stages and lives."""

    def __init__(
        self,
        watch: ProofWatch,
        *,
        mode: ProofMode,
        has_reviewer: bool,
        approve: Callable[[Mapping[str, str]], None],
        ask_judge: AskProofJudge | None = None,
    ) -> None:
        self._watch, self._mode = watch, mode
        self._has_reviewer = has_reviewer
        self._approve, self._ask_judge = approve, ask_judge

    def compare(self) -> tuple[ProofChange, ...]:
        """What is not as it was when the task began, by the tree as it was last looked at."""
        return self._watch.compare()

    def clear_caches(self) -> None:
        """Before checks."""
        self._watch.clear_caches()

    def build_question(self, brief: Brief) -> str:
        """For a reviewer who has to approve changed proofs; empty where there are none."""
        if not brief.proofs:
            return ""
        diff = self._watch.diff_paths([change.path for change in brief.proofs])
        return render_review_question(brief.proofs, brief.explanation, diff)

    def weigh(
        self, wanted: Verify, verdict: Verdict, iteration: int, verify_sealed: VerifySealed | None
    ) -> ProofFinding | Interrupted:
        """A verdict that is green, by the proofs it rests on. `verify_sealed`: None where the stage runs no checks."""
        if not verdict.verified:
            return ProofFinding(verdict=verdict)
        if wanted.proofs:
            return self._apply_reviewer_answer(wanted, verdict)
        suspects = [change for change in self.compare() if counts_as_proof(change, self._mode)]
        if any(change.protected for change in suspects):
            return self._refuse(verdict, self._watch.describe_suspects())
        if not suspects or verify_sealed is None:
            return ProofFinding(verdict=verdict)
        self._watch.look(iteration)  # the checks themselves may have changed a proof since the agent ended
        sealed = self._watch.check_sealed(lambda tree: _as_checked(verify_sealed(tree)))
        return sealed if isinstance(sealed, Interrupted) else self._judge_sealed(wanted, verdict, sealed)

    def _judge_sealed(self, wanted: Verify, verdict: Verdict, sealed: Checked) -> ProofFinding | Interrupted:
        can_explain = wanted.role == REPAIR_ROLE
        if not passes_with_changed_proofs(
            sealed, mode=self._mode, explanation=wanted.explanation, can_explain=can_explain
        ):
            return self._refuse(verdict, sealed)
        if not sealed.failures:
            return _pass(verdict, describe_sealed_pass(sealed.proofs), sealed=sealed)
        if self._has_reviewer:
            remark = f"{describe_altered(sealed.proofs)} and fails in its old form, as explained: the reviewer is asked"
            return _pass(verdict, remark, sealed=sealed)
        return self._apply_judge_verdict(wanted, verdict, sealed)

    def _apply_judge_verdict(self, wanted: Verify, verdict: Verdict, sealed: Checked) -> ProofFinding | Interrupted:
        """Nobody to ask: it passes, and a person has to look. What passed is not asked about in later stages."""
        if self._ask_judge is None:
            self._keep_approved(sealed.proofs)
            return _pass(verdict, f"{describe_altered(sealed.proofs)} and fails in its old form", sealed=sealed)
        answer = self._ask_judge(render_judge_question(sealed.proofs, wanted.explanation, sealed.diff))
        if isinstance(answer, Interrupted):
            return answer
        costs = [cost for cost in (verdict.cost_usd, answer.cost_usd) if cost is not None]
        verdict, judge = replace(verdict, cost_usd=sum(costs) if costs else None), answer.judge or "judge"
        if not answer.verified:
            found = self._refuse(verdict, sealed)
            reason = f"The judge does not accept that {found.verdict.reason}: {answer.reason}"
            return replace(found, verdict=replace(found.verdict, reason=reason), remark=reason, judge=judge)
        approved = tuple(
            ProofApproval(change=change, by="judge", why=answer.reason, explanation=wanted.explanation)
            for change in sealed.proofs
        )
        self._keep_approved(sealed.proofs)
        return _pass(verdict, describe_approvals(approved), sealed=sealed, approved=approved, judge=judge)

    def _apply_reviewer_answer(self, wanted: Verify, verdict: Verdict) -> ProofFinding:
        """By name, each file; the content it has seen, and no other."""
        answer = read_approvals(wanted.text, wanted.proofs, by=wanted.role, explanation=wanted.explanation)
        if answer.missing:
            reason = describe_missing_approvals(answer.missing)
            refused = replace(verdict, verified=False, method=PROOFS_METHOD, reason=reason)
            return ProofFinding(verdict=refused, remark=reason)
        self._keep_approved(wanted.proofs)
        return _pass(verdict, describe_approvals(answer.approved), approved=answer.approved)

    def _keep_approved(self, changes: Sequence[ProofChange]) -> None:
        self._approve(self._watch.find_blobs([change.path for change in changes]))

    def _refuse(self, verdict: Verdict, sealed: Checked) -> ProofFinding:
        protected = [change for change in sealed.proofs if change.protected]
        reason = (
            f"{describe_altered(protected)}, and is protected"
            if protected
            else f"{describe_altered(sealed.proofs)} and the checks fail with the files as they were"
        )
        printed = "\n".join(failure.tail for failure in sealed.failures if failure.tail)
        refused = replace(verdict, verified=False, method=PROOFS_METHOD, reason=reason, detail=printed)
        return ProofFinding(verdict=refused, sealed=sealed, remark=reason)


def _pass(
    verdict: Verdict,
    remark: str,
    *,
    sealed: Checked | None = None,
    approved: tuple[ProofApproval, ...] = (),
    judge: str = "",
) -> ProofFinding:
    noted = replace(verdict, notes=(*verdict.notes, remark))
    return ProofFinding(verdict=noted, sealed=sealed, approved=approved, judge=judge, remark=remark)


def _as_checked(verdict: Verdict) -> Checked | Interrupted:
    """Each look that had to pass; what need not pass says nothing here."""
    if verdict.interrupted:
        return Interrupted("interrupted")
    parts = [part for part in verdict.stages or (verdict,) if part.required]
    return Checked(tuple(map(_describe_look, parts)))


def _describe_look(verdict: Verdict) -> GateResult:
    check, printed = verdict.check, redact(verdict.detail)
    return GateResult(
        gate=check.name if check else verdict.method,
        passed=verdict.verified,
        exit_code=(check.exit_code if check else None) or 0,
        seconds=verdict.seconds,
        reason="" if verdict.verified else verdict.reason,
        summary="" if verdict.verified else summarize_output(printed),
        tail="" if verdict.verified else take_last_lines(printed),
        digest=verdict.digest,
        argv=check.argv if check else (),
        timeout=check.timeout if check else None,
    )
