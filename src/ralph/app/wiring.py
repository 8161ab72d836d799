"""Construction in one place: settings and ports → the parts of one run."""

import os
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from ralph.app import registry
from ralph.app.paths import Places
from ralph.config.schema import AgentSettings, Settings, flag_words
from ralph.core import environment
from ralph.core.guardrail import slugs
from ralph.core.policies.tagged import Standing, Tagged
from ralph.core.step import Rules
from ralph.engine.agent_run import Caller
from ralph.engine.loops.run import Surroundings, World
from ralph.engine.scm import Scm
from ralph.model.command import Command
from ralph.model.errors import ConfigError, MachineError
from ralph.model.ports import Agent, AgentOptions, Gate, GateOptions, Inbox, Keep, Mode, Processes, Watcher
from ralph.process.output import Excerpt
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.snapshots import Snapshots

VERSION_TIMEOUT = 20.0


class Crew(Struct, frozen=True):
    """The agent of a run: its adapter's name and what its settings come to."""

    adapter: str
    words: tuple[str, ...]  # the program, found, and what belongs to it
    flags: tuple[str, ...]


def recruited(settings: AgentSettings, folder: str, variables: Mapping[str, str]) -> Crew:
    """Find the agent's program."""
    from ralph.agents._names import name_of

    words = _command_words(settings.command, folder, variables)
    return found(words, flag_words(settings.flags), settings.adapter or name_of(words[0]), folder, variables)


def found(
    words: tuple[str, ...], flags: tuple[str, ...], adapter: str, folder: str, variables: Mapping[str, str]
) -> Crew:
    """The agent of these very words."""
    if adapter == "scripted":
        return Crew(adapter, words, flags)
    program = find_program(words[0], variables, folder)
    if program is None and "/" in words[0] and os.path.isdir(os.path.join(folder, words[0])):
        raise MachineError(f"agent not found: {words[0]!r} is a folder", "give the program itself; see `ralph doctor`")
    if program is None and "/" in words[0] and os.path.exists(os.path.join(folder, words[0])):
        raise MachineError(f"permission denied: {words[0]!r} is not a program", f"chmod +x {words[0]}")
    if program is None:
        raise MachineError(
            f"agent not found: {words[0]!r} is not on PATH", "install it, or set agent.command; see `ralph doctor`"
        )
    return Crew(adapter, (program, *words[1:]), flags)


def agent(crew: Crew, folder: str, variables: Mapping[str, str], processes: Processes) -> Agent:
    """Its adapter; one whose flags depend on the version asks for it first."""
    asked = getattr(registry.load("agents", crew.adapter), "VERSION_ARGV", ())
    version = version_of((*crew.words, *asked), folder, variables, processes) if asked else ""
    return built(crew, version)


def built(crew: Crew, version: str = "") -> Agent:
    """Its adapter, without asking anyone."""
    made: Agent = registry.load("agents", crew.adapter).build(AgentOptions(crew.words, crew.flags, version))
    return made


def mode(settings: Settings) -> Mode:
    """A budget can only be kept by an agent that streams: its text mode tells no cost."""
    return "stream" if settings.stream_agent_output or settings.budget_usd is not None else "text"


def version_of(argv: tuple[str, ...], folder: str, variables: Mapping[str, str], processes: Processes) -> str:
    """The first line a program prints about itself; empty when it does not."""
    output = Excerpt(4096, 0)
    exited = processes.run(Command(argv, variables, folder, timeout=VERSION_TIMEOUT), output.write, len)
    lines = output.text().strip().splitlines()
    return lines[0] if exited.code == 0 and lines else ""


def rules(settings: Settings, *, baseline: bool) -> Rules[Standing]:
    """What the run is judged by."""
    policy = Tagged(
        gates=slugs([g.command for g in settings.guardrails]),
        signals=settings.until,
        expected=settings.completion_response,
        saves=settings.scm is not None and bool(settings.scm.tasks),
        baseline=baseline,
    )
    return Rules(policy, settings.patience)


def gates(settings: Settings, processes: Processes) -> dict[str, Gate]:
    """One gate a guardrail, by the name of its log."""
    build = registry.load("guardrails", "shell").build
    names = slugs([g.command for g in settings.guardrails])
    return {
        name: build(
            GateOptions(g.command, g.fail_action, g.hint, g.timeout_seconds, name, settings.output_truncate_chars),
            processes,
        )
        for name, g in zip(names, settings.guardrails, strict=True)
    }


def world(
    run: str,
    settings: Settings,
    crew: Crew,
    places: Places,
    variables: Mapping[str, str],
    prompt: Callable[[], str],
    processes: Processes,
    inbox: Inbox,
    watchers: Sequence[Watcher],
) -> World:
    """All that `ralph run` may touch."""
    made = agent(crew, places.folder, variables, processes)
    own = own_variables(run, places.folder, places.state)
    of_gate = environment.of_gate(variables, own)
    around = Surroundings(
        folder=places.folder,
        notes=places.notes,
        records=places.records(run),
        gate_environment=of_gate,
        signals=settings.until,
        count_iterations=settings.include_iteration_count_in_prompt,
        mode=mode(settings),
    )
    wanted = settings.scm
    records = places.records(run)
    of_scm = environment.elsewhere(of_gate)
    scm = Scm(wanted.command, wanted.tasks, processes, places.folder, of_scm, records) if wanted else None
    keep = snapshots(settings.snapshots, run, places, records, variables, processes)
    made_caller = caller(made, crew, settings.agent, places.folder, variables, own, processes, keep)
    return World(around, made_caller, prompt, gates(settings, processes), inbox, watchers, scm)


def refuse_missing_scm(settings: Settings, folder: str, variables: Mapping[str, str]) -> None:
    """Found out before an agent is paid for work that nobody could commit."""
    if settings.scm is None or not settings.scm.tasks:
        return
    program = settings.scm.command.split()[0]
    if find_program(program, variables, folder) is None:
        raise MachineError(
            f"scm.command not found: {program!r} is not on PATH", "install it, or set scm.command; see `ralph doctor`"
        )


def refuse_unkept_budget(crew: Crew, budget_usd: float | None) -> None:
    """A promise about money that nobody can keep is not made; said before a run is on record."""
    if budget_usd is not None and not built(crew).reports_cost:
        raise ConfigError(
            f"{crew.adapter} does not report what it costs, so a budget cannot be kept",
            "leave out --budget, and bound the run with its other limits",
        )


def caller(
    made: Agent,
    crew: Crew,
    settings: AgentSettings,
    folder: str,
    variables: Mapping[str, str],
    own: Mapping[str, str],
    processes: Processes,
    keep: Keep | None = None,
) -> Caller:
    """What runs the agent once."""
    its = environment.of_agent(variables, own, crew.adapter, settings.pass_environment, settings.environment)
    return Caller(made, processes, folder, its, settings.timeout_seconds, settings.idle_timeout_seconds, keep)


def snapshots(
    wanted: bool, run: str, tree: Places, records: str, variables: Mapping[str, str], processes: Processes
) -> Snapshots | None:
    """Keeps the work tree that these places are in; None where it is not wanted, or there is no git."""
    git = find_program("git", variables, tree.root) if wanted and tree.in_git else None
    if git is None:
        return None
    return Snapshots(Git(git, tree.root, variables, processes), run, os.path.join(records, "snapshot.index"))


def own_variables(run: str, task_folder: str, state: str) -> dict[str, str]:
    """What every child of a run can know about it."""
    return {"RALPH_RUN_ID": run, "RALPH_STATE": state, "TASK_FOLDER": task_folder}


def _command_words(command: str, folder: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """A command with spaces is a path if there is such a file, else words."""
    if " " not in command or os.path.exists(os.path.join(folder, command)):
        return (command,)
    import shlex

    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigError(f"agent.command {command!r}: {error}", "close the quotation") from error
