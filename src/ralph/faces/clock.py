"""What the user's clock shows at a unix time."""

import time

DAY = 86400


def clock(form: str, at: float) -> str:
    """A time no calendar reaches is shown as unknown: a stored event may hold any number."""
    try:
        return time.strftime(form, time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return "?"


def until(at: float, seconds: float) -> str:
    """The hour so many seconds from then; with the day, where that is not soon."""
    return clock("%H:%M" if seconds < DAY else "%Y-%m-%d %H:%M", at + seconds)
