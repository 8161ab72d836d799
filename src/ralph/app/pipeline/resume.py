"""Where a task goes on: with what its last run wanted and had not done; where that no longer fits, where the board
stands."""

import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.policies.staged import REPAIR_ROLE, PipelinePolicy, StagedState, StagePlan
from ralph.core.step import Rules
from ralph.core.tasks.task_rules import SEND_BACKS_KEY, list_send_backs, list_stages_by_words
from ralph.core.text.secrets import redact
from ralph.engine.journal import replay_journal
from ralph.engine.stage_setup import EndedAgentRun
from ralph.model.board import Change, CostRecorded, Entry
from ralph.model.control import PersonNote
from ralph.model.errors import CorruptState
from ralph.model.loop import (
    AnswersLost,
    Decision,
    Fact,
    Interrupted,
    Land,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Patience,
    Reported,
    RunAgent,
    Stop,
    Tally,
    UnseenReport,
    Verified,
    Verify,
)
from ralph.model.spec import ROLES, CompletionCriteria, Role
from ralph.model.standstill import Standstill
from ralph.model.store_ports import RunStore, TaskHistory

# Not the work's own end. Only landing blocks: whoever opened it again wants that tried again. And what was complete
# before it is begun again was cut off before the board heard of it. Changed proofs that were refused may have been
# accepted by a person since: the promise is looked at again.
RESUMABLE_OUTCOMES = (
    Outcome.INTERRUPTED,
    Outcome.UNUSABLE,
    Outcome.BLOCKED,
    Outcome.COMPLETED,
    Outcome.TAMPERED,
)


SMALLEST_COST_USD = 1e-9  # less is the noise of sums


class TaskPlan(Struct, frozen=True, kw_only=True):
    """What one run of a task started with; stored in its request, enough to fold its journal."""

    policy: PipelinePolicy
    patience: Patience | None = Patience()
    spent_usd: float | None = None  # before it
    standstill: Standstill = Standstill()  # of what came before it
    unseen: UnseenReport | None = None  # of its last run: an agent whose work nobody has looked at
    # Notes for an agent of that run that did not come to its end.
    pending_notes: tuple[PersonNote, ...] = msgspec.field(default=(), name="told")


def build_task_request(
    request: object, criteria: Mapping[Role, CompletionCriteria], plan: TaskPlan
) -> dict[str, object]:
    """What a run of a task keeps for the next one, which reads criteria and plan out of it."""
    plain: dict[str, object] = msgspec.to_builtins(plan)  # by the names on disk
    return {"request": request, "criteria": criteria, **plain}


def describe_changed_criteria(
    now: Mapping[Role, CompletionCriteria], kind: str, *, entry: Entry, runs: RunStore
) -> list[str]:
    """What is asked of a task that an earlier run has worked on, where it is not what that run was asked."""
    last = runs.find_last_of_task(kind, entry.task.id, since=entry.task.created_at)
    if not last or not entry.passed:
        return []
    try:
        before = msgspec.json.decode(runs.read_request(last), type=_StartingCriteria).criteria
    except (msgspec.MsgspecError, CorruptState):
        return []
    return [
        f"{entry.task.id}: the criteria of {role} are not those its last run started with: {what}"
        for role, what in _compare_criteria(before, now)
    ]


def describe_edited_criteria(
    task: str, before: Mapping[Role, CompletionCriteria], now: Mapping[Role, CompletionCriteria]
) -> list[str]:
    """What is asked of a task, where that is not what it was when a loop over many tasks began."""
    return [
        f"{task}: the criteria of {role} changed while other tasks were worked on: {what}"
        for role, what in _compare_criteria(before, now)
    ]


def _compare_criteria(
    before: Mapping[Role, CompletionCriteria], now: Mapping[Role, CompletionCriteria]
) -> list[tuple[Role, str]]:
    changed = [role for role in now if role in before and before[role] != now[role]]
    return [(role, f"{_describe_check(before[role])}, now {_describe_check(now[role])}") for role in changed]


def _describe_check(criteria: CompletionCriteria) -> str:
    command = criteria.verification_config.get("command")
    return f"`{redact(str(command))}`" if command else criteria.verification_method.value


class _StartingCriteria(Struct, frozen=True):
    """What a run of a task was asked, in its request."""

    criteria: dict[Role, CompletionCriteria] = {}


def resume_plan(new: TaskPlan, kind: str, *, entry: Entry, runs: RunStore, history: TaskHistory) -> TaskPlan:
    """The plan, starting with what the last run wanted and had not done, else where the board stands."""
    last = runs.find_last_of_task(kind, entry.task.id, since=entry.task.created_at)
    left = _load_unfinished_run(last, runs) if last else None
    new = replace(new, pending_notes=left.pending_notes) if left else new
    if left is not None and (still_valid := _still_valid(left, new.policy, entry)):
        state, wanted = still_valid
        unseen = left.unseen if isinstance(wanted, RunAgent) else None
        if unseen is None:  # else what its agent claims is looked at first, and landing looks again at all
            state = _confirm_first(state, new.policy, entry, wanted)
        policy = replace(new.policy, begins=state, wanted=wanted)
        return replace(
            new,
            policy=policy,
            spent_usd=left.tally.spent_usd or left.tally.cost_usd,
            unseen=unseen,
            standstill=left.tally.standstill,
        )
    state = start_from_board(entry, new.policy.stages, history.list_iterations(entry.task.id))
    return replace(new, policy=replace(new.policy, begins=_confirm_first(state, new.policy, entry, None)))


def _confirm_first(state: StagedState, policy: PipelinePolicy, entry: Entry, wanted: Decision | None) -> StagedState:
    """What an earlier life has checked is believed once its commands have passed again."""
    is_proven = isinstance(wanted, Land) or (isinstance(wanted, RunAgent) and not wanted.brief.turns)
    behind = policy.stages[: state.stage + (1 if is_proven else 0)]
    passed = [plan.role for plan in behind if plan.role in entry.passed]
    confirming = tuple(role for role in passed if role in policy.confirmed_roles)
    return replace(state, landing=replace(state.landing, confirming=confirming))


def start_from_board(entry: Entry, plans: Sequence[StagePlan], log: Sequence[Mapping[str, object]]) -> StagedState:
    """The state the board left the task in; a run that was cut short is repeated."""
    task = entry.task
    stage = next((index for index, plan in enumerate(plans) if plan.role == task.stage), 0)
    plan, last = plans[stage], log[-1] if log else {}
    ended = (last.get("stage"), last.get("ralph_iteration")) == (task.stage, task.iteration)
    turn = max(0, task.iteration - (0 if ended else 1)) if plan.role == task.stage else 0
    backs = task.metadata.get(SEND_BACKS_KEY)
    wanted = backs[-1] if plan.role == REPAIR_ROLE and isinstance(backs, list) and backs else {}
    sends = len(list_send_backs(task))
    return StagedState(
        stage=stage,
        turn=min(turn, plan.limit - 1),
        sends=sends,
        changes=str(wanted.get("changes", "")),
        by_words=list_stages_by_words(task),
    )


def find_ended_agent_run(plan: TaskPlan, log: Sequence[Mapping[str, object]]) -> EndedAgentRun | None:
    """An agent run of the task's last run that is to be looked at; `log` are the iterations on the board."""
    wanted = plan.policy.wanted
    if plan.unseen is None or not isinstance(wanted, RunAgent):
        return None
    brief = replace(wanted.brief, iteration=plan.unseen.iteration)
    reported, last = plan.unseen.reported, log[-1] if log else {}
    recorded = tuple(last.get(name) for name in ("stage", "ralph_iteration", "outcome", "duration_ms"))
    is_on_board = recorded == (brief.role, brief.turn, reported.outcome, int(reported.seconds * 1000))
    return EndedAgentRun(brief=brief, reported=reported, is_on_board=is_on_board)


def describe_lost_costs(kind: str, *, entry: Entry, runs: RunStore, history: TaskHistory) -> list[Change]:
    """What questions of the task's last run cost that was cut off, as far as the board has not heard of it."""
    last = runs.find_last_of_task(kind, entry.task.id, since=entry.task.created_at)
    facts = _read_facts(runs.list_transitions(last)) if last else []
    if not last or not facts or not isinstance(facts[-1], AnswersLost | Interrupted) or facts[-1].cost_usd is None:
        return []
    costs = [fact.cost_usd for fact in facts if isinstance(fact, Reported | Verified | AnswersLost | Interrupted)]
    unrecorded = sum(cost or 0.0 for cost in costs) - (history.sum_for_run(last).cost_usd or 0.0)
    if unrecorded <= SMALLEST_COST_USD:
        return []
    task = entry.task
    stage, turn = task.stage or ROLES[0], task.iteration
    return [CostRecorded(task=task.id, stage=stage, iteration=turn, at=time.time(), cost_usd=unrecorded, run=last)]


def _read_facts(rows: Sequence[tuple[bytes, bytes]]) -> list[Fact]:
    try:
        return [msgspec.json.decode(seen, type=Observation).fact for seen, _ in rows]
    except (msgspec.MsgspecError, ValueError):
        return []  # of another version


class _UnfinishedRun(Struct, frozen=True, kw_only=True):
    """How a run ended before its task did."""

    policy: PipelinePolicy
    state: StagedState
    wanted: Decision
    tally: Tally
    unseen: UnseenReport | None
    pending_notes: tuple[PersonNote, ...]


def _load_unfinished_run(run: str, runs: RunStore) -> _UnfinishedRun | None:
    """None where it ended for good, or its journal does not tell."""
    try:
        plan = msgspec.json.decode(runs.read_request(run), type=TaskPlan)
        rows = runs.list_transitions(run)
        state = _replay_state(plan, rows)
        decided = msgspec.json.decode(rows[-1][1], type=Decision) if rows else state.wanted
    except (msgspec.MsgspecError, CorruptState):
        return None
    if isinstance(decided, Stop) and decided.outcome not in RESUMABLE_OUTCOMES:
        return None
    return _UnfinishedRun(
        policy=plan.policy,
        state=state.inner,
        wanted=state.wanted,
        tally=state.tally,
        unseen=state.unseen,
        pending_notes=state.pending_notes,
    )


def _replay_state(plan: TaskPlan, rows: Sequence[tuple[bytes, bytes]]) -> LoopState[StagedState]:
    if rows:
        return replay_journal(Rules(plan.policy, plan.patience), rows)[0]
    inner, wanted = plan.policy.begin(Limits())
    tally = Tally(cost_usd=plan.spent_usd, standstill=plan.standstill)
    return LoopState(inner=inner, wanted=wanted, tally=tally, unseen=plan.unseen, pending_notes=plan.pending_notes)


def _still_valid(left: _UnfinishedRun, policy: PipelinePolicy, entry: Entry) -> tuple[StagedState, Decision] | None:
    """What the last run wanted, if the same stages are asked for and the board stands there too; else None."""
    if left.policy.stages != policy.stages:
        return None
    state, wanted = left.state, left.wanted
    if isinstance(wanted, Verify) and wanted.role in entry.passed:  # the board knew before the journal did
        state, wanted = policy.decide(state, Observation(fact=Verified(verified=True, reason="")), left.tally, Limits())
    here, proven = entry.task.stage, policy.stages[-1].role in entry.passed
    match wanted:
        case Verify(role=role):
            fits = role == here
        case RunAgent(brief) if brief.turns:
            fits = brief.role == here or bool(brief.changes)
        case Land() | Stop(Outcome.COMPLETED | Outcome.BLOCKED):  # if it has landed, trying again does no harm
            fits, wanted = proven and policy.lands, Land(state.landing.proven or state.stillness.sign)
            state = replace(state, resolving=False)
        case RunAgent():
            fits = proven and policy.lands
        case Stop(Outcome.TAMPERED):
            fits = policy.stages[state.stage].role == here and bool(state.promised)
            state = replace(state, turn=1, proof=replace(state.proof, warned=frozenset()))
            wanted = policy.build_verify(state)
        case Stop(Outcome.EXHAUSTED | Outcome.STUCK):
            fits = policy.stages[state.stage].role == here
        case _:
            fits = False
    return (state, wanted) if fits else None
