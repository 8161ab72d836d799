"""Use case: the story loop with its enforced review cycle."""

import math
import os
import shlex
import time
from collections.abc import Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.app import registry, wiring
from ralph.app.paths import Paths
from ralph.app.session import Callbacks, Session, find_parent_run, lock_and_open, make_run_id, open_session
from ralph.app.story.history import KIND, average_iterations, find_unjudged_iteration
from ralph.config.schema import AgentSettings
from ralph.core import environment
from ralph.core.guardrail import slugify_commands
from ralph.core.policies.reviewed import ReviewedState, ReviewPolicy
from ralph.core.step import Rules
from ralph.core.stories.review import is_story_done, parse_story_file
from ralph.core.text.quantities import pluralize
from ralph.engine import kernel
from ralph.engine.clock import Clock
from ralph.engine.journal import Journal
from ralph.engine.loops.story import GitReader, StoryEffects
from ralph.engine.marker import MarkerFile, find_owner_pid
from ralph.model.errors import Busy, ConfigError, MachineError, UsageError
from ralph.model.loop import Began, Brief, Limits, Patience, Stop
from ralph.model.ports import GateOptions
from ralph.model.story import StoryPaths, StoryRules
from ralph.process.atomic_file import read_regular_file
from ralph.process.shell import find_program
from ralph.process.spawner import GuardianHandle
from ralph.stores import sqlite
from ralph.stores.runs import NewRun, RunStore

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


def run_stories(
    request: StoryRequest,
    places: Paths,
    *,
    variables: Mapping[str, str],
    guardian: GuardianHandle | None,
    wishes: Callbacks,
) -> Stop:
    """Until every story is approved. `places` are the project's own."""
    place = request.place
    _refuse_double_start(place)
    crew = wiring.resolve_agent(request.agent, place.project, variables)
    git = find_program("git", variables)
    if git is None or not places.in_git:
        raise MachineError(f"{place.project} is no git repository", "stories live in commits: `git init` first")
    wiring.refuse_unenforceable_budget(crew, request.budget_usd)
    name = make_run_id()
    with (
        lock_and_open(places, places.lock, name) as stores,
        open_session(name, places, stores=stores, guardian=guardian, wishes=wishes, variables=variables) as stage,
    ):
        earlier = None if request.as_is else find_unjudged_iteration(stage.runs, place.folder)
        # What a cut-off iteration left on disk is not the user's list; ours of before is in the journal.
        commands = read_verify_commands(place) if earlier is None else parse_verify_commands(place, earlier.tasks)
        record = msgspec.json.encode(request)
        stage.runs.begin(
            NewRun(
                id=name,
                kind=KIND,
                folder=place.folder,
                agent=crew.adapter,
                request=record,
                owner=stage.owner,
                started_at=time.time(),
                parent=find_parent_run(variables),
            )
        )
        return _run_loop(
            name,
            request,
            places=places,
            variables=variables,
            crew=crew,
            git=git,
            stage=stage,
            earlier=earlier,
            commands=commands,
        )


def _run_loop(
    name: str,
    request: StoryRequest,
    *,
    places: Paths,
    variables: Mapping[str, str],
    crew: wiring.AgentCommand,
    git: str,
    stage: Session,
    earlier: Brief | None,
    commands: tuple[str, ...],
) -> Stop:
    place, rules = request.place, request.rules
    own = wiring.build_run_variables(name, place.project, places.state)
    of_gate = environment.build_gate_env(variables, own)
    made = wiring.prepare_agent(crew, place.project, variables, stage.supervisor)
    build = registry.load_extension("guardrails", "shell").build
    names = slugify_commands(commands)
    gates = {
        slug: build(GateOptions(command=command, log_name=slug), stage.supervisor)
        for slug, command in zip(names, commands, strict=True)
    }
    records = places.run_dir(name)
    keep = wiring.build_snapshots(
        request.snapshots, name, tree=places, records=records, variables=variables, processes=stage.supervisor
    )
    marker = MarkerFile(place, rules)
    world = StoryEffects(
        place,
        records,
        caller=wiring.build_agent_runner(
            made,
            crew,
            settings=request.agent,
            folder=place.project,
            variables=variables,
            own=own,
            processes=stage.supervisor,
            keep=keep,
        ),
        marker=marker,
        repository=GitReader(git, place.project, environment.without_git_vars(of_gate), stage.supervisor),
        gates=gates,
        gate_environment=of_gate,
        inbox=stage.inbox,
        watchers=stage.watchers,
    )
    policy = ReviewPolicy(cap=rules.cap, skip_review=rules.skip_review, gates=names, earlier=earlier)
    judged_by: Rules[ReviewedState] = Rules(policy, request.patience)
    journal = Journal(stage.runs, name, agent=crew.adapter, watchers=stage.watchers)
    limits = Limits(request.max_iterations, request.max_time, request.budget_usd)
    try:
        return kernel.run_loop(
            judged_by,
            None,
            fact=Began(limits),
            look=Clock(stage.inbox).observe,
            perform=world.perform,
            journal=journal.append,
        )
    finally:
        marker.remove()


def locate_stories(project: str, ralph_dir: str) -> StoryPaths:
    """Where the files of a loop are."""
    project = os.path.realpath(project)
    if not os.path.isdir(project):
        raise UsageError(f"there is no folder {project!r}", "give the project with --project-dir")
    return StoryPaths(project, os.path.realpath(os.path.join(project, ralph_dir)))


def read_verify_commands(place: StoryPaths) -> tuple[str, ...]:
    """The project's own checks, as tasks.json names them before the loop begins."""
    try:
        return parse_verify_commands(place, read_regular_file(place.tasks))
    except OSError as error:
        raise ConfigError(f"cannot read {place.tasks}: {error.strerror}", "make it with `ralph story init`") from error


def parse_verify_commands(place: StoryPaths, text: str) -> tuple[str, ...]:
    """The verifyCommands of such a list."""
    listed = parse_story_file(text).document.get("verifyCommands") or []
    if not isinstance(listed, list) or not all(isinstance(command, str) for command in listed):
        raise ConfigError(f"{place.tasks}: verifyCommands: expected a list of commands", 'for example ["make test"]')
    return tuple(command for command in listed if command.strip())


def estimate_iterations(place: StoryPaths, places: Paths, skip_review: bool, limit: int) -> str:
    """How many iterations the open stories will need, told before the first."""
    try:
        stories = parse_story_file(read_regular_file(place.tasks)).stories
    except OSError:
        return ""
    left = [story for story in stories if not is_story_done(story, skip_review)]
    if not left:
        return ""
    seen = _average_iterations(places, skip_review)
    each = seen or (1 if skip_review else DEFAULT_ITERATIONS_PER_STORY)
    need = math.ceil(len(left) * each)
    count = "1 open story" if len(left) == 1 else f"{len(left)} open stories"
    why = "" if seen is None else ", as seen in this repository so far"
    enough = "" if need <= limit else f", more than the {limit} allowed: see -n"
    return f"{count} × ~{each:.2g} iterations each{why} = ~{pluralize(need, 'iteration')}{enough}"


def _average_iterations(places: Paths, skip_review: bool) -> float | None:
    database = sqlite.open_existing(places.database)
    return None if database is None else average_iterations(RunStore(database), skip_review)


def _refuse_double_start(place: StoryPaths) -> None:
    for path in place.markers:
        if pid := find_owner_pid(path):
            raise Busy(f"a story loop is active here already (pid {pid}, {path})", "wait for it, or `ralph cancel`")


def add_story_flags(settings: AgentSettings, model: str, plugin: str) -> AgentSettings:
    """Claude runs unattended and with our hooks; every agent that takes a model takes it as --model."""
    flags = settings.flags
    if settings.command.rpartition("/")[2] == "claude":
        if not any("permission" in flag for flag in flags):
            flags = (*flags, "--dangerously-skip-permissions")
        if plugin and not any("--plugin-dir" in flag for flag in flags):
            flags = (*flags, "--plugin-dir", shlex.quote(plugin))
    return replace(settings, flags=(*flags, "--model", shlex.quote(model)) if model else flags)
