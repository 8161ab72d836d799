"""Which tasks `ralph execute` works on, where each starts, and what is left of those that were asked for."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from ralph.app.pipeline.context import ExecuteRequest
from ralph.app.run_identity import make_run_id
from ralph.app.runs.recovery import is_run_alive
from ralph.core.tasks.task_rules import is_only_work_cancelled
from ralph.model import board
from ralph.model.board import Change, NoSuchTask, TaskCard
from ralph.model.spec import ROLES, Role, Task, TaskStatusName
from ralph.model.store_ports import RunStore, TaskStore

AskedTasks = Mapping[str, TaskStatusName]  # those a command is about, with the status they had when it began


class UntouchedTask(Struct, frozen=True):
    """A task that was asked for and that nobody worked on."""

    task: str
    why: str
    blocked: bool = False


def select_tasks(request: ExecuteRequest, tasks: TaskStore) -> tuple[str, ...]:
    """The named tasks, or all but those a user cancelled: these come back only by name."""
    cards = {card.id: card for card in tasks.list_cards()}
    if unknown := [name for name in request.tasks if name not in cards]:
        raise NoSuchTask(f"no task {unknown[0]!r}", "see `ralph task list`")
    given_up = {
        name
        for name, card in cards.items()
        if card.status == "cancelled" and not is_only_work_cancelled(tasks.get(name).task)
    }
    return request.tasks or tuple(name for name in cards if name not in given_up)


def choose_first_stage(request: ExecuteRequest, task: Task) -> Role | None:
    """The stage a task starts with; None: where it stopped. A subset of stages starts anew unless it is resumed."""
    roles = request.stages
    return None if roles == ROLES or (request.resume and task.stage in roles) else roles[0]


def reopen_tasks(wanted: Sequence[str], tasks: TaskStore, runs: RunStore) -> None:
    """Make tasks that were cut off or cancelled claimable again."""
    cards = {card.id: card for card in tasks.list_cards()}
    for name in wanted:
        if change := _reopening_change(cards[name], runs):
            tasks.apply([change], f"resume/{make_run_id()}/{name}")


def _reopening_change(card: TaskCard, runs: RunStore) -> Change | None:
    if card.status == "cancelled":
        return board.Reopened(card.id)
    return board.Released(card.id) if _is_orphaned(card, runs) else None


def _is_orphaned(card: TaskCard, runs: RunStore) -> bool:
    record = runs.find_record(card.worker) if card.status == "in_progress" else None
    return card.status == "in_progress" and (record is None or not is_run_alive(record))


def list_untouched(
    request: ExecuteRequest, tasks: TaskStore, claimed_ids: Collection[str], asked: AskedTasks
) -> tuple[UntouchedTask, ...]:
    """What was asked for and is not done, though nobody worked on it; also what vanished since."""
    cards = {card.id: card for card in tasks.list_cards()}
    names = dict.fromkeys((*asked, *(() if request.tasks else cards)))
    left = [name for name in names if name not in claimed_ids]
    gone = [UntouchedTask(name, "was deleted in the meantime") for name in left if name not in cards]
    found = [cards[name] for name in left if name in cards]
    given_up = [card for card in found if card.status == "cancelled" and _was_given_up(card, request, asked)]
    open_ = [card for card in found if card.status != "done" and card not in given_up]
    # Nobody else works on tasks while we do: the board was told so behind our back.
    marked = [
        UntouchedTask(card.id, f"was marked done, and nobody worked on it: `ralph task show {card.id}`")
        for card in found
        if card.status == "done" and card.id in asked
    ]
    return (*gone, *marked, *(_explain_untouched(card, cards, asked) for card in open_))


def _was_given_up(card: TaskCard, request: ExecuteRequest, asked: AskedTasks) -> bool:
    """Before we began, and nobody asked for it by name."""
    return not request.tasks and asked.get(card.id, "cancelled") == "cancelled"


def _explain_untouched(card: TaskCard, cards: Mapping[str, TaskCard], asked: AskedTasks) -> UntouchedTask:
    needs = [need for need in card.needs if need not in cards or cards[need].status != "done"]
    match card.status:
        case "blocked":
            return UntouchedTask(card.id, f"is blocked: `ralph task show {card.id}`", blocked=True)
        case "cancelled" if asked.get(card.id, "cancelled") != "cancelled":
            return UntouchedTask(card.id, f"was cancelled in the meantime: `ralph task show {card.id}`")
        case "in_progress" | "cancelled":
            return UntouchedTask(
                card.id, f"is {card.status.replace('_', ' ')}: resume with `ralph execute --resume {card.id}`"
            )
        case _ if needs:
            return UntouchedTask(card.id, f"waits for {', '.join(needs)}")
        case _:
            return UntouchedTask(card.id, "was not started")
