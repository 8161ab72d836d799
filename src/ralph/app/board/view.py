"""The board as people look at it: tasks in lanes, workers in slots. Pure: what was found goes in, a view comes out."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from ralph.app.board.active import ActiveTask
from ralph.app.board.run_cards import RunCard
from ralph.core.tasks.graph import find_blocked
from ralph.model.board import TaskCard
from ralph.model.runs import RunRecord
from ralph.model.spec import ROLES, TaskStatusName

TODO_LANE, DONE_LANE = "todo", "done"
LANES = (TODO_LANE, *ROLES, DONE_LANE)


class WorkerSlot(Struct, frozen=True, kw_only=True):
    """A worker's place: what it works on, or nothing."""

    number: int  # 1 for the first
    run: str = ""  # empty: idle
    role: str = ""  # the stage of a task, else the kind of loop
    task: str = ""
    agent: str = ""
    iteration: int = 0
    max_iterations: int = 0
    started_at: float = 0.0  # unix time
    title: str = ""  # of a run without a task: the first line of its prompt
    elapsed: float = 0.0  # seconds its run has worked, as of `changed_at`
    changed_at: float = 0.0
    cost_usd: float | None = None  # of its run

    @property
    def name(self) -> str:
        """By what people know it: its task, its prompt, or its run."""
        return self.task or self.title or self.run

    @property
    def is_task_slot(self) -> bool:
        """Whether a task of the board is worked on, stage by stage."""
        return self.role in ROLES


class CardFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What the work on a task came to so far."""

    cost_usd: float | None = None
    seconds: float = 0.0
    iterations: int = 0
    failure: str = ""  # the line that tells most of its last verification, where that failed


class BoardState(Struct, frozen=True, kw_only=True):
    """What the database says at one time."""

    cards: Sequence[TaskCard] = ()
    reasons: Mapping[str, str] = {}  # why a task is blocked, or how it failed
    active_tasks: Sequence[ActiveTask] = ()
    runs: Sequence[RunRecord] = ()  # those without an end
    jobs: Mapping[int, int] = {}  # how many tasks at once, by the pid that works on them
    spent_usd: float | None = None
    began: Mapping[int, float] = {}  # when the process of that pid started its first run
    expectation: str = ""  # what tasks took so far
    facts: Mapping[str, CardFacts] = {}  # of tasks that were worked on
    paused: Mapping[str, str] = {}  # by task, run, or nothing for the whole of `ralph execute`: who paused it
    questions: Mapping[str, str] = {}  # by task or run: what its agent asked and nobody has answered
    run_cards: Sequence[RunCard] = ()  # of runs without tasks, those that have no end first


class BoardView(Struct, frozen=True, kw_only=True):
    """The board at one look."""

    place: str = ""  # repository:branch
    cards: Sequence[TaskCard] = ()
    counts: Mapping[str, int] = {}  # by status
    waits_for: Mapping[str, Sequence[str]] = {}  # what a task has to wait for
    reasons: Mapping[str, str] = {}
    orphaned: frozenset[str] = frozenset()  # tasks in progress whose run is gone
    slots: Sequence[WorkerSlot] = ()
    spent_usd: float | None = None
    since: float | None = None  # when the oldest of what works began
    expectation: str = ""  # what tasks took so far
    facts: Mapping[str, CardFacts] = {}  # of tasks that were worked on
    paused: Mapping[str, str] = {}  # by task or run: who paused it
    questions: Mapping[str, str] = {}  # by task or run: what its agent asked and nobody has answered
    paused_by: str = ""  # who paused all of `ralph execute`
    runs: Sequence[RunCard] = ()  # without tasks: those that go on first, then the newest
    cut_off_runs: frozenset[str] = frozenset()  # of them, those that have no end and whose process is gone

    @property
    def running_slots(self) -> Sequence[WorkerSlot]:
        return [slot for slot in self.slots if slot.run]

    def count_status(self, status: TaskStatusName) -> int:
        return self.counts.get(status, 0)


def build_view(place: str, found: BoardState, alive: Collection[str], before: Sequence[WorkerSlot] = ()) -> BoardView:
    """What is shown, given which runs live. A worker keeps the place it had before."""
    done = {card.id for card in found.cards if card.status == "done"}
    living = sorted((run for run in found.runs if run.id in alive), key=lambda run: (run.started_at, run.id))
    return BoardView(
        place=place,
        cards=found.cards,
        counts=Counter(card.status for card in found.cards),
        waits_for=find_blocked({card.id: card.needs for card in found.cards if card.status == "todo"}, done),
        reasons=found.reasons,
        orphaned=frozenset(loop.task for loop in found.active_tasks if loop.worker not in alive),
        slots=_build_slots(found, living, before),
        spent_usd=_sum_spent(found.spent_usd, living),
        since=min((found.began.get(run.pid, run.started_at) for run in living), default=None),
        expectation=found.expectation,
        facts=found.facts,
        paused=_list_paused(found),
        paused_by=found.paused.get("", ""),
        questions=found.questions,
        runs=found.run_cards,
        cut_off_runs=frozenset(card.id for card in found.run_cards if card.is_active and card.id not in alive),
    )


def group_by_lane(cards: Iterable[TaskCard], wanted: str = "", cancelled: bool = False) -> dict[str, list[TaskCard]]:
    """The cards of every lane, the most urgent first; only what has the wanted words, the cancelled if asked for."""
    found: dict[str, list[TaskCard]] = {lane: [] for lane in LANES}
    words = wanted.casefold().split()
    for card in cards:
        if (cancelled or card.status != "cancelled") and (not words or _matches(card, words)):
            found[choose_lane(card)].append(card)
    return found


def filter_runs(runs: Sequence[RunCard], wanted: str) -> Sequence[RunCard]:
    """Those that have all the wanted words."""
    words = wanted.casefold().split()
    return [run for run in runs if _has_words(f"{run.id} {run.title} {run.kind} {run.agent}", words)] if words else runs


def choose_lane(card: TaskCard) -> str:
    """Whose turn it is; what nobody works on waits in the first lane, whatever for."""
    if card.status == "in_progress":
        return card.stage or ROLES[0]
    return DONE_LANE if card.status == "done" else TODO_LANE


def _matches(card: TaskCard, words: Sequence[str]) -> bool:
    return _has_words(f"{card.id} {card.title} {card.spec_id}", words)


def _has_words(text: str, words: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)


def _list_paused(found: BoardState) -> Mapping[str, str]:
    """Where all of `ralph execute` is paused, so is every task it has not finished."""
    by = found.paused.get("")
    if by is None:
        return found.paused
    working = {card.id: by for card in found.cards if card.status == "in_progress"}
    return {**working, **{name: who for name, who in found.paused.items() if name}}


def _build_slots(
    found: BoardState, living: Sequence[RunRecord], before: Sequence[WorkerSlot]
) -> tuple[WorkerSlot, ...]:
    loops = {loop.worker: loop for loop in found.active_tasks}
    runs = {run.id: run for run in living}
    titles = {card.id: card.title for card in found.run_cards}
    idle = sum(found.jobs.get(pid, 0) for pid in {run.pid for run in living}) - sum(
        run.pid in found.jobs for run in living
    )
    seats = _assign_seats([slot.run for slot in before], list(runs), max(0, idle))
    return tuple(
        _build_slot(number, runs[seat], loops.get(seat), titles.get(seat, "")) if seat else WorkerSlot(number=number)
        for number, seat in enumerate(seats, 1)
    )


def _assign_seats(before: Sequence[str], runs: Sequence[str], idle: int) -> list[str]:
    """Who sits keeps the seat, who comes takes the first free one; of the empty seats the last ones go."""
    seats = [run if run in runs else "" for run in before]
    for run in runs:
        if run not in seats:
            if "" in seats:
                seats[seats.index("")] = run
            else:
                seats.append(run)
    seats += [""] * (len(runs) + idle - len(seats))
    while len(seats) > len(runs) + idle:
        del seats[len(seats) - 1 - seats[::-1].index("")]
    return seats


def _build_slot(number: int, run: RunRecord, loop: ActiveTask | None, title: str) -> WorkerSlot:
    if loop is None:
        return WorkerSlot(
            number=number,
            run=run.id,
            role=run.kind,
            task=run.task,
            agent=run.agent,
            iteration=run.iteration,
            max_iterations=run.limit,
            started_at=run.started_at,
            title=title,
        )
    return WorkerSlot(
        number=number,
        run=run.id,
        role=loop.stage,
        task=loop.task,
        agent=run.agent,
        iteration=loop.iteration,
        max_iterations=loop.max_iterations,
        started_at=loop.started_at,
        elapsed=run.elapsed,
        changed_at=run.changed_at,
        cost_usd=run.cost_usd,
    )


def _sum_spent(on_tasks: float | None, living: Sequence[RunRecord]) -> float | None:
    """What tasks cost so far, and what runs without one cost now."""
    others = [run.cost_usd for run in living if run.kind != "execute"]
    known = [usd for usd in (on_tasks, *others) if usd is not None]
    return sum(known) if known else None
