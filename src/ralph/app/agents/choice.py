"""Which agent a loop runs: the one asked for, the configured one, else the first on PATH."""

import os
import shlex
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.app.agents import detect
from ralph.app.paths import Paths
from ralph.app.registry import resolve_adapter
from ralph.config.schema import AgentSettings, OwnAgentSettings, Settings, split_flags
from ralph.core.price import find_price
from ralph.core.text.secrets import redact_argv
from ralph.model.agent_chain import ESCALATION
from ralph.model.errors import MachineError
from ralph.model.spec import ROLES
from ralph.process.shell import find_program

FLAGS_VARIABLE = "RALPH_AGENT_FLAGS"


def override_agent(settings: Settings, command: str | None, variables: Mapping[str, str]) -> Settings:
    """Another agent than the configured one has neither its flags nor its model, but the flags that this very call was
    given by environment."""
    if command is None:
        return settings
    configured = settings.agent.command
    if configured and _name_program(configured) == _name_program(command):
        return replace(settings, agent=replace(settings.agent, command=command))
    given = variables.get(FLAGS_VARIABLE, "").strip()
    agent = replace(settings.agent, command=command, flags=(given,) if given else (), adapter=None, model="")
    return replace(settings, agent=agent)


def anchor_agents(settings: Settings, folder: str) -> Settings:
    """The agents these settings mean, for work in another folder than theirs, such as a task's work tree."""
    flow = settings.specflow
    own = {role: stage for role in ROLES if (stage := getattr(flow, role)).agent}
    stages = {role: replace(stage, agent=anchor_command(stage.agent, folder)) for role, stage in own.items()}
    judge = flow.judge and replace(flow.judge, agent=anchor_command(flow.judge.agent, folder))
    return replace(
        settings,
        agent=replace(settings.agent, command=anchor_command(settings.agent.command, folder)),
        specflow=replace(flow, judge=judge, **stages),
    )


def anchor_command(command: str, folder: str) -> str:
    """`./agent --flag`, with the program of that folder wherever it is called; a bare name stays one."""
    whole = os.path.join(folder, command)
    if " " in command and os.path.exists(whole):
        return whole
    program, blank, rest = command.partition(" ")
    if "/" not in program or os.path.isabs(program):
        return command
    return shlex.quote(os.path.join(folder, program)) + blank + rest


def ensure_agent(settings: Settings, paths: Paths, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Settings that name an agent: the configured one, else the first that is found, and a word about that."""
    if not settings.agent.command and settings.chain:
        first = next((name for name in settings.chain if _find_agent(name, paths, variables)), settings.chain[0])
        settings = replace(settings, agent=replace(settings.agent, command=first))
    if settings.agent.command:
        return _complete_agent(settings, paths, variables)
    found = detect.detect_agent(variables, paths.folder)
    if found is None:
        raise MachineError(
            "no coding agent is configured, and none was found on PATH",
            f"install one ({', '.join(detect.list_detectable_agents())}) or run `ralph init`",
        )
    settings = replace(settings, agent=replace(settings.agent, command=found.name))
    settings, missing = _complete_agent(settings, paths, variables)
    shown = " ".join((found.name, *redact_argv(settings.agent.flags)))
    return settings, (f"no agent configured: using {shown!r} ({found.path})", *missing)


def _apply_own_settings(agent: AgentSettings, settings: Settings) -> AgentSettings:
    """What `agents` says of the chosen one; what is set for it elsewhere is stronger."""
    if not settings.agents and not settings.prices:
        return agent
    name = _name_program(agent.command)
    own = settings.agents.get(name, OwnAgentSettings())
    return replace(
        agent,
        price=find_price(settings.prices, name, agent.model or own.model),
        flags=(*own.flags, *agent.flags),
        permissions=agent.permissions or own.permissions,
        allow=(*own.allow, *agent.allow),
        model=agent.model or own.model,
        fallback_model=agent.fallback_model or own.fallback_model,
    )


def _complete_agent(settings: Settings, paths: Paths, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """The agent with its own settings and those who take over from it; and which of them are not there."""
    agent, missing = _apply_own_settings(settings.agent, settings), []
    settings = replace(settings, agent=agent)
    found: dict[str, AgentSettings] = {}
    for name in settings.chain:
        if _name_program(name) == _name_program(agent.command):
            continue
        if _find_agent(name, paths, variables):
            found[name] = _make_substitute(settings, name)
        else:
            missing.append(f"{name!r} of `agents` is not on PATH: it will not take over")
    if (wanted := settings.escalate) is not None:
        stronger = _make_substitute(settings, wanted.agent) if wanted.agent else agent
        model = wanted.model or stronger.model
        price = find_price(settings.prices, _name_program(stronger.command), model) if settings.prices else None
        found[ESCALATION] = replace(stronger, model=model, price=price)
    return replace(settings, agent=replace(agent, substitutes=found)) if found else settings, tuple(missing)


def _make_substitute(settings: Settings, command: str) -> AgentSettings:
    """Another agent has neither the flags of the first nor its model."""
    plain = replace(settings.agent, command=command, flags=(), adapter=None, model="", fallback_model="")
    return _apply_own_settings(plain, settings)


def _find_agent(command: str, paths: Paths, variables: Mapping[str, str]) -> str | None:
    return find_program(split_flags([command])[0], variables, paths.folder)


def _name_program(command: str) -> str:
    """`claude` of `/usr/bin/claude --debug`; words after the program belong to it."""
    words = split_flags([command])
    return resolve_adapter(words[0]) if words else ""
