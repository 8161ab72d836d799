"""Money and tokens: totals told more than once become differences, differences become totals."""

from msgspec.structs import asdict

from ralph.model.events import NO_USAGE, Spent, Usage


class Meter:
    """`cost_usd` and `usage` are what it all sums up to."""

    def __init__(self) -> None:
        self.cost_usd: float | None = None
        self.usage = NO_USAGE
        self._last_total = (0.0, NO_USAGE)

    def add_total(self, cost_usd: float | None, usage: Usage) -> Spent:
        """The agent told totals so far. A total that shrank is a new count."""
        cost_usd, usage = _drop_negatives(cost_usd, usage)
        cost_before, usage_before = self._last_total
        self._last_total = (cost_before if cost_usd is None else cost_usd, usage)
        if cost_usd is not None and cost_usd >= cost_before:
            cost_usd -= cost_before
        return self.add_step(cost_usd, _subtract_usage(usage_before, usage))

    def add_step(self, cost_usd: float | None, usage: Usage) -> Spent:
        """The agent told what one step took."""
        cost_usd, usage = _drop_negatives(cost_usd, usage)
        if cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost_usd
        self.usage += usage
        return Spent(cost_usd, usage)


def _drop_negatives(cost_usd: float | None, usage: Usage) -> tuple[float | None, Usage]:
    """What cannot be was not told: nobody gets back what the budget was spent on."""
    if cost_usd is not None and cost_usd < 0:
        cost_usd = None
    counts = asdict(usage)
    return cost_usd, usage if min(counts.values()) >= 0 else Usage(**{kind: max(0, n) for kind, n in counts.items()})


def _subtract_usage(before: Usage, now: Usage) -> Usage:
    counted = asdict(before)
    differences = {kind: tokens - counted[kind] for kind, tokens in asdict(now).items()}
    return now if min(differences.values()) < 0 else Usage(**differences)


class StreamedUsage:
    """Tokens as an agent tells them message by message, before it tells their sum: what a run took that was cut off."""

    def __init__(self) -> None:
        self._before, self._message, self._id = NO_USAGE, NO_USAGE, b""

    @property
    def total(self) -> Usage:
        return self._before + self._message

    def add_message(self, id_: bytes, usage: Usage) -> None:
        """A message that comes in parts tells the same in each. Where it has no id, it is one of its own."""
        if id_ != self._id or not id_:
            self._before, self._id = self.total, id_
        self._message = _drop_negatives(None, usage)[1]
