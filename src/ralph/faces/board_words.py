"""What the board says, in words every face uses: cards, slots, the headline, and what became of a cancelled loop."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ralph.core.text.plain import count_cells, one_line
from ralph.core.text.quantities import format_duration, format_exact_duration, format_money, pluralize
from ralph.faces.check_words import shorten_reason
from ralph.faces.glyphs import Glyphs
from ralph.model.board import TaskCard

if TYPE_CHECKING:
    from ralph.app.board.active import ActiveTask
    from ralph.app.board.view import BoardView, CardFacts, WorkerSlot
    from ralph.model.errors import NoSuchRun
    from ralph.model.runs import RunRecord

CardTone = Literal["running", "ready", "waiting", "trouble", "done", "cancelled"]

LANE_TITLES = {
    "todo": "Todo",
    "coder": "Coder",
    "reviewer": "Reviewer",
    "tester": "Tester",
    "qa": "QA",
    "done": "Done",
    "runs": "Runs",
}
NO_TASKS_MESSAGE = "No tasks here yet. Create one with `ralph task create` or `ralph task import FILE.yaml`."
EMPTY_BOARD_MESSAGE = (
    "Nothing here yet. Start a run with `ralph run -p PROMPT`, or create tasks with `ralph task create` or"
    " `ralph task import FILE.yaml`."
)
ASKS_TEXT = "? asks"
MAX_REASON_CELLS = 200  # cells of it
MAX_PLACE_CELLS = 60


def describe_empty_board(lost: "NoSuchRun | None") -> str:
    """`lost`: there were runs, and their records are gone."""
    return EMPTY_BOARD_MESSAGE if lost is None else f"{lost.message}\n{lost.hint}"


class CardState(Struct, frozen=True, kw_only=True):
    """A card's state for a face: the tone picks its colour, the text is shown beside its id."""

    tone: CardTone
    text: str
    reason: str = ""  # where that needs a line of its own
    short_text: str = ""  # where there is no room for the text


def describe_card_state(card: TaskCard, view: "BoardView", glyphs: Glyphs) -> CardState:
    """The card's status in words, such as "🔄 Coder (3/15)", "after TASK-001" or "blocked", with the reason where
    there is one."""
    why = one_line(shorten_reason(view.reasons.get(card.id, "")), MAX_REASON_CELLS, glyphs.ellipsis)
    if card.status != "done" and (question := view.questions.get(card.id)):
        asked = one_line(question, MAX_REASON_CELLS, glyphs.ellipsis)
        return CardState(tone="trouble", text=ASKS_TEXT, reason=f"{asked} (a: answer)", short_text="?")
    match card.status:
        case "in_progress" if card.id in view.orphaned:
            where = f"at {format_stage_progress(card)}; resume with `ralph execute --resume`"
            return CardState(tone="trouble", text=f"{glyphs.warn} cut off", reason=where, short_text=glyphs.warn)
        case "in_progress" if by := view.paused.get(card.id):
            return CardState(tone="running", text=f"paused by {by} {glyphs.dot} {format_stage_progress(card)}")
        case "in_progress":
            return CardState(tone="running", text=f"{glyphs.running} {format_stage_progress(card)}")
        case "blocked":
            return CardState(tone="trouble", text=f"{glyphs.warn} blocked", reason=why, short_text=glyphs.warn)
        case "cancelled":
            return CardState(tone="cancelled", text=f"{glyphs.bad} cancelled", short_text=glyphs.bad)
        case "done":
            return CardState(tone="done", text=f"{glyphs.ok} done", reason=why, short_text=glyphs.ok)
        case "todo" if by := view.paused.get(card.id):
            return CardState(tone="waiting", text="paused", reason=f"paused by {by}", short_text="paused")
        case "todo" if why:
            return CardState(tone="trouble", text=f"{glyphs.warn} failed", reason=why, short_text=glyphs.warn)
        case "todo" if needs := view.waits_for.get(card.id):
            more = f" +{len(needs) - 1}" if len(needs) > 1 else ""
            return CardState(tone="waiting", text=f"after {needs[0]}{more}", short_text="waits")
        case "todo":
            return CardState(tone="ready", text="ready")


def format_stage_progress(card: TaskCard) -> str:
    """Stage and iteration: "Coder (3/15)"; the stage alone before its first agent starts."""
    title = LANE_TITLES[card.stage or "coder"]
    return f"{title} ({card.iteration}/{card.max_iterations})" if card.max_iterations else title


def format_card_facts(facts: "CardFacts", glyphs: Glyphs, room: int = 1000) -> str:
    """$0.42 · 5m10s · 3 iterations: as far as known and as there is room; empty before its first iteration ended."""
    parts = [
        *([] if facts.cost_usd is None else [format_money(facts.cost_usd)]),
        *([format_duration(facts.seconds)] if facts.seconds >= 1 else []),
        *([pluralize(facts.iterations, "iteration")] if facts.iterations else []),
    ]
    return join_fitting(parts, room, glyphs)


def join_fitting(parts: Sequence[str], room: int, glyphs: Glyphs) -> str:
    """As many as there is room for: a half would mislead."""
    text = ""
    for part in parts:
        longer = f"{text} {glyphs.dot} {part}" if text else part
        if count_cells(longer) <= room:
            text = longer
    return text


def render_slot_lines(slot: "WorkerSlot", now: float) -> list[str]:
    """Slot 1: coder, and below it task, iteration and time."""
    if not slot.run:
        return [f"Slot {slot.number}: idle"]
    return [
        f"Slot {slot.number}: {slot.role}",
        f"  Task: {slot.task}" if slot.task else f"  Run: {slot.title or slot.run}",
        f"  Ralph: iteration {slot.iteration}/{slot.max_iterations or '?'}",
        f"  Running: {_format_clock(now - slot.started_at)}",
    ]


def format_headline_parts(view: "BoardView", now: float) -> list[str]:
    """Always the place, what runs and how much is done, in this order; then cost, time, blocked and cancelled as
    far as known."""
    running = len(view.running_slots)
    blocked, cancelled = view.count_status("blocked"), view.count_status("cancelled")
    return [
        one_line(view.place, MAX_PLACE_CELLS),
        f"{running} running" if running else "idle",
        _format_progress(view, cancelled),
        *([] if view.spent_usd is None else [format_money(view.spent_usd)]),
        *([] if view.since is None else [_format_clock(now - view.since)]),
        *([f"{blocked} blocked"] if blocked else []),
        *([f"{cancelled} cancelled"] if cancelled else []),
        *([view.expectation] if view.expectation else []),
    ]


def _format_progress(view: "BoardView", cancelled: int) -> str:
    if not view.cards and view.runs:
        return pluralize(len(view.runs), "run")
    return f"{view.count_status('done')}/{pluralize(len(view.cards) - cancelled, 'task')} done"


def format_cancelled_loop(loop: "ActiveTask") -> str:
    """Cancelled Ralph loop for TASK-001 at iteration 3/15"""
    return f"Cancelled Ralph loop for {loop.task} at iteration {loop.iteration}/{loop.max_iterations}"


def format_cancelled_run(run: "RunRecord") -> str:
    """Cancelled run 20261115-… at iteration 3/10: of a run that has no task."""
    return f"Cancelled run {run.id} at iteration {run.iteration}/{run.limit}"


def _format_clock(seconds: float) -> str:
    """5m 23s"""
    return format_exact_duration(int(seconds), gap=" ")
