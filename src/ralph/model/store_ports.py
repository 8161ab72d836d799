"""What ralph remembers, as Protocols. A database is a folder of `stores/` that keeps them; one kit tests every one.

For all of them: when a call that changes something returns, the change is durable and others see it, whole. When it
raises, nothing has changed. What the database itself gets wrong is raised as a `RalphError` inside the block of whoever
opened it.
"""

from __future__ import annotations  # `ralph run` knows no tasks: what they are made of is not loaded for it

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from ralph.model.ports import JournalRow, JournalStore

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from ralph.model.board import Change, Entry, Spec, Spending, TaskCard, TaskTotals
    from ralph.model.control import OpenQuestion, PauseRecord, PersonNote, StoredNote, Subject
    from ralph.model.runs import CostlyTransition, NewRun, RunOwner, RunRecord
    from ralph.model.spec import Role, Task, VerificationAttempt
    from ralph.model.supervised import AttemptRecord, ChildRun


class RunStore(JournalStore, Protocol):
    """All runs of one repository: records, journals, and notes for whoever runs them."""

    def begin(self, run: NewRun) -> None:
        """Put a new run on record, before anything of it starts. It is this process's own from then on."""
        ...

    def take_over(self, run: str, owner: RunOwner) -> None:
        """A run goes on in this process: it has no end any more, and wishes about its last life are void."""
        ...

    def move_folders(self, before: str, now: str) -> None:
        """All records that speak of a folder that was moved, or of one below it, speak of where it is now."""
        ...

    def beat(self, run: str, at: float) -> None:
        """A sign of life, for who cannot see its process. One that cannot be written costs nothing."""
        ...

    def append_missing(self, row: JournalRow) -> bool:
        """The next transition of a run that is dead; False where somebody else has been first."""
        ...

    def end(self, run: str, at: float, outcome: str, why: str) -> None: ...

    def list_transitions(self, run: str, after: int = 0) -> list[tuple[bytes, bytes]]:
        """(seen, decision) in the order they were appended, without the first `after`."""
        ...

    def list_costly_transitions(self, since: float) -> list[CostlyTransition]:
        """Those of all runs that were written at `since` or later and may tell a cost; the oldest first."""
        ...

    def list_unpriced_reports(self, run: str) -> list[bytes]:
        """What was seen of its agents that told no cost, in order."""
        ...

    def read_request(self, run: str) -> bytes:
        """The bytes it began with."""
        ...

    def find_record(self, run: str) -> RunRecord | None:
        """One run, by its id or an unambiguous beginning of it."""
        ...

    def find_last_of_task(self, kind: str, task: str, since: float) -> str | None:
        """The id of a task's newest run of that kind that started at `since` or later."""
        ...

    def list_latest(self, count: int, besides: str = "") -> list[RunRecord]:
        """The newest first, without those of the kind `besides`."""
        ...

    def list_unfinished(self) -> list[RunRecord]:
        """Those without an end, running or cut off; the newest first."""
        ...

    def find_process_start(self, run: RunRecord) -> float:
        """When its process started its first run: `ralph execute` has one for each task."""
        ...

    def list_unswept(self) -> list[RunRecord]:
        """Those that may have left processes behind: without an end, or lost and not swept since."""
        ...

    def mark_swept(self, run: str) -> None: ...

    def delete(self, run: str) -> None:
        """Its record and its journal, for good; one that has no end stays."""
        ...

    def add_wish(self, run: str, kind: str, at: float) -> None:
        """Leave a note for the process that runs it; the same one twice is harmless."""
        ...

    def has_wish(self, run: str, kind: str) -> bool:
        """Whether such a note is there, of any process. Asking is cheap."""
        ...


class ControlStore(Protocol):
    """What people want of runs and tasks. It outlives the processes that run them."""

    def pause(self, pause: PauseRecord) -> None:
        """In the place of an earlier one of the same."""
        ...

    def lift(self, subject: Subject) -> bool:
        """Whether it was paused."""
        ...

    def find_pause(self, subject: Subject) -> PauseRecord | None:
        """Asking is cheap."""
        ...

    def list_pauses(self) -> list[PauseRecord]:
        """The oldest first."""
        ...

    def add_note(self, subject: Subject, text: str, *, by: str, at: float) -> PersonNote: ...

    def list_unheard(self, subject: Subject) -> list[PersonNote]:
        """In the order they were written; `JournalStore.append` marks them heard. Asking is cheap."""
        ...

    def list_notes(self, subject: Subject) -> list[StoredNote]:
        """All, in the order they were written."""
        ...

    def list_questions(self) -> list[OpenQuestion]:
        """Those nobody has answered, the oldest first. `JournalStore.append_last` adds them; another run of the same
        work makes them void."""
        ...

    def answer(self, question: OpenQuestion, text: str, *, by: str, at: float) -> PersonNote | None:
        """The question is answered, and the answer a note that nobody has heard; None where that is no open question
        any more."""
        ...

    def wish_execute_end(self, kind: str, at: float) -> None:
        """For the `ralph execute` of this repository; the same one twice is harmless."""
        ...

    def list_execute_wishes(self) -> frozenset[str]: ...

    def clear_execute_wishes(self) -> None: ...


class SpecStore(Protocol):
    """All specs of one repository."""

    def list_all(self) -> list[tuple[Spec, int]]:
        """In the order of their making, each with the number of its tasks."""
        ...

    def get(self, id_: str) -> Spec:
        """NoSuchSpec without one."""
        ...

    def add_new(self, spec: Spec) -> None:
        """InvalidInput where the name is taken."""
        ...

    def edit(self, id_: str, title: str | None = None, text: str | None = None) -> None:
        """None for what stays; NoSuchSpec without one."""
        ...


class TaskHistory(Protocol):
    """What was tried, logged and spent on tasks. Added to by `TaskStore.apply` and never changed, but for an
    iteration's record: what is said of it once its promise was looked at takes the place of what was said before."""

    def list_attempts(self, task: str, agent: str | None = None, last: int | None = None) -> list[VerificationAttempt]:
        """Every look at a promise, oldest first; of one agent, or only the `last` so many."""
        ...

    def list_iterations(self, task: str) -> list[dict[str, object]]:
        """A record per iteration, oldest first."""
        ...

    def sum_for_task(self, task: str) -> Spending:
        """On one task, all runs together."""
        ...

    def sum_for_run(self, run: str) -> Spending:
        """By one run, all its tasks together."""
        ...

    def sum_all_costs(self) -> float | None:
        """By all runs on all tasks; None: nobody said."""
        ...

    def list_totals(self) -> dict[str, TaskTotals]:
        """Of every task that was worked on. Asking for all of them is cheap."""
        ...

    def list_iterations_to_pass(self, agent: str, last: int = 100) -> list[int]:
        """How many iterations it took until a promise of that agent was verified: the newest `last`, newest first."""
        ...


class TaskStore(Protocol):
    """All tasks of one repository. What may happen to a task is `core.tasks.task_rules`, not the store's to say."""

    @property
    def specs(self) -> SpecStore: ...

    @property
    def history(self) -> TaskHistory: ...

    def list_cards(self) -> list[TaskCard]:
        """Every task, the most urgent first, then the oldest."""
        ...

    def list_reasons(self) -> dict[str, str]:
        """Of each task that is blocked, or open again after a failure: the reason."""
        ...

    def get(self, id_: str) -> Entry:
        """NoSuchTask without one; CorruptState where its record cannot be read."""
        ...

    def add_new(self, tasks: Sequence[Task], specs: Iterable[Spec] = ()) -> None:
        """All of them or none: names that are taken, unknown specs, unknown dependencies and cycles are InvalidInput.
        Specs that are there already stay as they are."""
        ...

    def claim(
        self,
        worker: str,
        among: Collection[str] | None = None,
        besides: Collection[str] = (),
        stage: Callable[[Task], Role | None] = ...,
    ) -> Entry | None:
        """Take the most urgent task that waits for nothing; None without one. Never one that another has, of whatever
        process, nor one that is paused. `worker` is the id of a run, `stage` says where it is to begin; wishes about
        the task are void."""
        ...

    def apply(self, changes: Sequence[Change], key: str, worker: str = "") -> bool:
        """All of them or none, in order; a repeat with the same key does nothing (False).

        With a worker: only while the tasks are in its hands, else IllegalMove.
        """
        ...

    def delete(self, id_: str) -> None:
        """With all its history; not one that others need (InvalidInput), or that someone works on (IllegalMove)."""
        ...

    def add_wish(self, task: str, kind: str) -> None:
        """Leave a note for the run that works on it; the same one twice is harmless."""
        ...

    def has_wish(self, task: str, kind: str) -> bool:
        """Whether such a note is there; claiming the task removes it."""
        ...

    def list_wished(self, kind: str) -> frozenset[str]:
        """The tasks with such a note."""
        ...


class AttemptStore(Protocol):
    """Agent runs of supervised tasks, and runs that agents started."""

    def save(self, attempt: AttemptRecord) -> None:
        """A new one, or in the place of the one with its id."""
        ...

    def list_for_run(self, run: str) -> list[AttemptRecord]:
        """In the order of their numbers."""
        ...

    def add_child(self, child: ChildRun) -> None:
        """A run says whose child it is."""
        ...

    def list_children(self, parent: str) -> list[ChildRun]:
        """All that were ever started by a run's agents."""
        ...


class StateFile(Protocol):
    """The very state a store was opened on. What was deleted can often still be written to, and nobody will read it."""

    @property
    def is_gone(self) -> bool:
        """Whether it was deleted or replaced since. Any thread may ask."""
        ...


class Stores(Protocol):
    """One connection to all of it. It belongs to the thread that opened it, unless it was opened to be shared."""

    @property
    def runs(self) -> RunStore: ...

    @property
    def tasks(self) -> TaskStore: ...

    @property
    def attempts(self) -> AttemptStore: ...

    @property
    def control(self) -> ControlStore: ...

    @property
    def file(self) -> StateFile: ...

    def read_consistently(self) -> AbstractContextManager[None]:
        """All that is read in the block is of one moment, whatever others write meanwhile; they need not wait."""
        ...

    def close(self) -> None: ...


class Changes(Protocol):
    """Has anything changed since? For those who watch: it creates nothing, writes nothing and hardly waits. It belongs
    to one thread."""

    def find_stores(self) -> Stores | None:
        """What there is to read now; None while there is nothing. Another object once it was deleted or made anew."""
        ...

    def read_version(self) -> int:
        """Of the stores found last: another number as soon as anyone has changed anything, else the same. Cheap."""
        ...

    def close(self) -> None: ...
