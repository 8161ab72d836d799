"""Use case: give a repository its first settings, and keep our logs out of git."""

from collections.abc import Mapping, Sequence

from ralph.app.agents import detect
from ralph.app.suggested_checks import suggest_guardrails
from ralph.config.location import SETTINGS_FILE
from ralph.config.reference import SCHEMA_REFERENCE
from ralph.config.schema import Guardrail, Layer, RawSettings, Scm, check_layer
from ralph.config.writing import write_settings
from ralph.model.agent_card import Permissions
from ralph.model.errors import MachineError


def build_settings_document(
    command: str,
    flags: Sequence[str],
    *,
    guardrails: Sequence[Guardrail],
    scm: Scm | None = None,
    maximum_iterations: int = 10,
    completion_response: str = "DONE",
    permissions: Permissions | None = None,
) -> dict[str, object]:
    """A settings file as people like to find it: every key of the basics is there to be edited."""
    raw: dict[str, object] = {
        "$schema": SCHEMA_REFERENCE,
        "maximumIterations": maximum_iterations,
        "completionResponse": completion_response,
        "outputTruncateChars": 5000,
        "streamAgentOutput": True,
        "includeIterationCountInPrompt": False,
        "agent": {"command": command, "flags": list(flags)} | ({"permissions": permissions} if permissions else {}),
        "guardrails": [_encode_guardrail(guardrail) for guardrail in guardrails],
    }
    return {**raw, "scm": {"command": scm.command, "tasks": list(scm.tasks)}} if scm else raw


def detect_settings(
    folder: str, environment: Mapping[str, str], checks: Sequence[str] | None = None
) -> dict[str, object]:
    """Settings nobody was asked about; `checks` are those that were tried, else whatever is suggested. Permissions stay
    open, so that the default is that of the place: `checks` on this machine, `all` in a sandbox."""
    agent = detect.detect_agent(environment, folder)
    if agent is None:
        raise MachineError(
            f"no agent on PATH: looked for {', '.join(detect.list_detectable_agents())}",
            "install one, or name yours in an interview: ralph init",
        )
    wanted = [found.command for found in suggest_guardrails(folder)] if checks is None else checks
    rails = [Guardrail(command=command) for command in wanted]
    return build_settings_document(agent.name, (), guardrails=rails)


def write_first_settings(folder: str, raw: RawSettings) -> None:
    """Check, then write: a settings file we write is one we can read."""
    check_layer(Layer(name=SETTINGS_FILE, raw=raw))
    write_settings(folder, raw)


def _encode_guardrail(guardrail: Guardrail) -> dict[str, str]:
    raw = {"command": guardrail.command or "", "failAction": guardrail.fail_action}
    return {**raw, "hint": guardrail.hint} if guardrail.hint else raw
