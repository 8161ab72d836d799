"""The parts of a task's pipeline, put together from settings: who works, by which criteria, and who judges."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.agent_command import AgentCommand, resolve_agent
from ralph.app.pipeline import verification
from ralph.app.registry import resolve_adapter
from ralph.config.schema import AgentSettings, Settings, StageSettings
from ralph.core.policies.staged import StagePlan
from ralph.core.price import find_price
from ralph.core.tasks.criteria import ApplicableCriteria, drop_verification, resolve_criteria, resolve_max_iterations
from ralph.engine.agent_run import AgentRunner
from ralph.engine.stage_setup import StageSetup
from ralph.model.ports import ChangeWatch, Processes, TreeKeeper
from ralph.model.spec import AGENT_DEFAULTS, ROLES, AgentDefaults, CompletionCriteria, Role, Task, VerificationMethod

MIN_ADAPTIVE_SAMPLES = 5  # verified promises before limits follow history
ADAPTIVE_QUANTILE = 0.9

IterationHistory = Callable[[str], list[int]]  # a role → how many iterations its verified promises took


class PipelineStages(Struct, frozen=True):
    """Setup of every stage of one task, and what the user should know about their criteria."""

    setups: Mapping[Role, StageSetup]
    warnings: tuple[str, ...]


class IterationLimit(Struct, frozen=True):
    """How many agent runs a stage may have, and where that number comes from."""

    iterations: int
    why: str


class AgentContext(Struct, frozen=True, kw_only=True):
    """Where an agent works, and with which variables and processes."""

    folder: str
    variables: Mapping[str, str]  # of the user
    run_variables: Mapping[str, str]  # of the run
    processes: Processes
    keep: TreeKeeper | None = None
    watch: ChangeWatch | None = None
    own_sandbox: bool = False  # the agent is told to use its own
    is_contained: bool = False  # in a sandbox of any kind


def plan_stages(
    task: Task, roles: Sequence[Role], settings: Settings, history: IterationHistory
) -> tuple[StagePlan, ...]:
    """Promise and limit of each stage."""
    return tuple(
        StagePlan(
            role=role,
            promise=resolve_stage_criteria(task, role, settings).criteria.promise,
            limit=resolve_limit(task, role, settings, history).iterations,
            loops=is_looping(role, settings),
        )
        for role in roles
    )


def list_proven_roles(task: Task, roles: Sequence[Role], settings: Settings) -> tuple[Role, ...]:
    """The stages whose verification looks at files, not only at what the agent says."""
    criteria = list_criteria(task, roles, settings)
    return tuple(role for role in roles if verification.select_file_criteria(criteria[role]) is not None)


def list_criteria(task: Task, roles: Sequence[Role], settings: Settings) -> dict[Role, CompletionCriteria]:
    return {role: resolve_stage_criteria(task, role, settings).criteria for role in roles}


def list_confirmed_roles(task: Task, roles: Sequence[Role], settings: Settings) -> tuple[Role, ...]:
    """The stages whose commands tell whether what an earlier life has passed still holds: of those with the same
    commands the last."""
    found: dict[str, Role] = {}
    for role, criteria in list_criteria(task, roles, settings).items():
        looks = verification.select_file_criteria(criteria)
        if looks is not None:
            found[verification.identify_check(looks)] = role
    return tuple(role for role in roles if role in found.values())


def list_file_criteria(task: Task, roles: Sequence[Role], settings: Settings) -> dict[Role, CompletionCriteria]:
    """What of each stage's criteria looks at files."""
    found = list_criteria(task, roles, settings).items()
    return {role: looks for role, each in found if (looks := verification.select_file_criteria(each)) is not None}


def build_stages(task: Task, roles: Sequence[Role], settings: Settings, context: AgentContext) -> PipelineStages:
    """Agent and criteria of each stage."""
    setups: dict[Role, StageSetup] = {}
    warnings: list[str] = []
    checks = list_check_commands(task, settings)
    for role in roles:
        found = resolve_stage_criteria(task, role, settings)
        command = resolve_stage_agent(role, settings, context.folder, context.variables, checks=checks)
        is_guarded = command.guarded and not context.is_contained
        command = replace(command, own_sandbox=context.own_sandbox, guarded=is_guarded)
        prepared = _prepare(command, context)
        setups[role] = StageSetup(
            criteria=found.criteria,
            runner=_build_runner(prepared, command, settings.agent, context),
            loops=is_looping(role, settings),
            can_commit=prepared.can_commit,
            commands=tuple(verification.list_criteria_commands(found.criteria)),
            by_words=settings.specflow.semantic == "words",
            is_verified=verifies_promises(role, settings),
            merged_tree_criteria=verification.select_file_criteria(found.criteria),
        )
        warnings += [found.warning] if found.warning else []
    return PipelineStages(setups, tuple(warnings))


def resolve_stage_criteria(task: Task, role: str, settings: Settings) -> ApplicableCriteria:
    """The criteria in force, with a warning where they are not the task's own; with `verify_promises` off they are
    believed."""
    by_words = settings.specflow.semantic == "words"
    found = resolve_criteria(task, role, _stage_defaults(role, settings), by_words=by_words)
    if verifies_promises(role, settings):
        return found
    return replace(found, criteria=drop_verification(found.criteria))


def verifies_promises(role: str, settings: Settings) -> bool:
    """Whether its promises are verified; else they are believed."""
    own = _stage_settings(role, settings).verify_promises
    return settings.specflow.verify_promises if own is None else own


def is_looping(role: str, settings: Settings) -> bool:
    """Whether the stage repeats until its promise is verified; else it is a single pass."""
    return settings.specflow.enabled and _stage_settings(role, settings).enabled


def resolve_limit(task: Task, role: str, settings: Settings, history: IterationHistory) -> IterationLimit:
    """By the task, by settings, or adapted to how long verified promises took."""
    criteria = resolve_stage_criteria(task, role, settings).criteria
    usual = resolve_max_iterations(criteria, _stage_defaults(role, settings))
    if not is_looping(role, settings):
        return IterationLimit(1, "a single pass: its loop is switched off")
    if criteria.max_iterations is not None:
        return IterationLimit(usual, "by the task")
    if not settings.specflow.adaptive:
        return IterationLimit(usual, "by settings")
    return adapt_limit(usual, history(role))


def adapt_limit(usual: int, taken: Sequence[int]) -> IterationLimit:
    """One more than nine of ten verified promises took, never more than the usual limit."""
    if len(taken) < MIN_ADAPTIVE_SAMPLES:
        return IterationLimit(
            usual, f"by settings; adaptive from {MIN_ADAPTIVE_SAMPLES} verified promises on, there are {len(taken)}"
        )
    most = sorted(taken)[int(len(taken) * ADAPTIVE_QUANTILE)]
    limit = max(1, min(usual, most + 1))
    why = (
        f"adaptive: {ADAPTIVE_QUANTILE:.0%} of the last {len(taken)} verified promises took {most} or less; "
        f"by settings {usual}"
    )
    return IterationLimit(limit, why)


def use_one_agent(settings: Settings) -> Settings:
    """The agent of `ralph run` for every stage, whatever settings say of each."""
    flow = settings.specflow
    alike = {role: replace(_stage_settings(role, settings), agent=None, model=None) for role in ROLES}
    return replace(settings, specflow=replace(flow, **alike))


def list_check_commands(task: Task, settings: Settings) -> list[str]:
    """Every command that verifies a stage of this task, each once."""
    criteria = [resolve_stage_criteria(task, role, settings).criteria for role in ROLES]
    return [*dict.fromkeys(command for each in criteria for command in verification.list_criteria_commands(each))]


def resolve_stage_agent(
    role: str, settings: Settings, folder: str, variables: Mapping[str, str], *, checks: Sequence[str] = ()
) -> AgentCommand:
    agent = select_stage_agent(role, settings)
    return resolve_agent(agent, folder, variables, checks=checks, commits_in=folder)


def select_stage_agent(role: str, settings: Settings) -> AgentSettings:
    """Its own agent, or the one of `ralph run`, with the stage's model."""
    agent, stage = settings.agent, _stage_settings(role, settings)
    if stage.agent and stage.agent != agent.command:
        agent = replace(agent, command=stage.agent, flags=(), adapter=None, model="")
    if stage.model:
        agent = replace(agent, model=stage.model)
    if settings.prices:
        agent = replace(
            agent, price=find_price(settings.prices, resolve_adapter(agent.command.split()[0]), agent.model)
        )
    return agent


def is_judged(task: Task, role: str, settings: Settings) -> bool:
    """Whether a judge may be asked about this stage."""
    return verification.is_judge_needed(resolve_stage_criteria(task, role, settings).criteria)


def _prepare(command: AgentCommand, context: AgentContext) -> wiring.PreparedAgent:
    return wiring.prepare_agent(command, context.folder, context.variables, context.processes)


def _build_runner(
    prepared: wiring.PreparedAgent, command: AgentCommand, settings: AgentSettings, context: AgentContext
) -> AgentRunner:
    return wiring.build_agent_runner(
        prepared,
        command,
        settings=settings,
        folder=context.folder,
        variables=context.variables,
        own=context.run_variables,
        processes=context.processes,
        keep=context.keep,
        watch=context.watch,
        substitutes={
            name: partial(_build_substitute, other, settings.substitutes[name], context)
            for name, other in command.substitutes.items()
        },
    )


def _build_substitute(command: AgentCommand, settings: AgentSettings, context: AgentContext) -> AgentRunner:
    return _build_runner(_prepare(command, context), command, settings, context)


def _stage_defaults(role: str, settings: Settings) -> AgentDefaults:
    stage = _stage_settings(role, settings)
    flow = settings.specflow
    limit = stage.max_iterations or flow.default_max_iterations
    wanted = flow.default_verification
    method = AGENT_DEFAULTS[role].verification_method if wanted is None else VerificationMethod(wanted)
    return AgentDefaults(
        promise=stage.completion_promise,
        max_iterations=limit,
        verification_method=method,
        verification_config={},
        enabled=stage.enabled,
    )


def _stage_settings(role: str, settings: Settings) -> StageSettings:
    stage: StageSettings = getattr(settings.specflow, role)
    return stage
