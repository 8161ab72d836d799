"""What the stages of a task have come to about the files its checks rest on."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.proofs.approval import describe_approvals
from ralph.core.proofs.wording import (
    EXPLANATION_TAG,
    build_proof_feedback,
    describe_doubtful,
    describe_flagged_completion,
    describe_sealed_pass,
    extract_explanation,
    join_paths,
)
from ralph.model.loop import Checked, Feedback, Reported, Verified
from ralph.model.proofs import ProofApproval, ProofChange, ProofMode


class ProofState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Stored with the run: fields are wire format."""

    touched: frozenset[str] = frozenset()  # what was suspect after the last agent
    inherited: frozenset[str] = frozenset()  # what was suspect when the stage began
    explanation: str = ""  # of whoever changed them
    disputed: tuple[ProofChange, ...] = ()  # explained, and not approved yet
    warned: frozenset[str] = frozenset()  # what an agent was told to put back
    approvals: tuple[ProofApproval, ...] = ()
    notes: tuple[str, ...] = ()  # what the last line is to mention
    flag: str = ""  # what a person has to look at
    doubts: str = ""  # code that steers its own tests, as of the last agent
    has_told_undone: bool = False  # a reviewer knows that its edits do not stay

    def read_report(self, reported: Reported, *, can_explain: bool) -> "ProofState":
        """The coder explains what it changed; an explanation holds for the files it was given for. Of others the same
        tag says what they want changed."""
        touched = frozenset(change.path for change in reported.proofs if change.is_suspect)
        doubtful = [change for change in reported.proofs if change.kind == "doubtful"]
        state = replace(self, touched=touched, doubts=describe_doubtful(doubtful) if doubtful else "")
        if not can_explain:
            return state
        is_explained = touched <= {change.path for change in self.disputed}
        explanation = extract_explanation(reported.text) if touched else ""
        return replace(state, explanation=explanation or (self.explanation if is_explained else ""))

    def note_undone(self, role: str, paths: Sequence[str]) -> "ProofState":
        """It could not be told, or was: its promise counts for the work as it is."""
        note = f"the {role}'s edits of {join_paths(paths)} were undone"
        return replace(self, notes=(*(each for each in self.notes if each != note), note))

    def begin_stage(self) -> "ProofState":
        return replace(self, inherited=self.touched, has_told_undone=False)

    def begin_repair(self) -> "ProofState":
        """The coder works again: what was found of the old tree, and what it said about it, count no more; who was told
        stays told."""
        return ProofState(touched=self.touched, inherited=self.touched, warned=self.warned, approvals=self.approvals)

    def pass_stage(self, verified: Verified, *, has_reviewer: bool) -> "ProofState":
        """`has_reviewer`: somebody will be asked about what is explained."""
        approvals = _join_approvals(self.approvals, verified.approved)
        approved = {each.change.path for each in verified.approved}
        left = tuple(change for change in self.disputed if change.path not in approved)
        state = replace(self, approvals=approvals, disputed=left)
        sealed = verified.sealed
        if sealed is None or not sealed.proofs:
            return state
        if not sealed.failures:
            note = describe_sealed_pass(sealed.proofs)
            return replace(state, notes=(*(each for each in state.notes if each != note), note))
        if has_reviewer:
            return replace(state, disputed=sealed.proofs)
        return state if verified.approved else replace(state, flag=describe_flagged_completion(sealed.proofs))

    def refuse(self, sealed: Checked) -> "ProofState":
        return replace(self, warned=self.warned | {change.path for change in sealed.proofs})

    def is_warned(self, sealed: Checked) -> bool:
        return frozenset(change.path for change in sealed.proofs) <= self.warned

    def is_inherited(self, sealed: Checked) -> bool:
        """Whether all of it was there before this stage."""
        return frozenset(change.path for change in sealed.proofs) <= self.inherited

    def describe(self) -> str:
        """For the last line of a task that is complete."""
        approved = describe_approvals(self.approvals)
        return "".join(f"; {each}" for each in (*self.notes, approved, self.doubts) if each)


def passes_with_changed_proofs(sealed: Checked, *, mode: ProofMode, explanation: str, can_explain: bool) -> bool:
    """Whether a stage whose checks are green passes, by the same checks with the proofs as they were."""
    if any(change.protected for change in sealed.proofs):
        return False
    return not sealed.failures or (mode != "strict" and can_explain and bool(explanation))


def build_stage_feedback(sealed: Checked, *, can_explain: bool, objection: str = "") -> Feedback:
    """For the agent that is to put proofs back. One that cannot explain its change asks the coder for it."""
    found = build_proof_feedback(sealed.proofs, sealed.failures, sealed.diff, judge=objection)
    if can_explain:
        return found
    return Feedback(
        f"{found.text}\n\nIn this stage <{EXPLANATION_TAG}> at the end of your message sends the task back to the coder"
        " with that text: it has to answer for the change."
    )


def _join_approvals(known: Sequence[ProofApproval], new: Sequence[ProofApproval]) -> tuple[ProofApproval, ...]:
    """The latest word on each file."""
    return tuple({each.change.path: each for each in (*known, *new)}.values())
