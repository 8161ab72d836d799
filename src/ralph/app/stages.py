"""The parts of a task's pipeline, put together from settings: who works, by which criteria, and who judges."""

import os
import shlex
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import wiring
from ralph.config.schema import Settings, Stage
from ralph.core.criteria import Applicable, believed, criteria_for, iterations
from ralph.core.policies.staged import StagePlan
from ralph.engine.caller import Call, Papers
from ralph.engine.stage_world import Part
from ralph.model.ports import Processes
from ralph.model.spec import DEFAULTS, AgentDefaults, Role, Task
from ralph.model.verdict import Judge, Opinion

ENOUGH = 5  # verified tasks before limits follow history


class Cast(Struct, frozen=True):
    """Everyone who plays a part in one task."""

    plans: tuple[StagePlan, ...]
    parts: Mapping[str, Part]
    warnings: tuple[str, ...]


def cast_of(
    task: Task,
    roles: tuple[Role, ...],
    settings: Settings,
    folder: str,
    variables: Mapping[str, str],
    own: Mapping[str, str],
    processes: Processes,
    history: Callable[[str], list[int]],
) -> Cast:
    """Agents, criteria and limits of each stage."""
    plans: list[StagePlan] = []
    parts: dict[str, Part] = {}
    warnings: list[str] = []
    for role in roles:
        stage: Stage = getattr(settings.specflow, role)
        found = applicable(task, role, settings)
        loops = settings.specflow.enabled and stage.enabled
        limit = iterations(found.criteria, _defaults(role, settings)) if loops else 1
        if loops and settings.specflow.adaptive and found.criteria.max_iterations is None:
            limit = adapted(limit, history(role))
        plans.append(StagePlan(role, found.criteria.promise, limit))
        crew = _crew(stage, settings, folder, variables)
        made = wiring.agent(crew, folder, variables, processes)
        caller = wiring.caller(made, crew, settings.agent, folder, variables, own, processes)
        parts[role] = Part(found.criteria, caller, loops)
        warnings += [found.warning] if found.warning else []
    return Cast(tuple(plans), parts, tuple(warnings))


def applicable(task: Task, role: str, settings: Settings) -> Applicable:
    """The criteria in force, and what the user should know about them."""
    found = criteria_for(task, role, _defaults(role, settings))
    return found if settings.specflow.verify_promises else replace(found, criteria=believed(found.criteria))


def adapted(limit: int, taken: list[int]) -> int:
    """One more than nine of ten verified tasks needed, never more than the configured limit."""
    if len(taken) < ENOUGH:
        return limit
    return max(2, min(limit, sorted(taken)[int(len(taken) * 0.9)] + 1))


def judge_of(
    settings: Settings, folder: str, variables: Mapping[str, str], processes: Processes, records: str
) -> Judge | None:
    """Asks the configured judge; None without one."""
    wanted = settings.specflow.judge
    if wanted is None:
        return None

    def judge(prompt: str, model: str) -> Opinion | None:
        chosen = replace(settings.agent, command=wanted.agent, flags=("--model", model or wanted.model), adapter=None)
        crew = wiring.recruited(chosen, folder, variables)
        made = wiring.agent(crew, folder, variables, processes)
        papers = Papers(*(os.path.join(records, f"judge.{name}") for name in ("log", "stderr.log", "prompt", "answer")))
        caller = wiring.caller(made, crew, chosen, folder, variables, {}, processes)
        reported = caller.call(Call(prompt, "stream", papers, 0), ())
        if reported is None:
            return None
        problem = "" if reported.outcome == "finished" else reported.detail
        return Opinion(reported.text, reported.cost_usd, problem)

    return judge


def _defaults(role: str, settings: Settings) -> AgentDefaults:
    stage: Stage = getattr(settings.specflow, role)
    usual = DEFAULTS[role]
    limit = stage.max_iterations or settings.specflow.default_max_iterations
    return AgentDefaults(stage.completion_promise, limit, usual.verification_method, {}, stage.enabled)


def _crew(stage: Stage, settings: Settings, folder: str, variables: Mapping[str, str]) -> wiring.Crew:
    agent = settings.agent
    if stage.agent and stage.agent != agent.command:
        agent = replace(agent, command=stage.agent, flags=(), adapter=None)
    if stage.model:
        agent = replace(agent, flags=(*agent.flags, "--model", shlex.quote(stage.model)))
    return wiring.recruited(agent, folder, variables)
