"""Makes the board's answers out of what was found. Pure; cards that did not change are made once."""

from collections.abc import Mapping, Sequence

from ralph.app.board.run_cards import RunCard
from ralph.app.board.view import BoardView, WorkerSlot, choose_lane
from ralph.faces.board_words import describe_card_state
from ralph.faces.check_words import shorten_agent
from ralph.faces.glyphs import UNICODE_GLYPHS
from ralph.faces.views.shapes import BoardChange, BoardHead, CardView, CheckMark, RunView
from ralph.model.board import TaskCard


class BoardShaper:
    """Remembers the cards of the last look. It belongs to one thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, CardView]] = {}

    def shape_cards(self, view: BoardView) -> dict[str, CardView]:
        """By id, in the order of the board."""
        slots = {slot.task: slot for slot in view.slots if slot.is_task_slot}
        self._known = {card.id: self._shape(card, view, slots.get(card.id)) for card in view.cards}
        return {id_: card for id_, (_, card) in self._known.items()}

    def _shape(self, card: TaskCard, view: BoardView, slot: WorkerSlot | None) -> tuple[object, CardView]:
        facts = view.facts.get(card.id)
        basis = (
            card,
            slot,
            facts,
            view.reasons.get(card.id),
            view.waits_for.get(card.id),
            card.id in view.orphaned,
            view.paused.get(card.id),
            view.questions.get(card.id),
        )
        known = self._known.get(card.id)
        if known is not None and known[0] == basis:
            return known
        return basis, build_card_view(card, view, slot)


def build_card_view(card: TaskCard, view: BoardView, slot: WorkerSlot | None = None) -> CardView:
    state, facts = describe_card_state(card, view, UNICODE_GLYPHS), view.facts.get(card.id)
    return CardView(
        id=card.id,
        title=card.title,
        spec=card.spec_id,
        lane=choose_lane(card),
        status=card.status,
        tone=state.tone,
        text=state.text,
        reason=state.reason or view.reasons.get(card.id, ""),
        failure=facts.failure if facts else "",
        priority=card.priority,
        iteration=card.iteration,
        max_iterations=card.max_iterations,
        run=card.worker,
        agent=shorten_agent(slot.agent) if slot else "",
        started_at=slot.started_at if slot else None,
        cost_usd=facts.cost_usd if facts else None,
        seconds=facts.seconds if facts else 0.0,
        iterations=facts.iterations if facts else 0,
        needs=card.needs,
        waits_for=view.waits_for.get(card.id, ()),
        by_words=card.by_words,
        paused_by=view.paused.get(card.id, ""),
        question=view.questions.get(card.id, ""),
    )


def build_head(view: BoardView, root: str, problem: str = "") -> BoardHead:
    cancelled = view.count_status("cancelled")
    return BoardHead(
        place=view.place,
        root=root,
        running=len(view.running_slots),
        idle_slots=len(view.slots) - len(view.running_slots),
        done=view.count_status("done"),
        total=len(view.cards) - cancelled,
        blocked=view.count_status("blocked"),
        cancelled=cancelled,
        spent_usd=view.spent_usd,
        since=view.since,
        expectation=view.expectation,
        paused_by=view.paused_by,
        problem=problem,
    )


def shape_runs(view: BoardView, activities: Mapping[str, str]) -> dict[str, RunView]:
    """Those at work, by their slots; then the others the board shows."""
    cards = {card.id: card for card in view.runs}
    at_work = {slot.run: _build_working_run(slot, cards.get(slot.run), activities, view) for slot in view.running_slots}
    others = {id_: build_run_row(card, view) for id_, card in cards.items() if id_ not in at_work}
    return {**at_work, **others}


def build_run_row(card: RunCard, view: BoardView, activity: str = "", slot: int = 0) -> RunView:
    """A run of its own: one that has no task on the board."""
    return RunView(
        id=card.id,
        kind=card.kind,
        agent=shorten_agent(card.agent),
        task=card.task,
        title=card.title,
        active=card.is_active,
        alive=card.id not in view.cut_off_runs if card.is_active else None,
        iteration=card.iteration,
        limit=card.limit,
        doing=card.doing,
        outcome=card.outcome or "",
        why=card.why,
        started_at=card.started_at,
        ended_at=card.ended_at,
        seconds=card.elapsed,
        changed_at=card.changed_at,
        cost_usd=card.cost_usd,
        part=card.part,
        strip=card.strip,
        checks=tuple(CheckMark(name, passed) for name, passed in card.checks),
        failure=card.failure,
        activity=activity,
        slot=slot,
        paused_by=card.paused_by,
        question=card.question,
    )


def compare_boards(
    before: Mapping[str, CardView], now: Mapping[str, CardView], head: BoardHead, at: float
) -> BoardChange:
    """What of the cards is new. Runs are compared by who adds them."""
    order = list(now)
    return BoardChange(
        now=at,
        head=head,
        cards=[card for id_, card in now.items() if before.get(id_) is not card and before.get(id_) != card],
        gone=[id_ for id_ in before if id_ not in now],
        order=order if order != [id_ for id_ in before if id_ in now] else None,
    )


def list_new_runs(before: Mapping[str, RunView], now: Mapping[str, RunView]) -> Sequence[RunView]:
    return [run for id_, run in now.items() if before.get(id_) != run]


def _build_working_run(
    slot: WorkerSlot, card: RunCard | None, activities: Mapping[str, str], view: BoardView
) -> RunView:
    activity = activities.get(slot.run, "")
    if card is not None:
        return build_run_row(card, view, activity, slot.number)
    return RunView(
        id=slot.run,
        kind="execute",
        agent=shorten_agent(slot.agent),
        task=slot.task,
        title=slot.task,
        active=True,
        alive=True,
        iteration=slot.iteration,
        limit=slot.max_iterations,
        started_at=slot.started_at,
        seconds=slot.elapsed,
        changed_at=slot.changed_at,
        cost_usd=slot.cost_usd,
        part=slot.role,
        activity=activity,
        slot=slot.number,
        paused_by=view.paused.get(slot.task, ""),
    )
