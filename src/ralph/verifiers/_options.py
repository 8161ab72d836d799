"""A verification method's options, checked once before anything runs."""

from typing import TypeVar

from msgspec import ValidationError, convert

from ralph.model.errors import ConfigError
from ralph.model.verdict import VerifierConfig

_T = TypeVar("_T")


def parse_options(method: str, kind: type[_T], config: VerifierConfig) -> _T:
    """The typed options. ConfigError's message is the reason the verification fails with."""
    try:
        return convert(config, kind)
    except ValidationError as error:
        raise ConfigError(f"Invalid {method} verification config: {error}", "see `ralph verify templates`") from None
