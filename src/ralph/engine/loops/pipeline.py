"""The effects of one task of `ralph execute`: an agent a stage, in a workspace of its own, and a record of it all."""

import time
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from ralph.core.check_evidence import StageEvidence, digest_checks
from ralph.core.proofs.wording import join_paths
from ralph.core.tasks import stage_records
from ralph.core.tasks.stage_prompt import (
    StageBrief,
    render_conflict_prompt,
    render_loop_prompt,
    render_single_pass_prompt,
)
from ralph.core.text.check_output import take_last_lines
from ralph.core.text.questions import QUESTION_LINE, add_notes
from ralph.core.text.secrets import redact
from ralph.engine.agent_run import AgentRequest, CallFiles
from ralph.engine.emit import emit
from ralph.engine.gate_run import SEALED_REMARK
from ralph.engine.proofs.task_proofs import OpenSealed, ProofFinding, TaskProofs
from ralph.engine.stage_setup import EndedAgentRun, StageSetup, TaskRunConfig, choose_last_look
from ralph.engine.stage_verification import StageVerification
from ralph.engine.stage_workspace import open_stage_workspace
from ralph.engine.verification_events import (
    list_log_names,
    record_landing_cost,
)
from ralph.model.board import Change, IterationEnded
from ralph.model.errors import MachineError
from ralph.model.events import Doing, Noted, Warned
from ralph.model.loop import (
    Brief,
    Decision,
    Fact,
    Interrupted,
    Land,
    Landed,
    Reported,
    RunAgent,
    SnapshotTaken,
    TakeSnapshot,
    Verified,
    Verify,
)
from ralph.model.ports import Inbox, SealedTree, TaskBoard, Watcher, Workspace
from ralph.model.receipt import CheckEvidence, format_trailer
from ralph.model.spec import Role
from ralph.model.verdict import ClaimVerifier, LandedNeighbours, Verdict

UNDONE_REASON = "nothing is left of the work: the tree is the one it began with"


class PipelineEffects:
    """Carries out what the loop of one task decides."""

    def __init__(
        self,
        config: TaskRunConfig,
        stages: Mapping[Role, StageSetup],
        *,
        board: TaskBoard,
        workspace: Workspace,
        verifier: ClaimVerifier,
        neighbours: LandedNeighbours | None = None,
        inbox: Inbox,
        watchers: Sequence[Watcher],
        ended: EndedAgentRun | None = None,
        proofs: TaskProofs | None = None,
        open_sealed: OpenSealed | None = None,
    ) -> None:
        """`proofs`: None where no check rests on files; `open_sealed`: the same verifier for a sealed tree."""
        self._config, self._stages = config, stages
        self._ended = ended
        self._board, self._workspace = board, workspace
        self._verification = StageVerification(
            config, stages, board=board, workspace=workspace, verifier=verifier, watchers=watchers
        )
        self._neighbours = neighbours
        self._inbox, self._watchers = inbox, watchers
        self._task_proofs, self._open_sealed = proofs, open_sealed
        self._calls = self._iteration = 0
        self._open_iteration: IterationEnded | None = None  # an iteration whose promise is to be looked at
        self._proofs: dict[Role, str] = {}  # by stage: the message whose promise held
        self._evidence = StageEvidence()
        self._merged_tree_evidence: tuple[CheckEvidence, ...] = ()
        self._verified_tree = ""  # of the last promise that was found to hold in this life
        self._verified_trees: dict[Role, str] = {}
        self._landing_usd: float | None = None  # of judges who looked at the merged tree
        self._target_move = ""
        self.last_text = ""
        self.landed_commit = ""

    def perform(self, decision: Decision) -> Fact | None:
        try:
            return self._perform(decision)
        except MachineError:
            if self._inbox.poll_stop_grace() is None:
                raise
            return Interrupted(self._inbox.poll_interruption() or "interrupted")  # git was stopped with the rest

    def _perform(self, decision: Decision) -> Fact | None:
        match decision:
            case RunAgent(brief):
                with self._board.reserve(brief.role) as usd:
                    fact = self._run_agent(brief, usd) if usd != 0 else stage_records.forbid_spending(brief.role)
                self._name_target_move()
                return fact
            case TakeSnapshot() if self._ended is not None:
                return self._take_snapshot(self._ended)
            case Verify(again=True):
                return self._confirm_stage(decision)
            case Verify():
                return self._verify_promise(decision)
            case Land(proven):
                return self._land(proven)
            case _:
                return None

    # -- an agent -------------------------------------------------------------------------------
    def _run_agent(self, brief: Brief, reserved_usd: float | None) -> Fact:
        self._calls += 1
        self._iteration = brief.iteration
        role = cast("Role", brief.role)
        setup = self._stages[role]
        self._evidence.begin_stage(role)
        if brief.turns:
            self._record_start(brief, role, setup.criteria.promise)
        with open_stage_workspace(self._workspace, role) as stage:
            request = AgentRequest(
                prompt=add_notes(self._build_prompt(brief, role, stage.notes), brief.notes),
                mode="stream",
                files=CallFiles.of_call(self._config.run_dir, self._calls),
                iteration=brief.iteration,
                budget_usd=min((usd for usd in (brief.budget_usd, reserved_usd) if usd is not None), default=None),
                environment={"RALPH_ITERATION": str(brief.turn), "RALPH_STAGE": role, "RALPH_TASK": brief.story},
                pausable=True,
            )
            reported = setup.runner.call(lambda: request, self._watchers, brief.agent)
        if isinstance(reported, Interrupted):
            setup.runner.save_cut_off_work(brief.iteration, self._watchers)
            if reported.paused:
                self._workspace.undo_review()
            return reported
        self._board.charge(reported.estimated_usd if reported.cost_usd is None else reported.cost_usd)
        self._ended = EndedAgentRun(brief=brief, reported=reported)
        return replace(reported, unseen=True)  # on record before the board hears of it

    def _take_snapshot(self, ended: EndedAgentRun) -> SnapshotTaken:
        brief, reported = ended.brief, ended.reported
        role = cast("Role", brief.role)
        self._iteration = brief.iteration
        self.last_text = reported.text or self.last_text
        if not ended.is_on_board:
            self._record_end(brief, role, reported)
        self._ended = replace(ended, is_on_board=True)
        taken = SnapshotTaken(head=reported.head)
        if reported.unseen:
            taken = self._stages[role].runner.take_snapshot(brief.iteration, self._watchers)
        else:
            self._workspace.look()  # an agent that tells of no tool is not believed
        if undone := self._workspace.undo_review():
            text = f"its edits of {join_paths(undone)} were undone"
            emit(self._watchers, self._iteration, Warned(f"{role}: {text}"))
            if self._open_iteration is not None:
                self._board.record(replace(self._open_iteration, reason=text))
        changed = self._task_proofs.compare() if self._task_proofs else ()
        return replace(taken, tree=self._workspace.tree(), proofs=changed, undone=undone)

    def _record_start(self, brief: Brief, role: Role, promise: str) -> None:
        entry = self._board.entry()
        if stage_records.is_sent_back(entry, brief):
            wanted = " ".join(brief.changes.split())
            emit(self._watchers, self._iteration, Noted(f"sent back by {entry.task.stage}: {wanted}"))
        changes = stage_records.describe_start(entry, brief, role=role, promise=promise, at=time.time())
        self._board.record(*changes)

    def _build_prompt(self, brief: Brief, role: Role, stage_notes: Sequence[str]) -> str:
        if not brief.turns:
            return self._build_conflict_prompt(brief)
        setup = self._stages[role]
        question = self._task_proofs.build_question(brief) if self._task_proofs else ""
        stage_brief = StageBrief(
            task=self._board.entry().task,
            agent=role,
            criteria=setup.criteria,
            iteration=brief.turn,
            limit=brief.turns,
            specification=self._config.specification,
            attempts=self._board.failed_attempts(role) if brief.turn > 1 else (),
            changes=brief.changes,
            can_commit=setup.can_commit,
            commands=setup.commands,
            by_words=setup.by_words,
            is_verified=setup.is_verified,
            notes=tuple(filter(None, (*stage_notes, question, QUESTION_LINE))),
        )
        text = render_loop_prompt(stage_brief) if setup.loops else render_single_pass_prompt(stage_brief)
        notes = "".join(f"- {item.text}\n" for item in brief.feedback)
        return f"{text}\n## About the last run\n{notes}" if notes else text

    def _build_conflict_prompt(self, brief: Brief) -> str:
        notes = "\n".join(item.text for item in brief.feedback)
        return render_conflict_prompt(self._board.entry().task, notes, self._workspace.list_sides())

    def _name_target_move(self) -> None:
        """Whoever it was: what is there now has not been checked by us."""
        if moved := self._workspace.find_target_move():
            self._target_move = moved
            emit(self._watchers, self._iteration, Warned(moved))

    def _record_end(self, brief: Brief, role: Role, reported: Reported) -> None:
        """What it cost is known now; whether the loop goes on, only when its promise has been looked at."""
        run, now = self._config.run, time.time()  # the same time: by it the log finds what an iteration cost
        cost = stage_records.describe_cost(brief, reported, role=role, run=run, at=now)
        setup = self._stages[role]
        ended = stage_records.describe_end(
            brief,
            reported,
            role=role,
            promise=setup.criteria.promise,
            run=run,
            loose=self._config.loose,
            is_proven=setup.merged_tree_criteria is not None,
            at=now,
        )
        self._open_iteration = ended if ended.promise_found else None
        self._board.record(cost, ended, *stage_records.describe_misplaced_promise(ended))

    # -- its promise ----------------------------------------------------------------------------
    def _verify_promise(self, wanted: Verify) -> Fact:
        role = cast("Role", wanted.role)
        criteria, tree = self._stages[role].criteria, self._workspace.tree()
        if self._task_proofs:
            self._task_proofs.clear_caches()
        title = f"{role}: {criteria.verification_method.value}"
        verdict = self._verification.verify(
            title,
            role,
            iteration=self._iteration,
            criteria=criteria,
            text=wanted.text,
            folder=self._workspace.folder,
            tree=tree,
        )
        finding = self._weigh_proofs(wanted, role, verdict)
        if isinstance(finding, Interrupted) or verdict.interrupted or self._inbox.poll_stop_grace() is not None:
            return Interrupted(self._inbox.poll_interruption() or "interrupted")
        verdict, evidence = finding.verdict, finding.list_evidence(role)
        task = self._board.entry().task.id
        changes: list[Change] = [
            *self._close_iteration(verdict),
            *stage_records.describe_verification(
                task, verdict, role=role, turn=wanted.turn, run=self._config.run, at=time.time()
            ),
        ]
        if verdict.verified:
            self._verified_tree = self._verified_trees[role] = tree
            self._proofs[role] = wanted.text
            self._evidence.pass_stage(role, evidence)
            after = self._list_stages_after(role)
            changes += stage_records.describe_pass(task, role, after, by_words=verdict.by_words)
        self._board.record(*changes)
        return Verified(
            verified=verdict.verified,
            reason=verdict.reason,
            cost_usd=verdict.cost_usd,
            evidence=evidence,
            logs=list_log_names(verdict),
            red_before=verdict.red_before,
            by_words=verdict.by_words,
            judge=verdict.judge,
            tree=tree,
            detail="" if verdict.verified else take_last_lines(redact(verdict.detail)),
            sealed=finding.sealed,
            approved=finding.approved,
            proof_judge=finding.judge,
        )

    def _confirm_stage(self, wanted: Verify) -> Fact:
        """Run the commands of a stage that an earlier life has passed; its agent's words, and a judge's, stay."""
        role = cast("Role", wanted.role)
        setup, tree = self._stages[role], self._workspace.look()
        criteria = setup.merged_tree_criteria
        if criteria is None:
            return Verified(verified=True, reason="It has no command", tree=tree)
        title, text = f"{role}: {criteria.verification_method.value} once more", self._build_promise(role)
        verdict = self._verification.verify(
            title,
            role,
            iteration=self._iteration,
            criteria=criteria,
            text=text,
            folder=self._workspace.folder,
            is_confirmed=True,
        )
        finding = self._weigh_proofs(replace(wanted, text=text), role, verdict)
        if isinstance(finding, Interrupted) or verdict.interrupted or self._inbox.poll_stop_grace() is not None:
            return Interrupted(self._inbox.poll_interruption() or "interrupted")
        verdict, evidence = finding.verdict, finding.list_evidence(role)
        if verdict.verified:
            self._verified_tree = self._verified_trees[role] = tree
            self._evidence.pass_stage(role, evidence)
        return Verified(
            verified=verdict.verified, reason=verdict.reason, evidence=evidence, tree=tree, sealed=finding.sealed
        )

    def _build_promise(self, role: Role) -> str:
        return self._proofs.get(role) or f"<promise>{self._stages[role].criteria.promise}</promise>"

    def _weigh_proofs(self, wanted: Verify, role: Role, verdict: Verdict) -> ProofFinding | Interrupted:
        """What a green verdict is worth by the files its checks rest on: they run once more with those as they were."""
        proofs, open_sealed, looks = self._task_proofs, self._open_sealed, self._stages[role].merged_tree_criteria
        if proofs is None or verdict.interrupted:
            return ProofFinding(verdict=verdict)

        def verify_sealed(sealed: SealedTree) -> Verdict:
            assert looks is not None
            assert open_sealed is not None
            opened = open_sealed(sealed)
            return self._verification.verify(
                f"{role}: {looks.verification_method.value}{SEALED_REMARK}",
                role,
                iteration=self._iteration,
                criteria=looks,
                text=wanted.text,
                folder=opened.folder,
                sealed=opened.verifier,
            )

        has_checks = looks is not None and open_sealed is not None
        found = proofs.weigh(wanted, verdict, self._iteration, verify_sealed if has_checks else None)
        if isinstance(found, ProofFinding) and found.remark:
            text = redact(f"{role}: {found.remark}")
            emit(self._watchers, self._iteration, Noted(text) if found.verdict.verified else Warned(text))
        return found

    def _close_iteration(self, verdict: Verdict) -> list[Change]:
        """An iteration of an earlier life stays as it is."""
        ended, self._open_iteration = self._open_iteration, None
        return [] if ended is None else [stage_records.correct_end(ended, verdict)]

    def _list_stages_after(self, role: Role) -> list[Role]:
        roles = list(self._stages)
        return roles[roles.index(role) + 1 :]

    # -- landing --------------------------------------------------------------------------------
    def _land(self, proven: str) -> Fact:
        seen = self._workspace.look()
        if proven and seen != proven and not self._undo_checks(proven):
            return Landed(done=False, stale=True, changed=self._workspace.name_changes(proven, seen))
        if self._calls and self._workspace.is_untouched(seen) and not self._verification.may_change_nothing():
            return Landed(done=False, red=UNDONE_REASON)
        digest = digest_checks(self._evidence.list_checks())
        trailer = format_trailer(self._config.run, digest)
        emit(self._watchers, self._iteration, Doing("merging"))
        self._landing_usd = None
        landed = self._workspace.land(self._check_merged_tree, trailer, self._record_landing)
        self._name_target_move()
        landed = replace(
            landed,
            evidence=self._merged_tree_evidence,
            digest=digest if landed.done else "",
            moved=self._target_move if landed.done else "",
            cost_usd=self._landing_usd,
        )
        self.landed_commit = "" if landed.empty else landed.commit
        if not landed.done and self._inbox.poll_stop_grace() is not None:
            return Interrupted(self._inbox.poll_interruption())
        return landed

    def _record_landing(self, commit: str) -> None:
        if self._neighbours is None:
            return
        tree = self._workspace.tree() if self._workspace.is_own_commit(commit) else ""
        roles = [role for role, verified in self._verified_trees.items() if verified == tree]
        looks = [self._stages[role].merged_tree_criteria for role in roles]
        self._neighbours.record_landing(commit, [each for each in looks if each is not None])

    def _undo_checks(self, proven: str) -> bool:
        """Since the last look nobody but our own checks has worked here: what they changed does not land. False: that
        look was an earlier life's, and others may have."""
        if proven != self._verified_tree:
            return False
        names = self._workspace.put_back(proven)
        emit(self._watchers, self._iteration, Noted(f"put back what checks changed: {names}"))
        return self._workspace.look() == proven

    def _check_merged_tree(self, folder: str) -> str:
        """What the last stage, and tasks that landed before, say of the merged tree; empty: nothing against it."""
        role, criteria = choose_last_look(self._stages, lambda: bool(self._workspace.diff_landing(folder)))
        if criteria is not None:
            title = f"{role}: {criteria.verification_method.value} on the merged tree"
            verdict = self._verification.verify(
                title,
                role,
                iteration=self._iteration,
                criteria=criteria,
                text=self._build_promise(role),
                folder=folder,
                is_confirmed=True,
            )
            self._merged_tree_evidence = verdict.list_evidence(role, on_merged_tree=True)
            self._landing_usd = record_landing_cost(self._board, verdict.cost_usd, role=role, run=self._config.run)
            if not verdict.verified:
                return f"{verdict.reason}\n{verdict.detail}".strip()
        return self._neighbours.find_broken(folder, criteria) if self._neighbours else ""
