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
from ralph.app.paths import Places
from ralph.app.session import Stage, Wishes, locked, new_id, parent_of, staged
from ralph.app.story.history import KIND, observed, unjudged
from ralph.config.schema import AgentSettings
from ralph.core import environment
from ralph.core.guardrail import slugs
from ralph.core.policies.reviewed import Reviewed, Standing
from ralph.core.step import Rules
from ralph.core.stories.review import is_done, read
from ralph.core.text.quantities import counted
from ralph.engine import kernel
from ralph.engine.atomic_file import read_whole
from ralph.engine.clock import Clock
from ralph.engine.journal import Journal
from ralph.engine.loops.story import Repository, StoryWorld
from ralph.engine.marker import Marker, owner
from ralph.model.errors import Busy, ConfigError, MachineError, UsageError
from ralph.model.loop import Began, Brief, Limits, Patience, Stop
from ralph.model.ports import GateOptions
from ralph.model.story import StoryPlace, StoryRules
from ralph.process.shell import find_program
from ralph.process.spawner import Handle
from ralph.stores import sqlite
from ralph.stores.runs import NewRun, Runs

USUAL_ITERATIONS = 3  # a story: one to write, one to review, and a little more


class StoryRequest(Struct, frozen=True):
    """How a list of stories is worked on."""

    place: StoryPlace
    agent: AgentSettings
    rules: StoryRules = StoryRules()
    max_iterations: int = 15
    max_time: float | None = None
    budget_usd: float | None = None
    patience: Patience = Patience()
    as_is: bool = False  # take tasks.json as it stands, even if a cut-off iteration changed it
    snapshots: bool = True


def run(
    request: StoryRequest,
    places: Places,
    variables: Mapping[str, str],
    guardian: Handle | None,
    wishes: Wishes,
) -> Stop:
    """Until every story is approved. `places` are the project's own."""
    place = request.place
    _refuse_double_start(place)
    crew = wiring.recruited(request.agent, place.project, variables)
    git = find_program("git", variables)
    if git is None or not places.in_git:
        raise MachineError(f"{place.project} is no git repository", "stories live in commits: `git init` first")
    wiring.refuse_unkept_budget(crew, request.budget_usd)
    name = new_id()
    with (
        locked(places, places.lock, name) as stores,
        staged(name, places, stores, guardian, wishes, variables) as stage,
    ):
        earlier = None if request.as_is else unjudged(stage.runs, place.folder)
        # What a cut-off iteration left on disk is not the user's list; ours of before is in the journal.
        commands = verify_commands(place) if earlier is None else commands_in(place, earlier.tasks)
        record = msgspec.json.encode(request)
        stage.runs.begin(
            NewRun(name, KIND, place.folder, crew.adapter, record, stage.keeper, time.time(), parent_of(variables))
        )
        return _looped(name, request, places, variables, crew, git, stage, earlier, commands)


def _looped(
    name: str,
    request: StoryRequest,
    places: Places,
    variables: Mapping[str, str],
    crew: wiring.Crew,
    git: str,
    stage: Stage,
    earlier: Brief | None,
    commands: tuple[str, ...],
) -> Stop:
    place, rules = request.place, request.rules
    own = wiring.own_variables(name, place.project, places.state)
    of_gate = environment.of_gate(variables, own)
    made = wiring.agent(crew, place.project, variables, stage.supervisor)
    build = registry.load("guardrails", "shell").build
    names = slugs(commands)
    gates = {
        slug: build(GateOptions(command, log_name=slug), stage.supervisor)
        for slug, command in zip(names, commands, strict=True)
    }
    records = places.records(name)
    keep = wiring.snapshots(request.snapshots, name, places, records, variables, stage.supervisor)
    marker = Marker(place, rules)
    world = StoryWorld(
        place,
        records,
        wiring.caller(made, crew, request.agent, place.project, variables, own, stage.supervisor, keep),
        marker,
        Repository(git, place.project, environment.elsewhere(of_gate), stage.supervisor),
        gates,
        of_gate,
        stage.inbox,
        stage.watchers,
    )
    policy = Reviewed(rules.cap, rules.skip_review, names, earlier)
    judged_by: Rules[Standing] = Rules(policy, request.patience)
    journal = Journal(stage.runs, name, crew.adapter, stage.watchers)
    limits = Limits(request.max_iterations, request.max_time, request.budget_usd)
    try:
        return kernel.run(judged_by, None, Began(limits), Clock(stage.inbox).look, world.perform, journal.append)
    finally:
        marker.remove()


def story_place(project: str, ralph_dir: str) -> StoryPlace:
    """Where the files of a loop are."""
    project = os.path.realpath(project)
    if not os.path.isdir(project):
        raise UsageError(f"there is no folder {project!r}", "give the project with --project-dir")
    return StoryPlace(project, os.path.realpath(os.path.join(project, ralph_dir)))


def verify_commands(place: StoryPlace) -> tuple[str, ...]:
    """The project's own checks, as tasks.json names them before the loop begins."""
    try:
        return commands_in(place, read_whole(place.tasks))
    except OSError as error:
        raise ConfigError(f"cannot read {place.tasks}: {error.strerror}", "make it with `ralph story init`") from error


def commands_in(place: StoryPlace, text: str) -> tuple[str, ...]:
    """The verifyCommands of such a list."""
    listed = read(text).document.get("verifyCommands") or []
    if not isinstance(listed, list) or not all(isinstance(command, str) for command in listed):
        raise ConfigError(f"{place.tasks}: verifyCommands: expected a list of commands", 'for example ["make test"]')
    return tuple(command for command in listed if command.strip())


def estimate(place: StoryPlace, places: Places, skip_review: bool, limit: int) -> str:
    """How many iterations the open stories will need, told before the first."""
    try:
        stories = read(read_whole(place.tasks)).stories
    except OSError:
        return ""
    left = [story for story in stories if not is_done(story, skip_review)]
    if not left:
        return ""
    seen = _observed(places, skip_review)
    each = seen or (1 if skip_review else USUAL_ITERATIONS)
    need = math.ceil(len(left) * each)
    count = "1 open story" if len(left) == 1 else f"{len(left)} open stories"
    why = "" if seen is None else ", as seen in this repository so far"
    enough = "" if need <= limit else f", more than the {limit} allowed: see -n"
    return f"{count} × ~{each:.2g} iterations each{why} = ~{counted(need, 'iteration')}{enough}"


def _observed(places: Places, skip_review: bool) -> float | None:
    database = sqlite.opened_to_read(places.database)
    return None if database is None else observed(Runs(database), skip_review)


def _refuse_double_start(place: StoryPlace) -> None:
    for path in place.markers:
        if pid := owner(path):
            raise Busy(f"a story loop is active here already (pid {pid}, {path})", "wait for it, or `ralph cancel`")


def with_story_flags(settings: AgentSettings, model: str, plugin: str) -> AgentSettings:
    """Claude runs unattended and with our hooks; every agent that takes a model takes it as --model."""
    flags = settings.flags
    if settings.command.rpartition("/")[2] == "claude":
        if not any("permission" in flag for flag in flags):
            flags = (*flags, "--dangerously-skip-permissions")
        if plugin and not any("--plugin-dir" in flag for flag in flags):
            flags = (*flags, "--plugin-dir", shlex.quote(plugin))
    return replace(settings, flags=(*flags, "--model", shlex.quote(model)) if model else flags)
