"""What a run's journal proves: the checks that count at its end, the commits it made, the proofs it changed."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.check_evidence import StageEvidence, describe_gate
from ralph.model.loop import (
    Brief,
    Check,
    Checked,
    Decision,
    Landed,
    Observation,
    Reported,
    RunAgent,
    Saved,
    SnapshotTaken,
    Surveyed,
    Verified,
)
from ralph.model.proofs import ProofApproval, ProofChange
from ralph.model.receipt import CheckEvidence, SignedCommit

JournalRows = Iterable[tuple[bytes, bytes]]


class RunEvidence(Struct, frozen=True, kw_only=True):
    """As far as the journal can be read."""

    checks: tuple[CheckEvidence, ...] = ()
    commits: tuple[SignedCommit, ...] = ()
    changed_proofs: tuple[ProofChange, ...] = ()
    approved: tuple[ProofApproval, ...] = ()  # the reviewer's word on some of them
    landed: str = ""  # the commit of a task that was merged
    tree: str = ""  # as it was after the last agent that may have changed it; empty: nobody looked
    has_worked: bool = False  # an agent has run


class EvidenceReader:
    """Takes rows in their order. What an agent did after a check makes that check worthless."""

    def __init__(self) -> None:
        self._baseline: dict[str, bool] = {}  # by check: whether it failed before the first agent
        self._checks: tuple[CheckEvidence, ...] = ()
        self._sealed: tuple[CheckEvidence, ...] = ()
        self._stages = StageEvidence()
        self._merged: tuple[CheckEvidence, ...] = ()
        self._commits: list[SignedCommit] = []
        self._changed_proofs: tuple[ProofChange, ...] = ()
        self._approved: dict[str, ProofApproval] = {}
        self._sealed_proofs: dict[str, ProofChange] = {}  # that were put back for a check of a task
        self._landed = self._tree = ""
        self._has_worked = False
        self._brief = Brief(iteration=0, limit=0)

    def add_row(self, seen: Observation, decision: Decision) -> None:
        match seen.fact:
            case Reported() as reported:
                self._has_worked, self._checks, self._merged = True, (), ()
                self._sealed, self._changed_proofs = (), reported.proofs
            case SnapshotTaken(proofs=proofs, tree=sign):
                self._changed_proofs, self._tree = proofs, sign.rpartition(" ")[2]  # behind the commit
            case Surveyed(proofs=proofs) if proofs:
                self._changed_proofs = proofs
            case Checked() as checked:
                self._add_checks(checked)
            case Saved(commit=SignedCommit() as commit):
                self._commits.append(commit)
            case Verified(verified=True) as verified:
                self._stages.pass_stage(self._brief.role, verified.evidence)
                self._approved |= {each.change.path: each for each in verified.approved}
                sealed = verified.sealed.proofs if verified.sealed else ()
                self._sealed_proofs |= {change.path: change for change in sealed}
            case Landed(done=True, commit=commit, evidence=evidence, digest=digest):
                self._landed, self._merged = commit, evidence
                self._commits += [SignedCommit(commit, digest)] if digest else []
            case _:
                pass
        if isinstance(decision, Check):
            self._approved |= {each.change.path: each for each in decision.approved}
        if isinstance(decision, RunAgent):
            self._brief = decision.brief
            self._sealed_proofs = {} if decision.brief.changes else self._sealed_proofs  # it was sent back
            self._stages.begin_stage(decision.brief.role)

    def summarize(self) -> RunEvidence:
        return RunEvidence(
            checks=(*self._stages.list_checks(), *self._checks, *self._sealed, *self._merged),
            commits=tuple(self._commits),
            changed_proofs=self._list_changed_proofs(),
            approved=tuple(self._approved.values()),
            landed=self._landed,
            tree=self._tree,
            has_worked=self._has_worked,
        )

    def _list_changed_proofs(self) -> tuple[ProofChange, ...]:
        """What was approved is not asked about again, and was changed all the same; also what only a person can
        approve, where nobody was there to ask."""
        approved = {path: each.change for path, each in self._approved.items()}
        return tuple({**approved, **self._sealed_proofs, **{each.path: each for each in self._changed_proofs}}.values())

    def _add_checks(self, checked: Checked) -> None:
        if checked.proofs:
            known = {change.path for change in checked.proofs}
            kept = tuple(change for change in self._changed_proofs if change.path not in known)
            self._changed_proofs = (*checked.proofs, *kept) if checked.sealed else checked.proofs
        if not self._has_worked:
            self._baseline = {result.gate: not result.passed for result in checked.results}
            return
        before = self._baseline
        found = tuple(
            replace(describe_gate(each, before.get(each.gate)), sealed=checked.sealed) for each in checked.results
        )
        if checked.sealed:
            self._sealed = found
        else:
            self._checks, self._sealed = found, ()


def read_evidence(rows: JournalRows) -> RunEvidence:
    """Of a whole journal; a row that nobody can read is passed over."""
    reader = EvidenceReader()
    observation, decision = msgspec.json.Decoder(Observation), msgspec.json.Decoder(Decision)
    for row in rows:
        try:
            reader.add_row(observation.decode(row[0]), decision.decode(row[1]))
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
    return reader.summarize()
