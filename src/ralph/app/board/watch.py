"""Use case: watch the board. A look at one that has not changed costs next to nothing."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from ralph.app.board import active as task_loops
from ralph.app.board.run_cards import TASK_KIND, RunCardReader, list_shown_runs
from ralph.app.board.tasks import TaskDetails, collect_task_details
from ralph.app.board.view import BoardState, BoardView, CardFacts, build_view
from ralph.app.paths import Paths, read_branch
from ralph.app.runs.forecast import describe_run_forecast
from ralph.app.runs.recovery import is_run_alive
from ralph.app.stores import friendly_errors, watch_changes
from ralph.config.schema import Settings
from ralph.core.text.check_output import summarize_output
from ralph.model.board import NoSuchTask, TaskCard
from ralph.model.errors import StateBusy
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore, Stores, TaskStore

MAX_RUN_CARDS = 30
READ_PAUSE_FACTOR = 9  # a look at ten thousand tasks is followed by a pause so many times as long


class _RequestedJobs(Struct):
    """Of a request, what slots need."""

    jobs: int = 1


class _StoredRequest(Struct):
    """The same as a run keeps it: by itself, or with what the run goes on by."""

    request: _RequestedJobs | None = None
    jobs: int = 1


class BoardReader:
    """Reads, and never writes. It belongs to one thread."""

    def __init__(self, places: Paths, spec: str = "") -> None:
        self._paths = places
        self._spec = spec
        self._changes = watch_changes(places)
        self._stores: Stores | None = None
        self._version = -1
        self._next_read_at = 0.0  # on the monotonic clock
        self._state = BoardState()
        self._run_cards = RunCardReader()
        self._view_inputs = ("", self._state, frozenset[str]())
        self._view = BoardView()

    def read_view(self) -> BoardView:
        """The very same view, unless something changed. A database that is busy is asked again the next time."""
        with suppress(StateBusy), friendly_errors(self._paths):
            self._refresh()
        alive = frozenset(
            run.id for run in self._state.runs if is_run_alive(run)
        )  # a killed one says no word of its end
        basis = (self._describe_place(), self._state, alive)
        if any(new is not old and new != old for new, old in zip(basis, self._view_inputs, strict=True)):
            self._view_inputs, self._view = basis, build_view(*basis, self._view.slots)
        return self._view

    def load_task(self, id_: str, settings: Settings) -> TaskDetails:
        """All there is to tell about one."""
        with friendly_errors(self._paths):
            if self._stores is None:
                raise NoSuchTask(f"no task {id_!r}: there are none here", "create one with `ralph task create`")
            return collect_task_details(self._stores.tasks, id_, settings, self._paths)

    def find_last_run(self, task: str) -> str:
        """The newest run that worked on it; empty without one."""
        with friendly_errors(self._paths):
            if self._stores is None:
                return ""
            since = self._stores.tasks.get(task).task.created_at
            return self._stores.runs.find_last_of_task(TASK_KIND, task, since) or ""

    def list_latest_runs(self, count: int) -> Sequence[RunRecord]:
        """Of all loops, the newest first; as of the last look at the database."""
        with friendly_errors(self._paths):
            return () if self._stores is None else self._stores.runs.list_latest(count)

    def close(self) -> None:
        self._changes.close()
        self._stores = None

    def _describe_place(self) -> str:
        branch = read_branch(self._paths)
        return os.path.basename(self._paths.root) + (f":{branch}" if branch else "")

    def _refresh(self) -> None:
        before, self._stores = self._stores, None  # where this fails, what was open before is closed
        stores = self._stores = self._changes.find_stores()
        if stores is None or stores is not before:  # after an error there was none before
            self._state, self._version, self._next_read_at = BoardState(), -1, 0.0
        if stores is None or time.monotonic() < self._next_read_at:
            return
        version = self._changes.read_version()
        if version != self._version:
            began = time.monotonic()
            self._state = _read_state(stores, self._spec, self._run_cards)
            self._version = version
            self._next_read_at = began + (time.monotonic() - began) * (1 + READ_PAUSE_FACTOR)


def _read_state(stores: Stores, spec: str, run_cards: RunCardReader) -> BoardState:
    tasks, runs = stores.tasks, stores.runs
    with stores.read_consistently():
        cards = [card for card in tasks.list_cards() if not spec or card.spec_id == spec]
        loops = [task_loops.build_active_task(tasks.get(card.id), alive=True) for card in cards if card.worker]
        active = runs.list_unfinished()
        began = {run.pid: runs.find_process_start(run) for run in active}
        spent = tasks.history.sum_all_costs()
        return BoardState(
            cards=cards,
            reasons=tasks.list_reasons(),
            active_tasks=loops,
            runs=active,
            jobs=_jobs_by_pid(runs, active),
            spent_usd=spent,
            began=began,
            facts=_read_facts(tasks, cards),
            paused={pause.subject.name: pause.by for pause in stores.control.list_pauses()},
            questions={asked.subject.name: asked.text for asked in stores.control.list_questions()},
            run_cards=() if spec else run_cards.read_cards(runs, list_shown_runs(runs, MAX_RUN_CARDS)),
            expectation=describe_run_forecast(runs, "execute") if any(card.status != "done" for card in cards) else "",
        )


def _read_facts(tasks: TaskStore, cards: Sequence[TaskCard]) -> Mapping[str, CardFacts]:
    """What failed is asked for only where someone is at it or it is reopened: these are few."""
    totals, reasons = tasks.history.list_totals(), tasks.list_reasons()
    return {
        card.id: CardFacts(
            cost_usd=total.cost_usd,
            seconds=total.seconds,
            iterations=total.iterations,
            failure=_find_failure(tasks, card.id) if card.worker or card.id in reasons else "",
        )
        for card in cards
        if (total := totals.get(card.id)) is not None
    }


def _find_failure(tasks: TaskStore, task: str) -> str:
    for last in tasks.history.list_attempts(task, last=1):
        if not last.verified and last.promise_found:
            return summarize_output(last.detail) or last.reason
    return ""


def _jobs_by_pid(runs: RunStore, active: Sequence[RunRecord]) -> Mapping[int, int]:
    """How many tasks each `ralph execute` works on at once."""
    return {run.pid: _read_jobs(runs.read_request(run.id)) for run in active if run.kind == "execute"}


def _read_jobs(request: bytes) -> int:
    try:
        kept = msgspec.json.decode(request, type=_StoredRequest)
    except msgspec.MsgspecError:
        return 1
    return (kept.request or kept).jobs
