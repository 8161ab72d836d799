"""Construction in one place: settings and ports → the parts of one run."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ralph.agents._cards import load_builtin_cards
from ralph.app import registry
from ralph.app.agent_command import AgentCommand
from ralph.app.guardrails import name_gates
from ralph.app.paths import Paths, find_paths
from ralph.app.plugin_guard import GUARD_VARIABLE, build_guard_settings
from ralph.config.schema import AgentSettings, Judge, Settings
from ralph.core import environment
from ralph.core.policies.tagged import TaggedState, TagPolicy
from ralph.core.price import estimate_cost
from ralph.core.step import Rules
from ralph.engine.agent_run import AgentRunner
from ralph.model.agent_card import Grant
from ralph.model.command import Command
from ralph.model.errors import ConfigError, MachineError
from ralph.model.ports import Agent, ChangeWatch, OutputMode, Processes, TreeKeeper
from ralph.process.output import Excerpt
from ralph.process.shell import find_program
from ralph.workspaces.git import Git
from ralph.workspaces.own_dir import open_own_dir
from ralph.workspaces.own_git import OwnGit
from ralph.workspaces.project_dir import find_project_dir
from ralph.workspaces.run_rules import RunRules
from ralph.workspaces.snapshots import BaselineSource, Snapshots
from ralph.workspaces.tree_index import TreeIndex
from ralph.workspaces.user_ignores import read_user_ignores

VERSION_TIMEOUT_SECONDS = 20.0


class PreparedAgent(Struct, frozen=True, kw_only=True):
    """An agent that is ready to be called, and what there is to know before it is."""

    agent: Agent
    can_commit: bool = True
    warnings: tuple[str, ...] = ()  # what its CLI cannot express, what keeps it from working


def prepare_agent(
    command: AgentCommand, folder: str, variables: Mapping[str, str], processes: Processes
) -> PreparedAgent:
    """Its adapter; one whose flags depend on the version asks for it first."""
    command, unguarded = _add_guard(command, folder)
    asked = getattr(registry.load_extension("agents", command.adapter), "VERSION_ARGV", ())
    version = read_version((*command.argv, *asked), folder, variables, processes) if asked else ""
    return PreparedAgent(
        agent=build_agent(command, version),
        can_commit=read_grant(command, version).can_commit,
        warnings=(*find_agent_warnings(command, variables, version), *unguarded),
    )


def _add_guard(command: AgentCommand, folder: str) -> tuple[AgentCommand, tuple[str, ...]]:
    """The agent with a hook that prevents accidents, where it takes one; and why it has none, in a sentence."""
    flag = registry.load_agent_card(command.adapter).settings_flag
    if not flag or not command.guarded or command.judges or command.own_sandbox:
        return command, ()
    words = (*command.argv[1:], *command.flags)
    found = build_guard_settings(flag, words, project=find_paths(folder).root, folder=folder)
    problem = (f"destructive commands are not blocked: {found.problem}",) if found.problem else ()
    return replace(command, guard=found.text), problem


def find_agent_warnings(command: AgentCommand, variables: Mapping[str, str], version: str = "") -> tuple[str, ...]:
    """What its CLI cannot express of its permissions, and what in these variables keeps it from working."""
    adapter = registry.load_extension("agents", command.adapter)
    check = getattr(adapter, "check_environment", _find_nothing_wrong)
    no_fallback = command.fallback_model and not getattr(adapter, "HAS_FALLBACK_MODEL", False)
    ignored = (f"{command.adapter} has no fallback model: fallbackModel is ignored",) if no_fallback else ()
    return (*read_grant(command, version).limits, *check({**variables, **command.environment}), *ignored)


def read_grant(command: AgentCommand, version: str = "") -> Grant:
    """What its adapter makes of its permissions."""
    grant = getattr(registry.load_extension("agents", command.adapter), "grant_permissions", None)
    found: Grant = Grant() if grant is None else grant(command.as_options(version))
    return found


def build_agent(command: AgentCommand, version: str = "") -> Agent:
    """Its adapter, without asking anyone."""
    made: Agent = registry.load_extension("agents", command.adapter).build(command.as_options(version))
    return made


def choose_output_mode(settings: Settings) -> OutputMode:
    """A budget can only be kept by an agent that streams: its text mode tells no cost."""
    has_budget = settings.budget_usd is not None or settings.budget_usd_per_day is not None
    return "stream" if settings.stream_agent_output or has_budget else "text"


def list_unknown_costs(command: AgentCommand, settings: Settings) -> list[str]:
    """What to say at the start, where the agent would tell its costs and is not listened to."""
    if choose_output_mode(settings) == "stream" or not (command.price or build_agent(command).reports_cost):
        return []
    return ["costs are unknown: streamAgentOutput is off (setting a budget turns cost tracking on)"]


def read_version(argv: tuple[str, ...], folder: str, variables: Mapping[str, str], processes: Processes) -> str:
    """The first line a program prints about itself; empty when it does not."""
    output = Excerpt(4096, 0)
    exited = processes.run(
        Command(argv=argv, environment=variables, cwd=folder, timeout=VERSION_TIMEOUT_SECONDS), output.write, len
    )
    lines = output.text().strip().splitlines()
    return lines[0] if exited.code == 0 and lines else ""


def build_rules(settings: Settings, *, baseline: bool) -> Rules[TaggedState]:
    policy = TagPolicy(
        gates=name_gates(settings.guardrails),
        signals=settings.until,
        expected=settings.completion_response,
        saves=settings.scm is not None and bool(settings.scm.tasks),
        baseline=baseline,
        proofs=settings.proofs,
        has_judge=find_proof_judge(settings.agent, settings.specflow.judge) is not None,
    )
    return Rules(policy, settings.patience)


def find_proof_judge(agent: AgentSettings, wanted: Judge | None) -> Judge | None:
    """Who is asked about an explained change of proofs: whom settings name; else the agent's own vendor, where it can
    judge without the user's own flags; None: nobody."""
    if wanted is not None:
        return wanted
    program = next(iter(agent.command.split()), "")
    card = registry.load_agent_card(agent.adapter or registry.resolve_adapter(program))
    return Judge(agent.command) if card.can_judge and not card.judges_with_flags else None


def refuse_missing_scm(settings: Settings, folder: str, variables: Mapping[str, str]) -> None:
    """Found out before an agent is paid for work that nobody could commit."""
    if settings.scm is None or not settings.scm.tasks:
        return
    program = settings.scm.command.split()[0]
    if find_program(program, variables, folder) is None:
        raise MachineError(
            f"scm.command not found: {program!r} is not on PATH", "install it, or set scm.command; see `ralph doctor`"
        )


def refuse_unenforceable_budget(command: AgentCommand, budget_usd: float | None) -> None:
    """A promise about money that nobody can keep is not made; said before a run is on record."""
    if budget_usd is not None and command.price is None and not build_agent(command).reports_cost:
        raise ConfigError(
            f"{command.adapter} does not report what it costs, so a budget cannot be enforced",
            f"set its token prices in `prices` (by model, or {command.adapter!r}), or leave out the budget",
        )
    for other in command.substitutes.values():
        refuse_unenforceable_budget(other, budget_usd)


def build_agent_runner(
    made: PreparedAgent,
    command: AgentCommand,
    *,
    settings: AgentSettings,
    folder: str,
    variables: Mapping[str, str],
    own: Mapping[str, str],
    processes: Processes,
    keep: TreeKeeper | None = None,
    watch: ChangeWatch | None = None,
    substitutes: Mapping[str, Callable[[], AgentRunner]] | None = None,
) -> AgentRunner:
    card = registry.load_agent_card(command.adapter)
    its = environment.build_agent_env(
        variables,
        {**own, GUARD_VARIABLE: "settings"} if card.settings_flag else own,
        card=card,
        cards=load_builtin_cards().values(),
        passed=settings.pass_environment,
        extra=settings.environment,
    )
    return AgentRunner(
        made.agent,
        processes,
        folder=folder,
        environment=its,
        timeout=settings.timeout_seconds,
        idle_timeout=settings.idle_timeout_seconds,
        keep=keep,
        watch=watch,
        adapter=command.adapter,
        model=command.model,
        allowed=command.allow,
        estimate=partial(estimate_cost, command.price, counts_cached=card.counts_cached_input)
        if command.price
        else None,
        substitutes=substitutes,
    )


def build_snapshots(
    wanted: bool,
    run: str,
    *,
    tree: Paths,
    variables: Mapping[str, str],
    processes: Processes,
    baseline: BaselineSource | None = None,
    is_checked_out_by_us: bool = False,
    ours: Sequence[str] = (),
) -> Snapshots | None:
    """Looks at the work tree that these places are in, and keeps it where that is wanted; None where there is no git.
    `is_checked_out_by_us`: just now, byte for byte, so git's own index can be believed this once. `ours`: patterns of
    files that ralph writes there and nobody has to keep."""
    program = find_program("git", variables, tree.root)
    if program is None:
        return None
    project = find_project_dir(tree.root) if tree.in_git else None
    folder = open_own_dir(variables, root=tree.root, project=project, fallback=tree.state)
    own = OwnGit(program, folder, root=tree.root, environment=variables, processes=processes)
    users = read_user_ignores(variables, project) if project else None
    rules = RunRules(own.path("runs", run), tree.root, users, ours)
    git = Git(program, tree.root, environment=variables, processes=processes) if project else None
    fresh_index = os.path.join(project.git_dir, "index") if project and is_checked_out_by_us else ""
    index = TreeIndex(own, project, rules, fresh_index=fresh_index)
    return Snapshots(own, index, run, git=git, keeps=wanted, baseline=baseline)


def can_take_snapshots(tree: Paths, variables: Mapping[str, str]) -> bool:
    """They need git, but no repository."""
    return find_program("git", variables, tree.root) is not None


def build_git(folder: str, variables: Mapping[str, str], processes: Processes) -> Git | None:
    """Git for the repository around that folder; None where there is none."""
    program = find_program("git", variables, folder) if find_paths(folder).in_git else None
    return Git(program, folder, environment=variables, processes=processes) if program else None


def build_gate_variables(variables: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """What a check, or any other child that is no agent, gets."""
    return environment.build_gate_env(variables, own, load_builtin_cards().values())


def build_run_variables(run: str, task_folder: str) -> dict[str, str]:
    """What every child of a run can know about it."""
    return {"RALPH_RUN_ID": run, "TASK_FOLDER": task_folder}


def _find_nothing_wrong(variables: Mapping[str, str]) -> tuple[str, ...]:
    return ()
