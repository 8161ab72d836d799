"""How running loops of tasks look, in SpecFlow's words."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ralph.app.board.active import ActiveTask

NO_LOOPS_MESSAGE = "No active Ralph loops."


def render_loops_text(loops: "Sequence[ActiveTask]") -> str:
    """A line each; those whose run is gone apart."""
    now = time.time()
    active = [
        f"  {loop.task} ({loop.stage}): iteration {loop.iteration}/{loop.max_iterations},"
        f" started {format_age(now - loop.started_at)} ago"
        for loop in loops
        if loop.alive
    ]
    cut_off = [
        f"  {loop.task} ({loop.stage}): iteration {loop.iteration}/{loop.max_iterations}"
        for loop in loops
        if not loop.alive
    ]
    lines = ["Active Ralph Loops:", *active] if active else [NO_LOOPS_MESSAGE]
    return "\n".join([*lines, *(["Cut off (go on with `ralph execute --resume`):", *cut_off] if cut_off else [])])


def render_loops_json(loops: "Sequence[ActiveTask]") -> str:
    return msgspec.json.encode({"loops": loops}).decode()


def format_age(seconds: float) -> str:
    """42s, 5m, 1h5m, 2d3h: no more than one wants to know."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    large, small = ((whole // 3600, "h"), (whole // 60 % 60, "m")) if whole < 86400 else _split_days(whole)
    return "".join(f"{amount}{unit}" for amount, unit in (large, small) if amount)


def _split_days(whole: int) -> tuple[tuple[int, str], tuple[int, str]]:
    return (whole // 86400, "d"), (whole // 3600 % 24, "h")
