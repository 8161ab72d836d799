"""Who judges a stage's work, and how that judge is asked: in an empty folder, with nothing of the project."""

import os
import tempfile
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ralph.app import registry, wiring
from ralph.app.agent_command import AgentCommand, resolve_agent
from ralph.app.agents import choice
from ralph.app.paths import Paths
from ralph.app.pipeline.stages import AgentContext, is_judged, select_stage_agent
from ralph.config.schema import AgentSettings, Judge, Settings
from ralph.engine.agent_run import AgentRequest, AgentRunner, CallFiles
from ralph.model.agent_card import AgentCard
from ralph.model.errors import ConfigError, MachineError
from ralph.model.judge import JUDGE_STAGE
from ralph.model.loop import Interrupted
from ralph.model.spec import ROLES, Role, Task
from ralph.model.verdict import AskJudge, JudgeAnswer

STAGE_JUDGE_TIMEOUT_SECONDS = 600.0
NO_JUDGE_HINT = (
    "give the task a command (--coder-verify-cmd, --qa-verify-cmd), name a judge (specflow.judge), or accept the"
    " agent's own words (specflow.semantic: words)"
)


def refuse_unjudged_tasks(
    tasks: Sequence[Task], settings: Settings, paths: Paths, variables: Mapping[str, str]
) -> None:
    """For tasks that are made now and worked on later: an agent or judge that is not there yet may come."""
    try:
        settings = choice.ensure_agent(settings, paths, variables)[0]
        for task in tasks:
            refuse_unjudged_task(task, ROLES, settings, folder=paths.folder, variables=variables)
    except MachineError:
        return


def refuse_unjudged_task(
    task: Task, roles: Sequence[Role], settings: Settings, *, folder: str, variables: Mapping[str, str]
) -> None:
    """Told before anything is paid: a stage of this task needs a judge, and nobody can be one."""
    for role in roles:
        if is_judged(task, role, settings):
            require_judge(role, settings, folder, variables)


def require_judge(
    role: Role, settings: Settings, folder: str, variables: Mapping[str, str], *, budget_usd: float | None = None
) -> None:
    """ConfigError or MachineError: nobody can judge this stage, or nobody can say what that costs."""
    if settings.specflow.semantic == "judge":
        wiring.refuse_unenforceable_budget(resolve_judge(role, settings, folder, variables), budget_usd)


def resolve_judge(role: str, settings: Settings, folder: str, variables: Mapping[str, str]) -> AgentCommand:
    """The judge that settings name; else the stage's own agent, with its vendor's small model. Programs count from
    `folder`, which should be one that no agent has written to."""
    wanted = settings.specflow.judge
    agent = _name_judge(settings, wanted) if wanted else select_stage_agent(role, settings)
    try:
        command = resolve_agent(agent, folder, variables)
    except MachineError as error:
        raise MachineError(f"judge: {error.message}", NO_JUDGE_HINT) from error
    card = registry.load_agent_card(command.adapter)
    if not card.can_judge:
        raise ConfigError(f"{card.title} cannot judge, so nobody can verify the {role} stage", NO_JUDGE_HINT)
    argv = _find_files(command.argv, folder)
    return replace(
        command,
        argv=argv if wanted or card.judges_with_flags else _drop_flags(argv, command.adapter),
        flags=command.flags if wanted or card.judges_with_flags else (),
        permissions=None,
        allow=(),
        model=(wanted.model if wanted else None) or card.small_model,
        judges=True,
    )


class StageJudge:
    """Asks the judge of one stage; `judge` is an `AskJudge`. `records`: a folder for what it says."""

    def __init__(self, role: str, settings: Settings, context: AgentContext, *, folder: str, records: str) -> None:
        self._role, self._settings, self._context = role, settings, context
        self._folder, self._records = folder, records
        self._calls = 0
        self._has_small_model = True  # until it turns out otherwise

    def ask(self, prompt: str, model: str) -> JudgeAnswer | None:
        found = resolve_judge(self._role, self._settings, self._folder, self._context.variables)
        command = self._fit_model(found, model)
        name = f"{command.adapter} {command.model}".strip()
        with tempfile.TemporaryDirectory(prefix="ralph-judge-") as empty:
            reported = self._build_runner(command, empty).run(self._build_request(prompt), ())
        if isinstance(reported, Interrupted):
            return None
        if reported.outcome == "finished":
            return JudgeAnswer(text=reported.text, cost_usd=reported.cost_usd, judge=name)
        self._has_small_model = False
        return JudgeAnswer(cost_usd=reported.cost_usd, problem=reported.detail, judge=name)

    def _fit_model(self, command: AgentCommand, model: str) -> AgentCommand:
        """The task's model, where it is one of this vendor's. A small model that failed may be one this account does
        not have: then the usual one is asked."""
        cards = registry.load_agent_cards()
        own = cards.get(command.adapter, AgentCard(title=command.adapter))
        foreign = {card.small_model for card in cards.values()} - {own.small_model}
        wanted = "" if model in foreign or own.judges_with_flags else model
        if not wanted and command.model == own.small_model and not self._has_small_model:
            return replace(command, model="")
        return replace(command, model=wanted) if wanted else command

    def _build_runner(self, command: AgentCommand, empty: str) -> AgentRunner:
        context, settings = self._context, self._settings.agent
        timeout = min(STAGE_JUDGE_TIMEOUT_SECONDS, settings.timeout_seconds or STAGE_JUDGE_TIMEOUT_SECONDS)
        return wiring.build_agent_runner(
            wiring.prepare_agent(command, empty, context.variables, context.processes),
            command,
            settings=replace(settings, timeout_seconds=timeout),
            folder=empty,
            variables=context.variables,
            own=context.run_variables,
            processes=context.processes,
        )

    def _build_request(self, prompt: str) -> AgentRequest:
        self._calls += 1
        head = f"judge_{self._role}_{self._calls:03}"
        files = CallFiles.in_dir(
            self._records,
            stdout=f"{head}.log",
            stderr=f"{head}.stderr.log",
            prompt=f"{head}.prompt",
            answer=f"{head}.answer",
        )
        stage = {"RALPH_STAGE": JUDGE_STAGE}
        return AgentRequest(prompt=prompt, mode="stream", files=files.as_question(), iteration=0, environment=stage)


def build_judges(
    roles: Sequence[Role], settings: Settings, context: AgentContext, *, folder: str, records: str
) -> Mapping[str, AskJudge]:
    """The judge of each stage; none where words were chosen."""
    if settings.specflow.semantic == "words":
        return {}
    return {role: StageJudge(role, settings, context, folder=folder, records=records).ask for role in roles}


def _name_judge(settings: Settings, wanted: Judge) -> AgentSettings:
    return replace(settings.agent, command=wanted.agent, flags=(), adapter=None, model=wanted.model or "")


def _find_files(argv: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """Files that the command names count from where it is written, not from the empty folder."""
    paths = ((word, os.path.join(folder, word)) for word in argv)
    return tuple(path if "/" not in word[:1] and os.path.isfile(path) else word for word, path in paths)


def _drop_flags(argv: tuple[str, ...], adapter: str) -> tuple[str, ...]:
    """Words behind a vendor's own program are flags for the work; behind a starter, as `npx`, they name it."""
    return argv[:1] if registry.resolve_adapter(argv[0]) == adapter else argv
