"""Settings fit to be shown: what looks like a secret is not."""

from collections.abc import Mapping

import msgspec

from ralph.config.schema import FILLED_AGENT_KEYS, Guardrail, RawSettings, Settings
from ralph.core.text.secrets import REDACTED, is_secret_name, redact, redact_argv


def redact_settings(settings: Settings) -> dict[str, object]:
    """All settings as a file would have them, secrets hidden."""
    raw: dict[str, object] = msgspec.to_builtins(settings)
    del raw["$schema"]
    agent = msgspec.to_builtins(settings.agent)
    raw["agent"] = {key: value for key, value in agent.items() if key not in FILLED_AGENT_KEYS}
    raw["guardrails"] = [_write_guardrail(guardrail) for guardrail in settings.guardrails]
    return redact_mapping(raw)


def _write_guardrail(guardrail: Guardrail) -> dict[str, object]:
    """Its kind's own keys beside the others, and none that it has no use for."""
    raw: dict[str, object] = msgspec.to_builtins(guardrail)
    del raw["options"]
    if guardrail.command is None:
        del raw["command"]
    shown = {key: REDACTED if is_secret_name(key) else value for key, value in guardrail.options.items()}
    return {**raw, **shown}


def redact_mapping(raw: RawSettings) -> dict[str, object]:
    """The same, secrets hidden: variables by their name, all else by how it looks."""
    return {key: _redact_value(key, value) for key, value in raw.items()}


def _redact_value(key: str, value: object) -> object:
    match value:
        case dict() if key == "environment":
            return {
                name: REDACTED if is_secret_name(name) else _redact_value(name, text) for name, text in value.items()
            }
        case dict():
            return redact_mapping(value)
        case list() | tuple() if key == "flags":
            return list(redact_argv([str(item) for item in value]))
        case list() | tuple() if key == "apprise":  # what stands behind the service's name are its keys
            return [f"{str(address).partition('://')[0]}://{REDACTED}" for address in value]
        case list() | tuple():
            return [_redact_value(key, item) for item in value]
        case str():
            return redact(value)
    return value


def flatten_keys(raw: Mapping[str, object], where: str = "") -> dict[str, object]:
    """Dotted key → value, for lists of settings."""
    result: dict[str, object] = {}
    for key, value in raw.items():
        if isinstance(value, dict) and value:
            result |= flatten_keys(value, f"{where}{key}.")
        else:
            result[f"{where}{key}"] = value
    return result
