"""What work like this took before: a range of iterations and of money."""

from collections.abc import Sequence

from ralph.core.text.quantities import format_money

MIN_SAMPLES = 3
LOW, HIGH = 0.2, 0.8  # between them are three of five


def describe_forecast(what: str, iterations: Sequence[int], costs: Sequence[float]) -> str:
    """runs like this took 3–7 iterations, $0.40–1.10; empty where too little is known."""
    if len(iterations) < MIN_SAMPLES:
        return ""
    low, high = _find_range(iterations)
    took = f"{low:g}" if low == high else f"{low:g}–{high:g}"
    words = f"{what} took {took} iteration{'' if took == '1' else 's'}"
    if len(costs) < MIN_SAMPLES:
        return words
    cheap, dear = map(format_money, _find_range(costs))
    return f"{words}, {cheap}" if cheap == dear else f"{words}, {cheap}–{dear.lstrip('$')}"


def _find_range(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    return ordered[round(last * LOW)], ordered[round(last * HIGH)]
