"""What a resumed run takes from today's settings, and what it keeps of its start."""

from collections.abc import Iterator

from msgspec import structs
from msgspec.structs import replace

from ralph.config.schema import AgentSettings, Settings
from ralph.core.text.secrets import redact

_AGENT_LABELS = {  # field → what people call it; told only where it differs
    "command": "agent",
    "flags": "flags",
    "permissions": "permissions",
    "allow": "allowed commands",
    "model": "model",
    "adapter": "adapter",
    "timeout_seconds": "timeout",
    "idle_timeout_seconds": "idle timeout",
    "environment": "environment",
    "pass_environment": "passed environment",
    "guard": "guard",
}
_SECRET_FIELDS = ("environment", "pass_environment")  # named, never shown


def take_todays_agent(began: Settings, today: Settings) -> Settings:
    """The agent and how its trouble is waited for, as settings and flags say now: who corrects a flag and resumes
    wants the corrected one. Prompt, guardrails and all else stay those of the run."""
    return replace(began, agent=today.agent, retry=today.retry, on_limit=today.on_limit, stuck=today.stuck)


def describe_differences(began: Settings, today: Settings) -> list[str]:
    """At most two lines: what is taken from today's settings, what is not."""
    lines = []
    if changed := [*_list_agent_changes(began.agent, today.agent)]:
        lines.append(f"from the current settings: {', '.join(changed)}")
    if began.guardrails != today.guardrails:
        lines.append("the run keeps the guardrails it started with; the settings have others now")
    return lines


def _list_agent_changes(before: AgentSettings, after: AgentSettings) -> Iterator[str]:
    then, now = structs.asdict(before), structs.asdict(after)
    for field, label in _AGENT_LABELS.items():
        if then[field] == now[field]:
            continue
        yield (
            label
            if field in _SECRET_FIELDS
            else f"{label} {_format_setting(now[field])} (was {_format_setting(then[field])})"
        )


def _format_setting(value: object) -> str:
    if value is None or value in ("", ()):
        return "none"
    return redact(" ".join(map(str, value)) if isinstance(value, tuple) else str(value))
