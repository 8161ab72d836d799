"""Times on the command line: 90, 90s, 15m, 2h30m."""

import re

import click

from ralph.model.bounds import MAX_AMOUNT

_DURATION_PATTERN = r"(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?"
_SECONDS_PER_UNIT = (86400.0, 3600.0, 60.0, 1.0)


class DurationParam(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """Seconds, or days, hours, minutes and seconds."""

    name = "time"

    def __init__(self, *, zero: bool = False) -> None:
        self._zero = zero  # whether no time at all will do

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(_DURATION_PATTERN, str(value).strip().lower())
        parts = found.groups() if found else ()
        seconds = sum(float(part) * unit for part, unit in zip(parts, _SECONDS_PER_UNIT, strict=False) if part)
        if not any(parts) or (seconds == 0 and not self._zero):
            self.fail(f"{value!r} is not a time; write seconds, or for example 90s, 15m, 2h30m", param, ctx)
        if seconds > MAX_AMOUNT:
            self.fail(f"{str(value)[:60]!r} is too long; write at most {MAX_AMOUNT:.0f} seconds, 31 years", param, ctx)
        return seconds
