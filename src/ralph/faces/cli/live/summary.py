"""The iterations of a run, one row each."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.plain import one_line
from ralph.core.text.quantities import format_cost, format_duration, pluralize
from ralph.faces.cli.terminal.columns import align_columns
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.model.events import AgentEnded, Committed, Event, GateEnded, GateStarted, IterationStarted, RunEnded

MAX_SUMMARY_ROWS = 20
MAX_OUTCOME_CELLS = 15  # cells of it
MAX_COMMIT_CELLS = 40  # cells of a message
SUMMARY_HEADINGS = ("#", "agent", "guardrails", "commit", "time", "cost")
TASK_SUMMARY_HEADINGS = ("#", "agent", "verified", "time", "cost")  # a task's commits are its agents' own
_COMMIT_COLUMN = 3
MIN_COMMIT_WIDTH = 56  # cells of a terminal that has room for commits


class IterationRow(Struct, frozen=True, kw_only=True):
    """What became of one iteration."""

    iteration: int
    about: str = ""  # whose: a pipeline counts each stage's own
    outcome: str = ""  # empty: its agent did not end
    passed: int = 0
    failed: int = 0
    checks: int = 0  # guardrails there are to run; none is known of a verification
    commit: str = ""
    seconds: float = 0.0
    cost_usd: float | None = None
    estimated_usd: float = 0.0
    is_task: bool = False  # its promises are verified; a run has guardrails


class IterationRows:
    """Collects one row an iteration while a run is watched. A repeated iteration keeps its row; time and cost are
    added."""

    def __init__(self) -> None:
        self._rows: list[IterationRow] = []
        self._agent_began_at = 0.0  # when the last agent did

    def clear_rows(self) -> None:
        self._rows = []

    def add_event(self, event: Event, at: float = 0.0) -> None:
        last = self._rows[-1] if self._rows else None
        if isinstance(event, IterationStarted):
            self._agent_began_at = at
            if last is None or (last.iteration, last.about) != (event.iteration, event.about):
                self._rows.append(IterationRow(iteration=event.iteration, about=event.about))
        elif isinstance(event, RunEnded):
            if last is not None and event.cut_off:
                took = max(0.0, at - self._agent_began_at)
                self._rows[-1] = replace(last, outcome=event.outcome, seconds=last.seconds + took)
        elif last is not None:
            self._rows[-1] = _apply_event(last, event)

    def get_rows(self) -> Sequence[IterationRow]:
        return tuple(self._rows)


def _add_cost(before: float | None, cost_usd: float | None, *, is_over: bool) -> float | None:
    """That a call which was turned away cost nothing says nothing of the one that took its place."""
    return before if cost_usd is None or not (cost_usd or is_over) else (before or 0.0) + cost_usd


def _apply_event(row: IterationRow, event: Event) -> IterationRow:
    match event:
        case AgentEnded(outcome=outcome, seconds=seconds, cost_usd=cost, estimated_usd=estimated):
            return replace(
                row,
                outcome=outcome,
                seconds=row.seconds + seconds,
                cost_usd=_add_cost(row.cost_usd, cost, is_over=outcome == "finished"),
                estimated_usd=row.estimated_usd + (estimated or 0.0),
            )
        case GateStarted(of=count):
            return replace(row, checks=count)
        case GateEnded(passed=passed, seconds=seconds, is_verification=is_task):
            passes, failures = row.passed + passed, row.failed + (not passed)
            return replace(row, passed=passes, failed=failures, seconds=row.seconds + seconds, is_task=is_task)
        case Committed(message=message, done=done) if done:
            return replace(row, commit=message or ", ".join(done))
        case _:
            return row


def render_summary_table(rows: Sequence[IterationRow], style: TerminalStyle) -> str:
    """The last MAX_SUMMARY_ROWS rows with headings, numbers right-aligned; empty without rows."""
    if not rows:
        return ""
    headings: Sequence[str] = SUMMARY_HEADINGS
    shown: list[tuple[str, ...]] = [_format_row(row, style) for row in rows[-MAX_SUMMARY_ROWS:]]
    if any(row.is_task for row in rows) and not any(row.commit for row in rows):
        headings = TASK_SUMMARY_HEADINGS
    elif 0 < style.width < MIN_COMMIT_WIDTH:
        headings = _drop_commit(SUMMARY_HEADINGS)
    if len(headings) < len(SUMMARY_HEADINGS):
        shown = list(map(_drop_commit, shown))
    lines = align_columns([headings, *shown], right=(0, len(headings) - 2, len(headings) - 1))
    lines[0] = f"{style.palette.dim}{lines[0]}{style.palette.off}"
    if len(rows) > MAX_SUMMARY_ROWS:
        lines.insert(1, f"{style.glyphs.ellipsis} {pluralize(len(rows) - MAX_SUMMARY_ROWS, 'earlier iteration')}")
    return "\n".join(lines)


def _drop_commit(cells: tuple[str, ...]) -> tuple[str, ...]:
    return cells[:_COMMIT_COLUMN] + cells[_COMMIT_COLUMN + 1 :]


def _format_row(row: IterationRow, style: TerminalStyle) -> tuple[str, ...]:
    glyphs = style.glyphs
    run = row.passed + row.failed
    checks = max(run, row.checks)
    sign = glyphs.bad if row.failed else glyphs.ok if run == checks else glyphs.warn
    verdict = f"{sign} {row.passed}/{checks}" if checks else glyphs.unknown
    room = min(MAX_COMMIT_CELLS, style.width - 50) if style.width else MAX_COMMIT_CELLS
    return (
        one_line(f"{row.about.partition(' ')[0]} {row.iteration}".strip(), MAX_OUTCOME_CELLS, glyphs.ellipsis),
        one_line(row.outcome, MAX_OUTCOME_CELLS, glyphs.ellipsis).replace("_", " ") or glyphs.unknown,
        verdict,
        one_line(row.commit, max(room, 10), glyphs.ellipsis) or glyphs.unknown,
        format_duration(row.seconds),
        format_cost(row.cost_usd, row.estimated_usd, unknown=glyphs.unknown, about=glyphs.about),
    )
