"""Tokens and a price list → an estimate in dollars."""

from collections.abc import Mapping

from ralph.model.events import NO_USAGE, Usage
from ralph.model.price import TokenPrice

MILLION = 1_000_000


def find_price(prices: Mapping[str, TokenPrice], agent: str, model: str) -> TokenPrice | None:
    """By the model's name, else by the agent's."""
    return prices.get(model) or prices.get(agent)


def estimate_cost(price: TokenPrice | None, usage: Usage, *, counts_cached: bool = False) -> float | None:
    """None: there is no price, or nothing to count. `counts_cached`: what came from the cache is part of the input."""
    if price is None or usage == NO_USAGE:
        return None
    fresh = max(0, usage.input_tokens - usage.cache_read_tokens) if counts_cached else usage.input_tokens
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    parts = (
        fresh * price.input,
        usage.output_tokens * price.output,
        usage.cache_read_tokens * read,
        usage.cache_write_tokens * write,
    )
    return sum(parts) / MILLION
