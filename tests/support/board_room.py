"""A repository with real tasks in a real database, and runs that live as long as a test wants them to."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ralph.app import paths as places
from ralph.engine.event_log import EventLog
from ralph.model.board import Blocked, Cancelled, Change, IterationBegun, Spec, StageEntered, StagePassed, TaskLanded
from ralph.model.events import Event
from ralph.model.runs import NewRun, RunOwner
from ralph.model.spec import ROLES, CompletionCriteria, Role, Task, TaskCompletionSpec, VerificationMethod
from ralph.model.store_ports import RunStore, TaskStore
from ralph.process.identity import identify_process
from support.stores import connect


def make_criteria(task: str) -> TaskCompletionSpec:
    """What "done" means for it."""
    promise = CompletionCriteria(
        promise=f"{task}_BUILT",
        description="the file is there",
        verification_method=VerificationMethod.EXTERNAL,
        verification_config={"command": f"test -f {task}"},
        max_iterations=7,
    )
    return TaskCompletionSpec(f"{task} works", ["it is there", "it is tested"], coder=promise)


class BoardFixture:
    """Whatever happens to tasks happens by the rules."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "my-app"
        (self.folder / ".git").mkdir(parents=True)
        (self.folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.places = places.find_paths(str(self.folder))
        self._children: list[subprocess.Popen[bytes]] = []
        self._changes = 0

    @property
    def tasks(self) -> TaskStore:
        """With a connection of its own: whoever watches has another one."""
        return connect(self.places.database).tasks

    @property
    def runs(self) -> RunStore:
        """The same for runs."""
        return connect(self.places.database).runs

    def put(self, *titles: str, spec: str = "auth") -> None:
        """TASK-001 and so on."""
        first = len(self.tasks.list_cards()) + 1 if os.path.exists(self.places.database) else 1
        names = [f"TASK-{number:03}" for number in range(first, first + len(titles))]
        new = [
            Task(name, spec, title, completion_spec=make_criteria(name))
            for name, title in zip(names, titles, strict=True)
        ]
        self.tasks.add_new(new, [Spec(id=spec, title=spec.title())])

    def change(self, *changes: Change) -> None:
        """One after the other."""
        self._changes += 1
        self.tasks.apply(changes, f"test-{self._changes}")

    def living(self) -> int:
        """The pid of a process that does nothing."""
        child = subprocess.Popen(["sleep", "100"])
        self._children.append(child)
        return child.pid

    def begin(
        self,
        run: str,
        task: str = "",
        *,
        kind: str = "execute",
        jobs: int = 1,
        pid: int | None = None,
        prompt: str = "",
    ) -> None:
        """A run starts, and claims its task if it has one; it lives as long as the process of that pid."""
        if task and kind == "execute":
            assert self.tasks.claim(run, [task]) is not None
        identity = identify_process(os.getpid() if pid is None else pid)
        assert identity is not None
        keeper = RunOwner(
            pid=identity.pid,
            ticks=identity.ticks,
            boot=identity.boot,
            guardian=identity.pid,
            guardian_ticks=identity.ticks,
        )
        request = msgspec.json.encode({"jobs": jobs, "prompt": prompt})
        self.runs.begin(
            NewRun(
                id=run,
                kind=kind,
                folder=str(self.folder),
                agent="claude",
                request=request,
                owner=keeper,
                started_at=time.time(),
                parent=None,
                task=task,
            )
        )

    def iterate(self, task: str, number: int, *, most: int = 15, stage: Role = "coder", ago: float = 0.0) -> None:
        """Its agent starts."""
        self.change(
            IterationBegun(
                task=task,
                stage=stage,
                iteration=number,
                max_iterations=most,
                completion_promise="X",
                at=time.time() - ago,
            )
        )

    def finish(self, task: str, run: str = "done") -> None:
        """Through all stages."""
        self.begin(run, task)
        moves: list[Change] = []
        for role in ROLES:
            moves += [
                StageEntered(task, role),
                IterationBegun(task=task, stage=role, iteration=1, max_iterations=5, completion_promise="X", at=1.0),
                StagePassed(task, role),
            ]
        self.change(*moves, TaskLanded(task))
        self.runs.end(run, time.time(), "completed", "")

    def block(self, task: str, why: str) -> None:
        """Only a person can help."""
        self.change(Blocked(task, why))

    def cancel(self, task: str) -> None:
        """Nobody wants it."""
        self.change(Cancelled(task))

    def tell(self, run: str, *events: Event, at: float | None = None) -> None:
        """What its agent does."""
        os.makedirs(self.places.run_dir(run), exist_ok=True)
        event_log = EventLog(self.places.run_dir(run))
        event_log(time.time() if at is None else at, 1, events)
        event_log.close()

    def kill(self, pid: int) -> None:
        """Without a word."""
        child = next(child for child in self._children if child.pid == pid)
        child.kill()
        child.wait()

    def close(self) -> None:
        """Nobody is left."""
        for child in self._children:
            child.kill()
            child.wait()


def list_slot_names(slots: Sequence[object]) -> list[str]:
    """Who sits where; empty for nobody."""
    return [getattr(slot, "name", "") for slot in slots]
