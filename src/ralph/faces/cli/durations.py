"""Times on the command line: 90, 90s, 15m, 2h30m."""

import re

import click

_PARTS = re.compile(r"(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
_SECONDS = (86400.0, 3600.0, 60.0, 1.0)


class Duration(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """Seconds, or days, hours, minutes and seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """In seconds; must be more than none."""
        found = _PARTS.fullmatch(str(value).strip().lower())
        parts = found.groups() if found else ()
        seconds = sum(float(part) * unit for part, unit in zip(parts, _SECONDS, strict=False) if part)
        if seconds <= 0:
            self.fail(f"{value!r} is not a time; write seconds, or for example 90s, 15m, 2h30m", param, ctx)
        return seconds
