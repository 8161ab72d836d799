"""Which agent a loop runs: the one asked for, the configured one, else the first on PATH."""

from collections.abc import Mapping

from msgspec.structs import replace

from ralph.app.agents import detect
from ralph.app.paths import Paths
from ralph.app.registry import resolve_adapter
from ralph.config.schema import Settings
from ralph.core.text.secrets import redact_argv
from ralph.model.errors import MachineError


def override_agent(settings: Settings, command: str | None) -> Settings:
    """Another agent than the configured one has none of its flags."""
    if command is None:
        return settings
    configured = settings.agent.command
    same = bool(configured) and resolve_adapter(configured) == resolve_adapter(command)
    agent = settings.agent if same else replace(settings.agent, flags=(), adapter=None)
    return replace(settings, agent=replace(agent, command=command))


def ensure_agent(settings: Settings, paths: Paths, variables: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Settings that name an agent: the configured one, else the first that is found, and a word about that."""
    if settings.agent.command:
        return settings, ()
    found = detect.detect_agent(variables, paths.folder)
    if found is None:
        raise MachineError(
            "no coding agent is configured, and none was found on PATH",
            f"install one ({', '.join(detect.list_detectable_agents())}) or run `ralph init`",
        )
    agent = replace(settings.agent, command=found.name)
    shown = " ".join((found.name, *redact_argv(agent.flags)))
    return replace(settings, agent=agent), (f"no agent configured: using {shown!r} ({found.path})",)
