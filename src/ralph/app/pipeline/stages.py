"""The parts of a task's pipeline, put together from settings: who works, by which criteria, and who judges."""

import os
import shlex
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.app.pipeline import verification
from ralph.config import schema
from ralph.config.schema import AgentSettings, Settings, Stage
from ralph.core.policies.staged import StagePlan
from ralph.core.tasks.criteria import Applicable, believed, criteria_for, iterations
from ralph.engine.agent_run import Call, Caller, Papers
from ralph.engine.loops.pipeline import Part
from ralph.model.errors import MachineError
from ralph.model.ports import Keep, Processes
from ralph.model.spec import DEFAULTS, ROLES, AgentDefaults, Role, Task, VerificationMethod
from ralph.model.verdict import Judge, Opinion

ENOUGH = 5  # verified promises before limits follow history
SHARE = 0.9
NO_JUDGE = "install it, or change `judge`; without one, semantic verification looks for the criteria's own words"

History = Callable[[str], list[int]]  # a role → how many iterations its verified promises took


class Cast(Struct, frozen=True):
    """Everyone who plays a part in one task."""

    parts: Mapping[str, Part]
    warnings: tuple[str, ...]


class Limit(Struct, frozen=True):
    """How often an agent may be started, and where that comes from."""

    iterations: int
    why: str


class Workplace(Struct, frozen=True):
    """Where agents work, and with what."""

    folder: str
    variables: Mapping[str, str]  # of the user
    own: Mapping[str, str]  # of the run
    processes: Processes
    keep: Keep | None = None


def plans_of(task: Task, roles: Sequence[Role], settings: Settings, history: History) -> tuple[StagePlan, ...]:
    """Promise and limit of each stage."""
    return tuple(
        StagePlan(
            role,
            applicable(task, role, settings).criteria.promise,
            limit_of(task, role, settings, history).iterations,
            looping(role, settings),
        )
        for role in roles
    )


def cast_of(task: Task, roles: Sequence[Role], settings: Settings, place: Workplace) -> Cast:
    """Agent and criteria of each stage."""
    parts: dict[str, Part] = {}
    warnings: list[str] = []
    for role in roles:
        found = applicable(task, role, settings)
        files = verification.of_files(found.criteria)
        parts[role] = Part(found.criteria, _caller(role, settings, place), looping(role, settings), files)
        warnings += [found.warning] if found.warning else []
    return Cast(parts, tuple(warnings))


def applicable(task: Task, role: str, settings: Settings) -> Applicable:
    """The criteria in force, and what the user should know about them."""
    found = criteria_for(task, role, _defaults(role, settings))
    return found if settings.specflow.verify_promises else replace(found, criteria=believed(found.criteria))


def looping(role: str, settings: Settings) -> bool:
    """Whether its loop is switched on."""
    return settings.specflow.enabled and _stage(role, settings).enabled


def limit_of(task: Task, role: str, settings: Settings, history: History) -> Limit:
    """By the task, by settings or by how long others took."""
    criteria = applicable(task, role, settings).criteria
    usual = iterations(criteria, _defaults(role, settings))
    if not looping(role, settings):
        return Limit(1, "a single pass: its loop is switched off")
    if criteria.max_iterations is not None:
        return Limit(usual, "by the task")
    if not settings.specflow.adaptive:
        return Limit(usual, "by settings")
    return adapted(usual, history(role))


def adapted(usual: int, taken: Sequence[int]) -> Limit:
    """One more than nine of ten verified promises took, never more than the usual limit."""
    if len(taken) < ENOUGH:
        return Limit(usual, f"by settings; adaptive from {ENOUGH} verified promises on, there are {len(taken)}")
    most = sorted(taken)[int(len(taken) * SHARE)]
    limit = max(1, min(usual, most + 1))
    told = f"adaptive: {SHARE:.0%} of the last {len(taken)} verified promises took {most} or less; by settings {usual}"
    return Limit(limit, told)


def with_one_agent(settings: Settings) -> Settings:
    """The agent of `ralph run` for every stage, whatever settings say of each."""
    flow = settings.specflow
    alike = {role: replace(_stage(role, settings), agent=None, model=None) for role in ROLES}
    return replace(settings, specflow=replace(flow, **alike))


def crew_of(role: str, settings: Settings, folder: str, variables: Mapping[str, str]) -> wiring.Crew:
    """The agent of a stage, found."""
    agent, stage = settings.agent, _stage(role, settings)
    if stage.agent and stage.agent != agent.command:
        agent = replace(agent, command=stage.agent, flags=(), adapter=None)
    if stage.model:
        agent = replace(agent, flags=(*agent.flags, "--model", shlex.quote(stage.model)))
    return wiring.recruited(agent, folder, variables)


def expect_judge(
    settings: Settings, folder: str, variables: Mapping[str, str], budget_usd: float | None = None
) -> None:
    """Whoever configured a judge wants no promise believed because it is not there, and no budget overrun by it."""
    if settings.specflow.judge is None:
        return
    try:
        crew = wiring.recruited(_judging(settings, settings.specflow.judge), folder, variables)
    except MachineError as error:
        raise MachineError(f"judge: {error.message}", NO_JUDGE) from error
    wiring.refuse_unkept_budget(crew, budget_usd)


def is_judged(task: Task, role: str, settings: Settings) -> bool:
    """Whether a judge, where there is one, is asked about this stage."""
    return verification.judges(applicable(task, role, settings).criteria)


def judge_of(settings: Settings, place: Workplace, records: str) -> Judge | None:
    """Asks the configured judge; None without one."""
    wanted = settings.specflow.judge
    if wanted is None:
        return None

    def judge(prompt: str, model: str) -> Opinion | None:
        chosen = _judging(settings, wanted, model)
        crew = wiring.recruited(chosen, place.folder, place.variables)
        made = wiring.agent(crew, place.folder, place.variables, place.processes)
        caller = wiring.caller(made, crew, chosen, place.folder, place.variables, place.own, place.processes)
        papers = Papers(*(os.path.join(records, f"judge.{name}") for name in ("log", "stderr.log", "prompt", "answer")))
        reported = caller.call(Call(prompt, "stream", papers, 0), ())
        if reported is None:
            return None
        problem = "" if reported.outcome == "finished" else reported.detail
        return Opinion(reported.text, reported.cost_usd, problem)

    return judge


def _judging(settings: Settings, wanted: schema.Judge, model: str = "") -> AgentSettings:
    flags = ("--model", shlex.quote(model or wanted.model))
    return replace(settings.agent, command=wanted.agent, flags=flags, adapter=None)


def _caller(role: str, settings: Settings, place: Workplace) -> Caller:
    crew = crew_of(role, settings, place.folder, place.variables)
    made = wiring.agent(crew, place.folder, place.variables, place.processes)
    own, processes = place.own, place.processes
    return wiring.caller(made, crew, settings.agent, place.folder, place.variables, own, processes, place.keep)


def _defaults(role: str, settings: Settings) -> AgentDefaults:
    stage = _stage(role, settings)
    flow = settings.specflow
    limit = stage.max_iterations or flow.default_max_iterations
    wanted = flow.default_verification
    method = DEFAULTS[role].verification_method if wanted is None else VerificationMethod(wanted)
    return AgentDefaults(stage.completion_promise, limit, method, {}, stage.enabled)


def _stage(role: str, settings: Settings) -> Stage:
    stage: Stage = getattr(settings.specflow, role)
    return stage
