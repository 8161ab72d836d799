"""Settings fit to be shown: what looks like a secret is not."""

from collections.abc import Mapping

import msgspec

from ralph.config.schema import Raw, Settings
from ralph.core.text.secrets import HIDDEN, hidden, hidden_words, is_secret


def shown(settings: Settings) -> dict[str, object]:
    """All settings as JSON would have them, secrets hidden."""
    raw: dict[str, object] = msgspec.to_builtins(settings)
    del raw["$schema"]
    return redacted(raw)


def redacted(raw: Raw) -> dict[str, object]:
    """The same, secrets hidden: variables by their name, all else by how it looks."""
    return {key: _redacted(key, value) for key, value in raw.items()}


def _redacted(key: str, value: object) -> object:
    match value:
        case dict() if key == "environment":
            return {name: HIDDEN if is_secret(name) else _redacted(name, text) for name, text in value.items()}
        case dict():
            return redacted(value)
        case list() | tuple() if key == "flags":
            return list(hidden_words([str(item) for item in value]))
        case list() | tuple():
            return [_redacted(key, item) for item in value]
        case str():
            return hidden(value)
    return value


def flattened(raw: Mapping[str, object], where: str = "") -> dict[str, object]:
    """Dotted key → value, for lists of settings."""
    result: dict[str, object] = {}
    for key, value in raw.items():
        if isinstance(value, dict) and value:
            result |= flattened(value, f"{where}{key}.")
        else:
            result[f"{where}{key}"] = value
    return result
