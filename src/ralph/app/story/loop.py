"""Use case: the story loop with its enforced review cycle."""

import math
import os
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager

from msgspec import Struct
from msgspec.structs import replace

from ralph.app import registry, wiring
from ralph.app.agent_command import AgentCommand, resolve_agent
from ralph.app.guardrails import check_guardrails, name_gates
from ralph.app.paths import Paths, find_paths, find_project_paths
from ralph.app.proof_gates import build_proof_gates
from ralph.app.runs.earlier_life import EarlierLife, read_earlier_life
from ralph.app.sandbox.choice import Isolation
from ralph.app.sandboxed_session import contain_session
from ralph.app.session import Callbacks, Session, open_session
from ralph.app.story.branch import enter_branch, read_announced_branch
from ralph.app.story.history import (
    KIND,
    compute_average_iterations,
    find_unjudged_iteration,
    has_loops,
    list_current_loops,
)
from ralph.app.story.kept_list import KeptList
from ralph.config.schema import AgentSettings, Guardrail, Layer, SandboxSettings, Settings, check_layer
from ralph.core.policies.reviewed import ReviewedState, ReviewPolicy
from ralph.core.step import Rules
from ralph.core.stories.review import is_story_done, parse_story_file
from ralph.core.text.quantities import pluralize
from ralph.engine.emit import emit
from ralph.engine.loops.story import StoryEffects
from ralph.engine.marker import MarkerFile, find_owner_pid
from ralph.model.agent_chain import AgentChain
from ralph.model.errors import Busy, ConfigError, MachineError, UsageError
from ralph.model.events import Warned
from ralph.model.loop import Began, Brief, Limits, Patience, Stop
from ralph.model.proofs import ProofMode
from ralph.model.standstill import StuckLimits
from ralph.model.store_ports import RunStore
from ralph.model.story import TASKS_FILE, StoryPaths, StoryRules
from ralph.process.atomic_file import read_regular_file
from ralph.process.shell import find_program
from ralph.process.spawner import GuardianHandle
from ralph.workspaces.git import Git

GIT_READ_TIMEOUT_SECONDS = 60.0
DEFAULT_ITERATIONS_PER_STORY = 3  # a story: one to write, one to review, and a little more


class StoryRequest(Struct, frozen=True, kw_only=True):
    """How a list of stories is worked on."""

    place: StoryPaths
    agent: AgentSettings
    rules: StoryRules = StoryRules()
    max_iterations: int = 15
    max_time: float | None = None
    budget_usd: float | None = None
    patience: Patience = Patience()
    as_is: bool = False  # take tasks.json as it stands, even if a cut-off iteration changed it
    snapshots: bool = True
    branch: str = ""  # the one to work on; empty: the one tasks.json names
    isolation: Isolation = Isolation()
    sandbox: SandboxSettings = SandboxSettings()
    setup: str = ""
    protected: tuple[str, ...] = ()  # patterns of the settings
    plugin: str = ""  # the folder with our hooks
    stuck: StuckLimits = StuckLimits()
    chain: AgentChain = AgentChain()
    day_usd: float | None = None  # for all runs of this machine together
    budget_reserve: float = 0.0  # which part of the budget is kept for reviews
    proofs: ProofMode = "warn"


def apply_story_settings(request: StoryRequest, settings: Settings) -> StoryRequest:
    """With all that only settings say."""
    return replace(
        request,
        patience=settings.patience,
        snapshots=settings.snapshots,
        sandbox=settings.sandbox,
        setup=settings.setup,
        protected=settings.protected,
        stuck=settings.build_stuck_limits(),
        chain=settings.agent_chain,
        day_usd=settings.budget_usd_per_day,
        budget_reserve=0.0 if request.rules.skip_review else settings.budget_reserve,
        proofs=settings.proofs,
    )


def run_stories(
    request: StoryRequest,
    paths: Paths,
    *,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    callbacks: Callbacks,
) -> Stop:
    """Until every story is approved. `paths` are the project's own."""
    place, rules = request.place, request.rules
    _refuse_double_start(place)
    command = resolve_agent(request.agent, place.project, variables, commits_in=place.project)
    git = _find_git(paths, place, variables)
    wiring.refuse_unenforceable_budget(command, request.budget_usd or request.day_usd)
    with open_session(
        paths,
        kind=KIND,
        agent_name=command.adapter,
        lock=paths.lock,
        variables=variables,
        guardian=guardian,
        callbacks=callbacks,
        watched=find_project_paths(place.project),
        prompt_file=place.prompt,
    ) as session:
        kept_list = KeptList(paths, place.folder, variables)
        earlier = None if request.as_is else _find_earlier(session.runs, place, kept_list)
        repository = _open_repository(git, place, session)
        announced = read_announced_branch(_read_list(place) if earlier is None else earlier.tasks)
        branch, notice = enter_branch(repository, announced, request.branch)
        # What a cut-off iteration left on disk is not the user's list; ours of before is in the journal.
        commands = read_verify_commands(place) if earlier is None else parse_verify_commands(place, earlier.tasks)
        session.record(request, place.folder)
        problems = map(Warned, _find_commit_problems(command))
        emit(session.watchers, 0, Warned(notice), *_estimate_iterations(request, session.runs), *problems)
        policy = ReviewPolicy(
            cap=rules.cap,
            skip_review=rules.skip_review,
            gates=name_gates(commands),
            earlier=earlier,
            branch=branch,
            max_idle=0,
            proofs=request.proofs,
            has_protected=bool(request.protected or session.containment),
        )
        marker = MarkerFile(place, replace(rules, run_mode="sandbox") if request.isolation.kind else rules)
        try:
            with _contain(session, request, command) as contained:
                effects = _build_effects(
                    contained,
                    request,
                    command=command,
                    git=repository,
                    marker=marker,
                    commands=commands,
                    kept_list=kept_list,
                )
                return _play(contained, request, policy, effects)
        finally:
            marker.remove()
            if find_unjudged_iteration(session.runs, place.folder) is None:
                kept_list.forget()


def _find_git(paths: Paths, place: StoryPaths, variables: Mapping[str, str]) -> str:
    git = find_program("git", variables)
    if git is None or not paths.in_git:
        raise MachineError(f"{place.project} is not a git repository", "stories need commits: run `git init` first")
    return git


def _open_repository(program: str, place: StoryPaths, session: Session) -> Git:
    return Git(
        program,
        place.project,
        environment=session.gate_environment,
        processes=session.processes,
        timeout=GIT_READ_TIMEOUT_SECONDS,
    ).with_guard()


def _play(session: Session, request: StoryRequest, policy: ReviewPolicy, effects: StoryEffects) -> Stop:
    limits = Limits(
        request.max_iterations,
        request.max_time,
        cost_usd=request.budget_usd,
        stuck=request.stuck,
        chain=request.chain,
        day_usd=request.day_usd,
        reserve_usd=(request.budget_usd or 0.0) * request.budget_reserve,
    )
    rules = Rules(policy, request.patience)
    life = _read_earlier_life(session, request, rules)
    return session.play(rules, effects, Began(limits, standstill=life.standstill, pending_notes=life.pending_notes))


def _find_earlier(runs: RunStore, place: StoryPaths, kept: KeptList) -> Brief | None:
    """An iteration nobody has judged; where no loop is on record, one whose record was lost."""
    is_on_record = has_loops(runs, place.folder)
    return find_unjudged_iteration(runs, place.folder) if is_on_record else kept.read()


def _contain(session: Session, request: StoryRequest, command: AgentCommand) -> AbstractContextManager[Session]:
    place = request.place
    if request.isolation.kind and not place.folder.startswith(f"{os.path.realpath(session.paths.root)}/"):
        raise MachineError(
            f"the stories are in {place.folder}, which is outside of the sandbox",
            "keep them in a folder of the project that is not a link, or use --no-sandbox",
        )
    return contain_session(
        session,
        request.isolation,
        request.sandbox,
        paths=session.paths,
        commands=(command,),
        protected=request.protected,
        readable=(request.plugin,) if request.plugin else (),
        used=(place.marker,),
        used_folders=(place.folder,),
        setup=request.setup,
    )


def _read_earlier_life(session: Session, request: StoryRequest, rules: Rules[ReviewedState]) -> EarlierLife:
    loops = (loop for loop in list_current_loops(session.runs, request.place.folder) if loop.id != session.run)
    return EarlierLife() if request.as_is else read_earlier_life(session.runs, loops, rules)


def _build_effects(
    session: Session,
    request: StoryRequest,
    *,
    command: AgentCommand,
    git: Git,
    marker: MarkerFile,
    commands: tuple[Guardrail, ...],
    kept_list: KeptList,
) -> StoryEffects:
    """All that `ralph story run` may touch."""
    place = request.place
    earlier = [loop for loop in list_current_loops(session.runs, place.folder) if loop.id != session.run]
    keep = session.keep_snapshots(request.snapshots, session.paths, earlier=earlier)
    if keep is not None:
        keep.use_guarded_git(git)
    gates = build_proof_gates(
        session,
        commands,
        keep=keep,
        folder=place.project,
        mode=request.proofs,
        protected=request.protected,
        committed_apart_from=place.folder,
        earlier=earlier,
    )
    return StoryEffects(
        place,
        session.run_dir,
        runner=session.prepare_agent(command, request.agent, folder=place.project, keep=keep),
        gates=gates,
        marker=marker,
        git=git,
        watchers=session.watchers,
        trees=keep,
        keep_list=kept_list.keep,
    )


def find_stories(project: str | None, ralph_dir: str) -> StoryPaths:
    """The files of a loop that exist already: without a project, those in the nearest folder of this repository."""
    return locate_stories(project or _find_story_project(os.getcwd(), ralph_dir), ralph_dir)


def _find_story_project(start: str, ralph_dir: str) -> str:
    here = find_paths(start)
    at = here.folder
    while not os.path.exists(os.path.join(at, ralph_dir, TASKS_FILE)):
        if at == here.root:
            return start
        at = os.path.dirname(at)
    return at


def _find_commit_problems(command: AgentCommand) -> list[str]:
    if wiring.read_grant(command).can_commit:
        return []
    title = registry.load_agent_card(command.adapter).title
    return [f"{title} may not commit with these permissions, but stories need commits: set agent.permissions to checks"]


def locate_stories(project: str, ralph_dir: str) -> StoryPaths:
    """Where the files of a loop are."""
    project = os.path.realpath(project)
    if not os.path.isdir(project):
        raise UsageError(f"there is no folder {project!r}", "give the project with --project-dir")
    return StoryPaths(project, os.path.realpath(os.path.join(project, ralph_dir)))


def read_verify_commands(place: StoryPaths) -> tuple[Guardrail, ...]:
    """The project's own checks, as tasks.json names them before the loop begins."""
    try:
        return parse_verify_commands(place, read_regular_file(place.tasks))
    except OSError as error:
        raise ConfigError(
            f"cannot read {place.tasks}: {error.strerror}", "create it with `ralph story init`"
        ) from error


def parse_verify_commands(place: StoryPaths, text: str) -> tuple[Guardrail, ...]:
    """The verifyCommands of such a list, each written as a guardrail of the settings is."""
    listed = parse_story_file(text).document.get("verifyCommands") or []
    if not isinstance(listed, list) or not all(isinstance(each, (str, dict)) for each in listed):
        raise ConfigError(f"{place.tasks}: verifyCommands: expected a list of commands", 'for example ["make test"]')
    wanted = [each for each in listed if not isinstance(each, str) or each.strip()]
    try:
        guardrails = check_layer(Layer(name=place.tasks, raw={"guardrails": wanted})).guardrails
        check_guardrails(guardrails)
    except ConfigError as error:
        raise ConfigError(error.message.replace("guardrails[", "verifyCommands[", 1), error.hint) from error
    return guardrails


def _read_list(place: StoryPaths) -> str:
    """tasks.json; empty where there is none, which is told once the branch is the right one."""
    try:
        return read_regular_file(place.tasks)
    except OSError:
        return ""


def _estimate_iterations(request: StoryRequest, runs: RunStore) -> list[Warned]:
    """How many iterations the open stories will need, told before the first."""
    skip_review, limit = request.rules.skip_review, request.max_iterations
    stories = parse_story_file(_read_list(request.place)).stories
    left = [story for story in stories if not is_story_done(story, skip_review)]
    if not left:
        return []
    seen = compute_average_iterations(runs, skip_review)
    each = seen or (1 if skip_review else DEFAULT_ITERATIONS_PER_STORY)
    need = math.ceil(len(left) * each)
    count = "1 open story" if len(left) == 1 else f"{len(left)} open stories"
    why = "estimate" if seen is None else f"{each:.2g} each so far"
    enough = "" if need <= limit else f", more than the limit of {limit}; raise it with -n"
    return [Warned(f"About {pluralize(need, 'iteration')} for {count} ({why}){enough}")]


def _refuse_double_start(place: StoryPaths) -> None:
    for path in place.markers:
        if pid := find_owner_pid(path):
            raise Busy(f"a story loop is active here already (pid {pid}, {path})", "wait for it, or `ralph cancel`")


def wants_everything(settings: AgentSettings) -> bool:
    """Whether a story loop gives this agent all permissions: its card says so, and nobody said otherwise."""
    card = registry.load_agent_card(settings.adapter or registry.resolve_adapter(settings.command))
    is_told = any("permission" in flag for flag in settings.flags) or settings.permissions in ("checks", "edits")
    return bool(card.story_flags) and not is_told


def add_story_flags(settings: AgentSettings, model: str, plugin: str) -> AgentSettings:
    """What its card says a story loop needs: to run unattended, our hooks, the model."""
    card = registry.load_agent_card(settings.adapter or registry.resolve_adapter(settings.command))
    flags = settings.flags
    if wants_everything(settings):
        flags = (*flags, *card.story_flags)
    if plugin and card.plugin_flag and not any(card.plugin_flag in flag for flag in flags):
        flags = (*flags, card.plugin_flag, shlex.quote(plugin))
    return replace(settings, flags=flags, model=model or settings.model)
