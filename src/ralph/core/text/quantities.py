"""How amounts read: tokens, time, money and counted things."""

from collections.abc import Sequence

from ralph.model.events import Usage


def format_tokens(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}M"
    return f"{(count + 500) // 1000}K" if count >= 1000 else str(count)


def format_duration(seconds: float, *, tenths: bool = False) -> str:
    """59s, 1m, 6m7s, 1h1m1s: whole seconds, without the parts that are nought; below a minute on demand with tenths."""
    if tenths and seconds < 59.95:
        return f"{max(0.0, seconds):.1f}s"
    whole = max(0, int(seconds + 0.5))
    parts = ((whole // 3600, "h"), (whole // 60 % 60, "m"), (whole % 60, "s"))
    return "".join(f"{amount}{unit}" for amount, unit in parts if amount) or "0s"


def format_exact_duration(seconds: float, gap: str = "") -> str:
    """300 → 5m0s, 90 → 1m30s, 1.5 → 1.5s: no part below the largest is left out, as on a clock that runs."""
    minutes, rest = divmod(max(0.0, seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    parts = [f"{hours}h"] if hours else []
    parts += [f"{minutes}m"] if hours or minutes else []
    return gap.join([*parts, f"{rest:g}s"])


def format_money(usd: float | None, unknown: str = "—") -> str:
    """$5.76; what is too little to show is not nothing."""
    if usd is None:
        return unknown
    return "<$0.01" if 0 < usd < 0.005 else f"${usd:,.2f}"


def format_cost(
    cost_usd: float | None,
    estimated_usd: float | None,
    *,
    unpriced: int = 0,
    unknown: str = "—",
    about: str = "≈",
) -> str:
    """$5.76; ≈$5.76 where some of it is estimated; $5.76+ where nobody knows what some calls cost."""
    known = (cost_usd or 0.0) + (estimated_usd or 0.0)
    if unpriced and not known:
        return unknown
    more = "+" if unpriced else ""
    return f"{about}{format_money(known)}{more}" if estimated_usd else f"{format_money(cost_usd, unknown)}{more}"


def pluralize(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def list_some(names: Sequence[str], most: int) -> str:
    """a, b, c and 12 more"""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def format_usage(usage: Usage) -> str:
    """1.2M in (850K cached) / 45K out; what the cache gave and what it took are both cached. Some agents count what is
    cached as part of the input, others beside it: it is never shown as more than the whole."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    whole = usage.input_tokens if usage.input_tokens >= cached else usage.input_tokens + cached
    aside = f" ({format_tokens(cached)} cached)" if cached else ""
    return f"{format_tokens(whole)} in{aside} / {format_tokens(usage.output_tokens)} out"
