"""What the user's clock shows at a unix time."""

import time

SECONDS_PER_DAY = 86400


def format_local_time(form: str, at: float) -> str:
    """A time no calendar reaches is shown as unknown: a stored event may hold any number."""
    try:
        return time.strftime(form, time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return "?"


def format_end_time(at: float, seconds: float) -> str:
    """The time of day so many seconds after `at`; with the date where that is a day or more away."""
    return format_local_time("%H:%M" if seconds < SECONDS_PER_DAY else "%Y-%m-%d %H:%M", at + seconds)
