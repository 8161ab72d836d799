"""One claimed task on its way: its work tree, its stages, its landing, its last status."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

import msgspec
from msgspec import Struct

from ralph.app.paths import find_paths
from ralph.app.pipeline import stages
from ralph.app.pipeline.base_checks import BasePlace, TaskBaseChecks
from ralph.app.pipeline.context import (
    KIND,
    PipelineContext,
    TaskContext,
    open_task_context,
    translate_disk_errors,
)
from ralph.app.pipeline.judging import build_judges
from ralph.app.pipeline.landed_checks import LandedCheck, TaskNeighbours
from ralph.app.pipeline.resume import (
    TaskPlan,
    build_task_request,
    describe_changed_criteria,
    describe_edited_criteria,
    describe_lost_costs,
    find_ended_agent_run,
    resume_plan,
)
from ralph.app.pipeline.stages import AgentContext
from ralph.app.pipeline.task_board import StoredTaskBoard
from ralph.app.pipeline.task_inbox import TASK_CANCELLED
from ralph.app.pipeline.task_proofs import build_sealed_verifier, build_task_proofs
from ralph.app.pipeline.verification import CriteriaVerifier
from ralph.app.registry import load_agent_cards
from ralph.app.runs.lost_reports import recover_report
from ralph.app.sandboxed_session import contain_session
from ralph.app.stores import open_stores
from ralph.app.wiring import build_snapshots
from ralph.core.instruction_files import collect_instruction_files
from ralph.core.policies.staged import MAX_ITERATIONS_REASON, PipelinePolicy, StagePlan
from ralph.core.step import Rules
from ralph.core.tasks.landing_state import MAX_CONFLICTS, MAX_STALE_LOOKS
from ralph.core.tasks.task_rules import CANCELLED_AT_WORK
from ralph.engine.emit import emit
from ralph.engine.loops.pipeline import PipelineEffects
from ralph.engine.stage_setup import TaskRunConfig
from ralph.model import board
from ralph.model.board import Change, Entry
from ralph.model.errors import MachineError, RalphError
from ralph.model.events import Noted, RunEnded, Warned
from ralph.model.loop import Began, Limits, Outcome, Stop
from ralph.model.spec import ROLES
from ralph.workspaces.snapshots import BaselineSource, Snapshots
from ralph.workspaces.task_workspace import TaskWorkspace
from ralph.workspaces.worktree import Worktree

COMMIT_CHARS = 16  # of a commit, in a name


class TaskEnding(Struct, frozen=True, kw_only=True):
    """How one task ended."""

    task: str
    outcome: Outcome
    why: str
    question: str = ""  # of its agent, for a person

    @property
    def is_cancelled(self) -> bool:
        """Whether this task alone was cancelled, not the whole command."""
        return self.outcome is Outcome.INTERRUPTED and self.why == TASK_CANCELLED


def run_task(pipeline: PipelineContext, entry: Entry) -> TaskEnding:
    """A claimed task from its work tree to its last status. What fails around the work releases the task and becomes
    its ending."""
    try:
        with translate_disk_errors(pipeline.paths), open_task_context(pipeline, entry) as context:
            try:
                with translate_disk_errors(pipeline.paths):
                    return _run_stages(context)
            except RalphError as error:
                return _abort(context, error)
    except MachineError as error:  # it could not be begun, or how it ended not be written down
        return _release(pipeline, entry, error)
    except BaseException:  # a mistake of ours: whoever waits for us tells it
        _release(pipeline, entry, MachineError("", ""))
        raise


def _run_stages(context: TaskContext) -> TaskEnding:
    session, plan = context.session, _build_plan(context)
    criteria = stages.list_criteria(context.task, context.request.stages, context.settings)
    changed = describe_changed_criteria(criteria, KIND, entry=context.entry, runs=session.runs)
    lost = describe_lost_costs(KIND, entry=context.entry, runs=session.runs, history=context.tasks.history)
    session.record(build_task_request(context.request, criteria, plan))
    asked = context.pipeline.asked_criteria.get(context.task.id, criteria)
    changed += describe_edited_criteria(context.task.id, asked, criteria)
    emit(session.watchers, 0, *map(Warned, changed))
    if lost:
        context.board.record_once("lost costs", *lost)
    workspace = _open_workspace(context)
    report = plan.unseen.reported if plan.unseen else None
    limits = _build_limits(context, plan.policy.stages)
    began = Began(limits, plan.spent_usd, report, standstill=plan.standstill, pending_notes=plan.pending_notes)
    with (
        _contain(context, workspace.folder, is_fresh=workspace.is_fresh) as contained,
        closing(_build_base_checks(contained, workspace)) as base,
    ):
        effects = _build_effects(contained, workspace, plan, base)
        stop = contained.session.play(Rules(plan.policy, plan.patience), effects, began)
    context.board.record_once("concluded", *_concluding_changes(stop, context, effects))
    if stop.outcome is Outcome.COMPLETED and not workspace.remove_if_landed():
        emit(session.watchers, 0, Noted(f"{workspace.folder} is kept"))
    return TaskEnding(task=context.task.id, outcome=stop.outcome, why=stop.why, question=stop.question)


@contextmanager
def _contain(context: TaskContext, folder: str, *, is_fresh: bool) -> Iterator[TaskContext]:
    """The same with agents and checks in a sandbox for this work tree, where one was chosen."""
    request, settings = context.request, context.settings
    agents = [stages.resolve_stage_agent(role, settings, folder, context.session.variables) for role in request.stages]
    with contain_session(
        context.session,
        request.isolation,
        settings.sandbox,
        paths=find_paths(folder),
        commands=agents,
        protected=settings.protected,
        setup=context.task.setup or settings.setup,
        is_fresh=is_fresh,
    ) as session:
        yield msgspec.structs.replace(context, session=session)


def _build_plan(context: TaskContext) -> TaskPlan:
    """The task's stages and limits, starting where its last run stopped."""
    flow, task, history = context.settings.specflow, context.task, context.tasks.history
    plans = stages.plan_stages(task, context.request.stages, context.settings, history.list_iterations_to_pass)
    policy = PipelinePolicy(
        task=task.id,
        stages=plans,
        max_send_backs=flow.max_send_backs,
        breaker=0,
        lands=context.request.lands,
        loose=flow.promise_match == "loose",
        proven_roles=stages.list_proven_roles(task, context.request.stages, context.settings),
        confirmed_roles=stages.list_confirmed_roles(task, context.request.stages, context.settings),
        proofs=context.settings.proofs,
    )
    new = TaskPlan(policy=policy, patience=context.settings.patience)
    return resume_plan(new, KIND, entry=context.entry, runs=context.session.runs, history=history)


def _open_workspace(context: TaskContext) -> TaskWorkspace:
    """The task's work tree, its branch on the board."""
    pipeline, task = context.pipeline, context.task
    trees = pipeline.open_worktrees(context.processes.make_uninterruptible())
    target = context.request.target or context.entry.target or pipeline.target
    tree = trees.open(task.id, target)
    workspace = TaskWorkspace(
        task,
        trees,
        tree,
        keeper=_build_keeper(context, tree),
        landings=pipeline.landings,
        inbox=context.session.inbox,
        instructions=collect_instruction_files(load_agent_cards().values()),
    )
    context.board.record_once("housed", board.BranchAssigned(task.id, workspace.branch, target))
    return workspace


def _build_keeper(context: TaskContext, tree: Worktree) -> Snapshots:
    """Looks at the task's work tree. What it is compared with is the commit where the task began, in whichever run."""
    session = context.session
    keeper = build_snapshots(
        context.settings.snapshots,
        session.run,
        tree=find_paths(tree.folder),
        variables=session.variables,
        processes=context.processes.make_uninterruptible(),
        baseline=BaselineSource(
            name=f"{context.task.id}-{tree.base[:COMMIT_CHARS]}",
            commit="" if tree.is_fresh else tree.base,
            task=context.task.id,
        ),
        is_checked_out_by_us=tree.is_fresh and not context.pipeline.git.guard.may_convert_files(),
    )
    if keeper is None:
        raise MachineError("git is no longer on PATH", "see `ralph doctor`")
    return keeper


def _build_base_checks(context: TaskContext, workspace: TaskWorkspace) -> TaskBaseChecks:
    """They begin at once, beside the first agent."""
    place = _describe_base(context, workspace)
    base = TaskBaseChecks(place, context.pipeline.base_verdicts, workspace.keeper)
    base.start([*stages.list_file_criteria(context.task, context.request.stages, context.settings).values()])
    return base


def _build_neighbours(context: TaskContext, workspace: TaskWorkspace) -> TaskNeighbours:
    looks = stages.list_file_criteria(context.task, context.request.stages, context.settings)
    checks = [
        LandedCheck(task=context.task.id, role=role, target=workspace.target, criteria=criteria)
        for role, criteria in looks.items()
    ]
    return TaskNeighbours(
        context.pipeline.landed,
        checks,
        target=workspace.target,
        place=_describe_base(context, workspace),
        processes=context.processes,
        verdicts=context.pipeline.base_verdicts,
        keeper=workspace.keeper,
        warn=lambda text: emit(context.session.watchers, 0, Warned(text)),
    )


def _describe_base(context: TaskContext, workspace: TaskWorkspace) -> BasePlace:
    return BasePlace(
        git=context.pipeline.git,
        commit=workspace.base,
        folder=workspace.folder,
        environment=context.session.gate_environment,
        inbox=context.inbox,
        sibling_guardians=context.pipeline.sibling_guardians,
        contain=context.contain,
    )


def _build_effects(
    context: TaskContext, workspace: TaskWorkspace, plan: TaskPlan, base: TaskBaseChecks
) -> PipelineEffects:
    session, settings = context.session, context.settings
    session.hide_values(settings.agent.environment)
    agent_context = AgentContext(
        folder=workspace.folder,
        variables=session.variables,
        run_variables=session.run_variables,
        processes=session.contained,
        own_sandbox=session.keeps_itself,
        is_contained=session.containment is not None,
        keep=workspace.keeper,
        watch=context.pipeline.watch,
    )
    built = stages.build_stages(context.task, context.request.stages, settings, agent_context)
    emit(session.watchers, 0, *map(Warned, (*built.warnings, *_skipped_stage_warnings(context))))
    config = TaskRunConfig(
        run=session.run,
        run_dir=session.run_dir,
        specification=context.tasks.specs.get(context.task.spec_id).text,
        environment=session.gate_environment,
        loose=settings.specflow.promise_match == "loose",
    )
    judges = build_judges(
        context.request.stages,
        settings,
        msgspec.structs.replace(agent_context, processes=context.processes),  # it has no tools to keep within bounds
        folder=context.pipeline.paths.folder,
        records=session.run_dir,
    )
    return PipelineEffects(
        config,
        built.setups,
        board=context.board,
        workspace=workspace,
        verifier=CriteriaVerifier(
            context.borrow_contained, judges, words=settings.specflow.semantic == "words", base=base
        ),
        neighbours=_build_neighbours(context, workspace),
        inbox=session.inbox,
        watchers=session.watchers,
        ended=find_ended_agent_run(plan, context.tasks.history.list_iterations(context.task.id)),
        proofs=build_task_proofs(context, workspace, judges),
        open_sealed=build_sealed_verifier(context, workspace.folder),
    )


def _build_limits(context: TaskContext, plans: Sequence[StagePlan]) -> Limits:
    """Limits over all stages together; each stage has its own in its plan."""
    flow = context.settings.specflow
    rounds = flow.max_send_backs + 1
    again = MAX_CONFLICTS * (1 + plans[-1].limit) + MAX_STALE_LOOKS * plans[-1].limit  # who resolves, who looks again
    most = (sum(plan.limit for plan in plans) + again) * rounds
    seconds = context.pipeline.deadline.find_seconds_left()
    stuck = context.settings.build_stuck_limits(flow.circuit_breaker)
    return Limits(
        most,
        seconds,
        cost_usd=flow.task_budget_usd,
        reserve_usd=(flow.task_budget_usd or 0.0) * context.settings.budget_reserve,
        stuck=stuck,
        chain=context.settings.agent_chain,
        day_usd=context.settings.budget_usd_per_day,
    )


def _concluding_changes(stop: Stop, context: TaskContext, effects: PipelineEffects) -> list[Change]:
    """What the board records for this outcome."""
    task, request, entry = context.task.id, context.request, context.board.entry()
    match stop.outcome:
        case Outcome.COMPLETED if request.lands:
            return [board.TaskLanded(task, effects.landed_commit)]
        case Outcome.COMPLETED:
            after = ROLES[ROLES.index(request.stages[-1]) + 1]
            return [board.StageEntered(task, after), board.Released(task)]
        case Outcome.BLOCKED if stop.question:
            return [board.Blocked(task, stop.why)]
        case Outcome.BLOCKED:
            return [board.Blocked(task, f"{stop.why}; its work is on {entry.branch}")]
        case Outcome.INTERRUPTED if stop.why == TASK_CANCELLED:
            return [board.Cancelled(task, CANCELLED_AT_WORK)]
        case Outcome.INTERRUPTED | Outcome.UNUSABLE:
            return [board.Released(task)]
        case _:
            reason = MAX_ITERATIONS_REASON if MAX_ITERATIONS_REASON in stop.why else stop.why
            used, said = entry.task.iteration, context.session.watcher.redact(effects.last_text)
            return [board.GaveUp(task=task, iterations_used=used, last_output=said, reason=reason)]


def _abort(context: TaskContext, error: RalphError) -> TaskEnding:
    """End the run as unusable and release the task: something around the work is wrong, not the work."""
    session, outcome, why = context.session, Outcome.UNUSABLE, f"{error.message}. {error.hint}".strip()
    if record := session.runs.find_record(session.run):
        recover_report(session.runs, session.attempts, session.paths, record)  # what a judge cost is on no record yet
    session.runs.end(session.run, time.time(), outcome.value, error.message)
    session.write_receipt()  # there may be one that says how the work ended
    context.board.release_if_held("released")
    ended = RunEnded(
        run=session.run, outcome=outcome.value, why=why, exit_code=outcome.exit_code, iterations=0, seconds=0.0
    )
    emit(session.watchers, 0, ended)
    return TaskEnding(task=context.task.id, outcome=outcome, why=why)


def _release(pipeline: PipelineContext, entry: Entry, error: MachineError) -> TaskEnding:
    """Give the task back from a fresh connection; where that fails too, the ending says how to resume."""
    task, why = entry.task.id, f"{error.message}. {error.hint}"
    if pipeline.state_file.is_gone:  # to open it would be to make another
        return TaskEnding(task=task, outcome=Outcome.FAILED, why=why)
    try:
        with translate_disk_errors(pipeline.paths), open_stores(pipeline.paths) as stores:
            held = StoredTaskBoard(stores.tasks, entry, budget=pipeline.budget, inbox=pipeline.signals)
            held.release_if_held("let go")
    except MachineError:
        why += f". The task stays in progress; resume with `ralph execute --resume {task}`"
    return TaskEnding(task=task, outcome=Outcome.UNUSABLE, why=why)


def _skipped_stage_warnings(context: TaskContext) -> list[str]:
    """A warning for stages that nobody will have run when the task lands."""
    roles = context.request.stages
    skipped = [role for role in ROLES if role not in roles and role not in context.entry.passed]
    return [f"{context.task.id} skips {', '.join(skipped)}"] if skipped and context.request.lands else []
