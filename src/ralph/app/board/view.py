"""The board as people look at it: tasks in lanes, workers in slots. Pure: what was found goes in, a view comes out."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from ralph.app.board.active import Loop
from ralph.core.tasks.graph import blocked
from ralph.model.board import Card
from ralph.model.spec import ROLES, Status
from ralph.stores.runs import RunRecord

TODO, DONE = "todo", "done"
LANES = (TODO, *ROLES, DONE)


class Slot(Struct, frozen=True):
    """A worker's place: what it works on, or nothing."""

    number: int  # 1 for the first
    run: str = ""  # empty: idle
    role: str = ""  # the stage of a task, else the kind of loop
    task: str = ""
    agent: str = ""
    iteration: int = 0
    max_iterations: int = 0
    started_at: float = 0.0  # unix time

    @property
    def name(self) -> str:
        """By what people know it: its task, or its run."""
        return self.task or self.run

    @property
    def is_of_task(self) -> bool:
        """Whether a task of the board is worked on, stage by stage."""
        return self.role in ROLES


class Found(Struct, frozen=True):
    """What the database says at one time."""

    cards: Sequence[Card] = ()
    remarks: Mapping[str, str] = {}  # why a task is blocked, or how it failed
    loops: Sequence[Loop] = ()
    runs: Sequence[RunRecord] = ()  # those without an end
    jobs: Mapping[int, int] = {}  # how many tasks at once, by the pid that works on them
    spent_usd: float | None = None
    began: Mapping[int, float] = {}  # when the process of that pid started its first run


class View(Struct, frozen=True):
    """The board at one look."""

    place: str = ""  # repository:branch
    cards: Sequence[Card] = ()
    counts: Mapping[str, int] = {}  # by status
    waits: Mapping[str, Sequence[str]] = {}  # what a task has to wait for
    remarks: Mapping[str, str] = {}
    cut_off: frozenset[str] = frozenset()  # tasks in progress whose run is gone
    slots: Sequence[Slot] = ()
    spent_usd: float | None = None
    since: float | None = None  # when the oldest of what works began

    @property
    def running(self) -> Sequence[Slot]:
        """Those at work."""
        return [slot for slot in self.slots if slot.run]

    def count(self, status: Status) -> int:
        """How many tasks are so."""
        return self.counts.get(status, 0)


def view(place: str, found: Found, alive: Collection[str], before: Sequence[Slot] = ()) -> View:
    """What is shown, given which runs live. A worker keeps the place it had before."""
    done = {card.id for card in found.cards if card.status == "done"}
    living = sorted((run for run in found.runs if run.id in alive), key=lambda run: (run.started_at, run.id))
    return View(
        place,
        found.cards,
        Counter(card.status for card in found.cards),
        blocked({card.id: card.needs for card in found.cards if card.status == "todo"}, done),
        found.remarks,
        frozenset(loop.task for loop in found.loops if loop.worker not in alive),
        _slots(found, living, before),
        _spent(found.spent_usd, living),
        min((found.began.get(run.pid, run.started_at) for run in living), default=None),
    )


def lanes(cards: Iterable[Card], wanted: str = "", cancelled: bool = False) -> dict[str, list[Card]]:
    """The cards of every lane, the most urgent first; only what has the wanted words, the cancelled if asked for."""
    found: dict[str, list[Card]] = {lane: [] for lane in LANES}
    words = wanted.casefold().split()
    for card in cards:
        if (cancelled or card.status != "cancelled") and (not words or _names(card, words)):
            found[lane_of(card)].append(card)
    return found


def lane_of(card: Card) -> str:
    """Whose turn it is; what nobody works on waits in the first lane, whatever for."""
    if card.status == "in_progress":
        return card.stage or ROLES[0]
    return DONE if card.status == "done" else TODO


def _names(card: Card, words: Sequence[str]) -> bool:
    text = f"{card.id} {card.title} {card.spec_id}".casefold()
    return all(word in text for word in words)


def _slots(found: Found, living: Sequence[RunRecord], before: Sequence[Slot]) -> tuple[Slot, ...]:
    loops = {loop.worker: loop for loop in found.loops}
    runs = {run.id: run for run in living}
    idle = sum(found.jobs.get(pid, 0) for pid in {run.pid for run in living}) - sum(
        run.pid in found.jobs for run in living
    )
    seats = _seated([slot.run for slot in before], list(runs), max(0, idle))
    return tuple(
        _slot(number, runs[seat], loops.get(seat)) if seat else Slot(number) for number, seat in enumerate(seats, 1)
    )


def _seated(before: Sequence[str], runs: Sequence[str], idle: int) -> list[str]:
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


def _slot(number: int, run: RunRecord, loop: Loop | None) -> Slot:
    if loop is None:
        return Slot(number, run.id, run.kind, run.task, run.agent, run.iteration, run.limit, run.started_at)
    return Slot(
        *(number, run.id, loop.stage, loop.task, run.agent),
        *(loop.iteration, loop.max_iterations, loop.started_at),
    )


def _spent(on_tasks: float | None, living: Sequence[RunRecord]) -> float | None:
    """What tasks cost so far, and what runs without one cost now."""
    others = [run.cost_usd for run in living if run.kind != "execute"]
    told = [usd for usd in (on_tasks, *others) if usd is not None]
    return sum(told) if told else None
