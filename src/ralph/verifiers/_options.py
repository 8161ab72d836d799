"""A verification method's options, checked once before anything runs."""

from typing import TypeVar

from msgspec import ValidationError, convert

from ralph.model.errors import ConfigError
from ralph.model.verdict import Config

T = TypeVar("T")


def parsed(method: str, kind: type[T], config: Config) -> T:
    """The typed options. ConfigError's message is the reason the verification fails with."""
    try:
        return convert(config, kind)
    except ValidationError as error:
        raise ConfigError(f"Invalid {method} verification config: {error}", "see `ralph verify templates`") from None
