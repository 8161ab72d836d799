"""What `ralph execute` ends with: a line for each task, the totals, and what to type next."""

import shlex
import threading
import time
from typing import TYPE_CHECKING

from ralph.core.text.plain import sanitize
from ralph.core.text.quantities import format_duration, format_money
from ralph.faces.glyphs import Glyphs
from ralph.model.events import RunEnded, RunStarted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.pipeline.execute import ExecuteReport
    from ralph.model.events import Event

NOTHING_TO_DO = "Nothing to do: every task is done or cancelled."


class ExecuteTotals:
    """A Watcher of all tasks that counts what this command spent: what earlier runs of a task did is not its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began_at = time.monotonic()
        self.spent_usd: float | None = None  # estimates included
        self.is_estimated = False
        self.unpriced = 0  # agent runs of which nobody knows the cost

    def __call__(self, _: float, __: int, events: "Sequence[Event]") -> None:
        for event in events:
            if isinstance(event, RunStarted) and event.spent_usd:
                self._add(-event.spent_usd)
            elif isinstance(event, RunEnded) and (event.cost_usd is not None or event.estimated_usd):
                self._add((event.cost_usd or 0.0) + event.estimated_usd)
                self.is_estimated |= event.estimated_usd > 0
                self.unpriced += event.unpriced

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began_at

    def _add(self, amount: float) -> None:
        with self._lock:  # tasks end in threads of their own
            self.spent_usd = (self.spent_usd or 0.0) + amount


def render_execute_report(report: "ExecuteReport", totals: ExecuteTotals, glyphs: Glyphs) -> str:
    """A line for each task, sorted; then the sum, and what to type next."""
    lines = [f"{each.task}  {each.outcome.value}  {each.why}" for each in sorted(report.endings, key=lambda e: e.task)]
    lines += [f"{left.task}  {left.why}" for left in report.left]
    lines += [f"{broken.task}  broken  {broken.why}" for broken in report.broken]
    if not lines:
        return NOTHING_TO_DO
    return sanitize("\n".join([*lines, "", _render_totals(report, totals, glyphs), *_render_next(report, glyphs)]))


def _render_totals(report: "ExecuteReport", totals: ExecuteTotals, glyphs: Glyphs) -> str:
    """1 done, 2 failed, 1 blocked · 6m7s · $2.50"""
    counts = {"done": 0, "failed": 0, "blocked": 0, "stopped": 0}
    for each in report.endings:
        names = {"completed": "done", "blocked": "blocked", "interrupted": "stopped"}
        counts[names.get(each.outcome.value, "failed")] += 1
    counts["blocked"] += sum(left.blocked for left in report.left)
    counts |= {"not done": sum(not left.blocked for left in report.left), "broken": len(report.broken)}
    counted = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    parts = [counted, format_duration(totals.seconds)]
    if totals.spent_usd is not None:
        about, more = glyphs.about if totals.is_estimated else "", "+" if totals.unpriced else ""
        parts.append(f"{about}{format_money(max(0.0, totals.spent_usd))}{more}")
    return f" {glyphs.dot} ".join(parts).replace(" , ", ", ")


def _render_next(report: "ExecuteReport", glyphs: Glyphs) -> list[str]:
    """→ See why: ralph task show T2, and what else is to be typed"""
    ended = {each.task: each.outcome.value for each in report.endings}
    failed = [task for task, outcome in ended.items() if outcome not in ("completed", "interrupted", "unusable")]
    blocked = [task for task, outcome in ended.items() if outcome == "blocked"]
    asking = [each.task for each in report.endings if each.question]
    hints = [f"See why: ralph task show {shlex.quote(task)}" for task in failed[:1]]
    if again := [task for task in failed if task not in blocked]:
        hints.append(f"Try again: ralph execute {_join(again)}")
    if asking:
        hints.append(
            f"Answer: ralph answer {shlex.quote(asking[0])} TEXT; then: ralph execute {shlex.quote(asking[0])}"
        )
    elif blocked:
        hints.append(f"Reopen it: ralph task edit {shlex.quote(blocked[0])} --status todo")
    if stopped := [task for task, outcome in ended.items() if outcome == "interrupted"]:
        hints.append(f"Resume: ralph execute --resume {_join(stopped)}")
    if "unusable" in ended.values():
        hints.append("Check the setup: ralph doctor")
    if report.broken:
        hints.append("See what broke: ralph verify --all")
    return [f"{glyphs.right_arrow} {hint}" for hint in hints]


def _join(tasks: "Sequence[str]") -> str:
    return " ".join(map(shlex.quote, sorted(tasks)))
