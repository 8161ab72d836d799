"""How running loops of tasks look, in SpecFlow's words."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from ralph.core.text.quantities import format_duration
from ralph.faces.clock import SECONDS_PER_DAY

if TYPE_CHECKING:
    from ralph.app.board.active import ActiveTask

NO_LOOPS_MESSAGE = "No active Ralph loops."


def render_loops_text(loops: "Sequence[ActiveTask]") -> str:
    """One line a task; tasks whose run is gone stand below, apart."""
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
    return "\n".join([*lines, *(["Interrupted (resume with `ralph execute --resume`):", *cut_off] if cut_off else [])])


def render_loops_json(loops: "Sequence[ActiveTask]") -> str:
    return msgspec.json.encode({"loops": loops}).decode()


def format_age(seconds: float) -> str:
    """Two units at most: 42s, 5m, 1h5m, 2d3h."""
    days, rest = divmod(max(0, int(seconds)), SECONDS_PER_DAY)
    unit = 3600 if days else 60 if rest >= 60 else 1
    below = rest - rest % unit
    return f"{days}d{format_duration(below) if below else ''}" if days else format_duration(below)
