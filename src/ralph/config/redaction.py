"""Settings fit to be shown: what looks like a secret is not."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from ralph.config.schema import Raw, Settings

HIDDEN = "***"
_SECRET = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_ASSIGNED = re.compile(r"([\w-]*(?:key|token|secret|passw|credential)[\w-]*=)\S+", re.IGNORECASE)
_GIVEN = re.compile(r"(-[\w-]*(?:key|token|secret|passw|credential)[\w-]*\s+)[^-\s]\S*", re.IGNORECASE)


def shown(settings: Settings) -> dict[str, object]:
    """All settings as JSON would have them, secrets hidden."""
    raw: dict[str, object] = msgspec.to_builtins(settings)
    del raw["$schema"]
    return redacted(raw)


def redacted(raw: Raw) -> dict[str, object]:
    """The same, secrets hidden: variables and flags by their name."""
    return {key: _redacted(key, value) for key, value in raw.items()}


def _redacted(key: str, value: object) -> object:
    match value:
        case dict() if key == "environment":
            return {name: HIDDEN if _SECRET.search(name) else text for name, text in value.items()}
        case dict():
            return redacted(value)
        case list() | tuple() if key == "flags":
            return _flags([str(item) for item in value])
        case list() | tuple():
            return [_redacted(key, item) for item in value]
        case str():
            return _ASSIGNED.sub(rf"\g<1>{HIDDEN}", value)
    return value


def _flags(flags: Sequence[str]) -> list[str]:
    """`--api-key=X`, `--api-key X`, and X as the item after `--api-key`."""
    result: list[str] = []
    for flag in flags:
        before = result[-1] if result else ""
        given = before.startswith("-") and "=" not in before and " " not in before and _SECRET.search(before)
        if given and not flag.startswith("-"):
            result.append(HIDDEN)
        else:
            result.append(_GIVEN.sub(rf"\g<1>{HIDDEN}", _ASSIGNED.sub(rf"\g<1>{HIDDEN}", flag)))
    return result


def flattened(raw: Mapping[str, object], where: str = "") -> dict[str, object]:
    """Dotted key → value, for lists of settings."""
    result: dict[str, object] = {}
    for key, value in raw.items():
        if isinstance(value, dict) and value:
            result |= flattened(value, f"{where}{key}.")
        else:
            result[f"{where}{key}"] = value
    return result
