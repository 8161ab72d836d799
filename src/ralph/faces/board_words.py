"""What the board says, in words every face uses: cards, slots, the headline, and what became of a cancelled loop."""

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from ralph.core.text.plain import one_line
from ralph.core.text.quantities import counted, money, spaced_duration
from ralph.faces.glyphs import Glyphs
from ralph.model.board import Card

if TYPE_CHECKING:
    from ralph.app.board.active import Loop
    from ralph.app.board.view import Slot, View
    from ralph.stores.runs import RunRecord

Tone = Literal["running", "ready", "waiting", "trouble", "done", "cancelled"]

LANE_NAMES = {"todo": "Todo", "coder": "Coder", "reviewer": "Reviewer", "tester": "Tester", "qa": "QA", "done": "Done"}
EMPTY = "No tasks here yet. Make one with `ralph task create` or `ralph task import FILE.yaml`."
REASON = 200  # cells of it
PLACE = 60


class State(Struct, frozen=True):
    """How a task stands, in a few words."""

    tone: Tone
    text: str
    why: str = ""  # where that needs a line of its own
    short: str = ""  # where there is no room for the text


def state_of(card: Card, view: "View", glyphs: Glyphs) -> State:
    """🔄 Coder (3/15), after TASK-001, blocked …"""
    why = one_line(view.remarks.get(card.id, ""), REASON, glyphs.ellipsis)
    match card.status:
        case "in_progress" if card.id in view.cut_off:
            where = f"at {loop_of(card)}; `ralph execute --resume` goes on"
            return State("trouble", f"{glyphs.warn} cut off", where, glyphs.warn)
        case "in_progress":
            return State("running", f"{glyphs.running} {loop_of(card)}")
        case "blocked":
            return State("trouble", f"{glyphs.warn} blocked", why, glyphs.warn)
        case "cancelled":
            return State("cancelled", f"{glyphs.bad} cancelled", short=glyphs.bad)
        case "done":
            return State("done", f"{glyphs.ok} done", short=glyphs.ok)
        case "todo" if why:
            return State("trouble", f"{glyphs.warn} failed", why, glyphs.warn)
        case "todo" if needs := view.waits.get(card.id):
            more = f" +{len(needs) - 1}" if len(needs) > 1 else ""
            return State("waiting", f"after {needs[0]}{more}", short="waits")
        case "todo":
            return State("ready", "ready")


def loop_of(card: Card) -> str:
    """Coder (3/15)"""
    return f"{LANE_NAMES[card.stage or 'coder']} ({card.iteration}/{card.max_iterations or '?'})"


def slot_lines(slot: "Slot", now: float) -> list[str]:
    """Slot 1: coder, and below it task, iteration and time."""
    if not slot.run:
        return [f"Slot {slot.number}: idle"]
    return [
        f"Slot {slot.number}: {slot.role}",
        f"  Task: {slot.task}" if slot.task else f"  Run: {slot.run}",
        f"  Ralph: iteration {slot.iteration}/{slot.max_iterations or '?'}",
        f"  Running: {spaced_duration(now - slot.started_at)}",
    ]


def headline(view: "View", now: float) -> list[str]:
    """Where, what runs, how much is done, what it cost, how long."""
    running = len(view.running)
    blocked, cancelled = view.count("blocked"), view.count("cancelled")
    return [
        one_line(view.place, PLACE),
        f"{running} running" if running else "nothing runs",
        f"{view.count('done')}/{counted(len(view.cards) - cancelled, 'task')} done",
        *([] if view.spent_usd is None else [money(view.spent_usd)]),
        *([] if view.since is None else [spaced_duration(now - view.since)]),
        *([f"{blocked} blocked"] if blocked else []),
        *([f"{cancelled} cancelled"] if cancelled else []),
    ]


def loop_cancelled(loop: "Loop") -> str:
    """Cancelled Ralph loop for TASK-001 at iteration 3/15"""
    return f"Cancelled Ralph loop for {loop.task} at iteration {loop.iteration}/{loop.max_iterations}"


def run_cancelled(run: "RunRecord") -> str:
    """The same of a run without a task."""
    return f"Cancelled run {run.id} at iteration {run.iteration}/{run.limit}"
