"""Which agent a loop runs: the one asked for, the configured one, else the first on PATH."""

import os
import shlex
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.app.agents import detect
from ralph.app.paths import Paths
from ralph.app.registry import resolve_adapter
from ralph.config.schema import Settings, split_flags
from ralph.core.text.secrets import redact_argv
from ralph.model.errors import MachineError
from ralph.model.spec import ROLES

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
    if settings.agent.command:
        return _apply_own_settings(settings), ()
    found = detect.detect_agent(variables, paths.folder)
    if found is None:
        raise MachineError(
            "no coding agent is configured, and none was found on PATH",
            f"install one ({', '.join(detect.list_detectable_agents())}) or run `ralph init`",
        )
    settings = _apply_own_settings(replace(settings, agent=replace(settings.agent, command=found.name)))
    shown = " ".join((found.name, *redact_argv(settings.agent.flags)))
    return settings, (f"no agent configured: using {shown!r} ({found.path})",)


def _apply_own_settings(settings: Settings) -> Settings:
    """What `agents` says of the chosen one; what is set for it elsewhere is stronger."""
    agent = settings.agent
    own = settings.agents.get(_name_program(agent.command)) if settings.agents else None
    if own is None:
        return settings
    return replace(
        settings,
        agent=replace(
            agent,
            flags=(*own.flags, *agent.flags),
            permissions=agent.permissions or own.permissions,
            allow=(*own.allow, *agent.allow),
            model=agent.model or own.model,
        ),
    )


def _name_program(command: str) -> str:
    """`claude` of `/usr/bin/claude --debug`; words after the program belong to it."""
    words = split_flags([command])
    return resolve_adapter(words[0]) if words else ""
