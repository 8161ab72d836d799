"""What the checks of a task rest on: who watches it, where approvals are kept, who is asked without a reviewer."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ralph.app.pipeline import stages
from ralph.app.pipeline.context import TaskContext
from ralph.app.pipeline.verification import CriteriaVerifier
from ralph.core.policies.staged import REPAIR_ROLE, REVIEW_ROLE
from ralph.core.proofs.wording import JUDGE_ANSWER_FORM, PROOF_CRITERION
from ralph.core.tasks.judgement import parse_ruling
from ralph.engine.gate_run import WrappedProcesses
from ralph.engine.proofs.proof_gates import AskProofJudge
from ralph.engine.proofs.proof_watch import ProofWatch
from ralph.engine.proofs.task_proofs import OpenSealed, SealedVerifier, TaskProofs
from ralph.model.loop import Interrupted, Verified
from ralph.model.ports import Processes, SealedTree
from ralph.model.proofs import WorkTime
from ralph.model.verdict import AskJudge
from ralph.workspaces.task_workspace import TaskWorkspace


def build_task_proofs(
    context: TaskContext, workspace: TaskWorkspace, judges: Mapping[str, AskJudge]
) -> TaskProofs | None:
    """None where no check rests on files and none is protected."""
    settings, keeper = context.settings, workspace.keeper
    commands = stages.list_check_commands(context.task, settings) if settings.proofs != "off" else []
    protected = context.session.protect(settings.protected)
    if not commands and not protected and context.session.containment is None:
        return None
    # What is installed or compiled since the work began is an agent's; a checkout of now is not.
    since = time.time() if workspace.is_fresh else keeper.began_at or time.time()
    watch = ProofWatch(
        keeper,
        commands=commands,
        protected=protected,
        folder=keeper.root,
        environment=context.session.gate_environment,
        worked=WorkTime(since=since),
        closed=context.session.closed_settings,
        list_accepted=lambda: {**workspace.list_landed_files(), **keeper.accepted.read(), **keeper.approved.read()},
    )

    def approve(contents: Mapping[str, str]) -> None:
        for path, blob in contents.items():
            keeper.approved.add(path, blob)

    return TaskProofs(
        watch,
        mode=settings.proofs,
        has_reviewer=REVIEW_ROLE in context.request.stages,
        approve=approve,
        ask_judge=_build_ask_judge(judges.get(REPAIR_ROLE)),
    )


def build_sealed_verifier(context: TaskContext, folder: str) -> OpenSealed:
    """The verifier of a stage for a sealed tree of that folder, in the task's sandbox; no judge is asked again."""
    is_contained = context.session.containment is not None

    def open_sealed(sealed: SealedTree) -> SealedVerifier:
        @contextmanager
        def borrow() -> Iterator[Processes]:
            with context.borrow_contained() as processes:
                yield WrappedProcesses(processes, sealed.contain if is_contained else sealed.wrap)

        return SealedVerifier(CriteriaVerifier(borrow, {}), folder if is_contained else sealed.locate(folder))

    return open_sealed


def _build_ask_judge(ask: AskJudge | None) -> AskProofJudge | None:
    if ask is None:
        return None

    def ask_about_proofs(question: str) -> Verified | Interrupted:
        """Who gives no answer has not approved."""
        answer = ask(f"{question}\n{JUDGE_ANSWER_FORM}\n", "")
        if answer is None:
            return Interrupted("interrupted")
        if answer.problem:
            reason = f"the judge did not answer: {answer.problem}"
            return Verified(verified=False, reason=reason, cost_usd=answer.cost_usd, judge=answer.judge)
        ruling = parse_ruling(answer.text, [PROOF_CRITERION])
        is_approved = ruling is not None and ruling.verified
        reason = ruling.reason if ruling else f"the judge's answer is not a verdict: {answer.text.strip()[:200]!r}"
        return Verified(
            verified=is_approved, reason="" if is_approved else reason, cost_usd=answer.cost_usd, judge=answer.judge
        )

    return ask_about_proofs
