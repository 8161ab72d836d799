"""The iterations of a run, one row each."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.plain import cells, one_line
from ralph.core.text.quantities import counted, duration, money
from ralph.faces.cli.terminal.look import Look
from ralph.model.events import AgentEnded, Committed, Event, GateEnded, GateStarted, IterationStarted, RunEnded

MOST_ROWS = 20
OUTCOME = 15  # cells of it
COMMIT = 40  # cells of a message
HEADINGS = ("#", "agent", "guardrails", "commit", "time", "cost")


class Row(Struct, frozen=True):
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


class Rows:
    """Collects them while a run is watched. An iteration tried again stays one row, its time and cost added up."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._began = 0.0  # when the last agent did

    def clear(self) -> None:
        """Another run."""
        self._rows = []

    def hear(self, event: Event, at: float = 0.0) -> None:
        """Keep what a row tells."""
        last = self._rows[-1] if self._rows else None
        if isinstance(event, IterationStarted):
            self._began = at
            if last is None or (last.iteration, last.about) != (event.iteration, event.about):
                self._rows.append(Row(event.iteration, event.about))
        elif isinstance(event, RunEnded):
            if last is not None and event.cut_off:
                took = max(0.0, at - self._began)
                self._rows[-1] = replace(last, outcome=event.outcome, seconds=last.seconds + took)
        elif last is not None:
            self._rows[-1] = _told(last, event)

    def all(self) -> Sequence[Row]:
        """In the order they began."""
        return tuple(self._rows)


def _told(row: Row, event: Event) -> Row:
    match event:
        case AgentEnded(outcome=outcome, seconds=seconds, cost_usd=cost):
            total = row.cost_usd if cost is None else (row.cost_usd or 0.0) + cost
            return replace(row, outcome=outcome, seconds=row.seconds + seconds, cost_usd=total)
        case GateStarted(of=count):
            return replace(row, checks=count)
        case GateEnded(passed=True, seconds=seconds):
            return replace(row, passed=row.passed + 1, seconds=row.seconds + seconds)
        case GateEnded(seconds=seconds):
            return replace(row, failed=row.failed + 1, seconds=row.seconds + seconds)
        case Committed(message=message, done=done) if done:
            return replace(row, commit=message or ", ".join(done))
        case _:
            return row


def summary_table(rows: Sequence[Row], look: Look) -> str:
    """A heading and the last rows, numbers to the right; no rows, no table."""
    if not rows:
        return ""
    shown = [_texts(row, look) for row in rows[-MOST_ROWS:]]
    widths = [max(map(cells, column)) for column in zip(HEADINGS, *shown, strict=True)]
    lines = [_line(texts, widths) for texts in (HEADINGS, *shown)]
    lines[0] = f"{look.paint.dim}{lines[0]}{look.paint.off}"
    if len(rows) > MOST_ROWS:
        lines.insert(1, f"{look.glyphs.ellipsis} {counted(len(rows) - MOST_ROWS, 'earlier iteration')}")
    return "\n".join(lines)


def _texts(row: Row, look: Look) -> tuple[str, ...]:
    glyphs = look.glyphs
    run = row.passed + row.failed
    checks = max(run, row.checks)
    sign = glyphs.bad if row.failed else glyphs.ok if run == checks else glyphs.warn
    verdict = f"{sign} {row.passed}/{checks}" if checks else glyphs.unknown
    room = min(COMMIT, look.width - 50) if look.width else COMMIT
    return (
        one_line(f"{row.about.partition(' ')[0]} {row.iteration}".strip(), OUTCOME, glyphs.ellipsis),
        one_line(row.outcome, OUTCOME, glyphs.ellipsis).replace("_", " ") or glyphs.unknown,
        verdict,
        one_line(row.commit, max(room, 10), glyphs.ellipsis) or glyphs.unknown,
        duration(row.seconds),
        money(row.cost_usd, glyphs.unknown),
    )


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    number, *words, seconds, cost = (
        (" " * (width - cells(text)), text) for text, width in zip(texts, widths, strict=True)
    )
    return "  ".join(
        [number[0] + number[1], *(text + pad for pad, text in words), seconds[0] + seconds[1], cost[0] + cost[1]]
    )
