"""What tokens cost, for agents that report none of their own."""

from msgspec import Struct


class TokenPrice(Struct, frozen=True, rename="camel", kw_only=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float | None = None  # None: as input
    cache_write: float | None = None
