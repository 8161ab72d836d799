"""Use case: watch the board. A look at one that has not changed costs next to nothing."""

import os
import sqlite3
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from ralph.app.board import active as task_loops
from ralph.app.board.tasks import Shown, shown
from ralph.app.board.view import Found, View, view
from ralph.app.paths import Places, branch_of
from ralph.app.runs.recovery import lives
from ralph.config.schema import Settings
from ralph.model.board import NoSuchTask
from ralph.stores import sqlite
from ralph.stores.runs import RunRecord, Runs
from ralph.stores.tasks import Tasks

REST = 9  # a look at ten thousand tasks is followed by a pause so many times as long


class _Asked(Struct):
    """Of a request, what slots need."""

    jobs: int = 1


class _Kept(Struct):
    """The same as a run keeps it: by itself, or with what the run goes on by."""

    request: _Asked | None = None
    jobs: int = 1


class Lookout:
    """Reads, and never writes. It belongs to one thread."""

    def __init__(self, places: Places, spec: str = "") -> None:
        self._places = places
        self._spec = spec
        self._database: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._version = -1
        self._next = 0.0  # on the monotonic clock
        self._found = Found()
        self._basis = ("", self._found, frozenset[str]())
        self._view = View()

    def look(self) -> View:
        """The very same view, unless something changed. A database that is busy is asked again the next time."""
        try:
            self._catch_up()
        except sqlite3.DatabaseError as error:
            if not sqlite.is_busy(error):
                with sqlite.explained(self._places.database):
                    raise
        alive = frozenset(run.id for run in self._found.runs if lives(run))  # a killed one says no word of its end
        basis = (self._place(), self._found, alive)
        if any(new is not old and new != old for new, old in zip(basis, self._basis, strict=True)):
            self._basis, self._view = basis, view(*basis, self._view.slots)
        return self._view

    def task(self, id_: str, settings: Settings) -> Shown:
        """All there is to tell about one."""
        with sqlite.explained(self._places.database):
            if self._database is None:
                raise NoSuchTask(f"no task {id_!r}: there are none here", "make one with `ralph task create`")
            return shown(Tasks(self._database), id_, settings)

    def close(self) -> None:
        """No more."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _place(self) -> str:
        branch = branch_of(self._places)
        return os.path.basename(self._places.root) + (f":{branch}" if branch else "")

    def _catch_up(self) -> None:
        if self._exchanged():
            self.close()
            self._found, self._version, self._next = Found(), -1, 0.0
            self._database = sqlite.opened_to_watch(self._places.database)
        if self._database is None or time.monotonic() < self._next:
            return
        version = self._database.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            began = time.monotonic()
            self._found = _found(self._database, self._spec)
            self._version = version
            self._next = began + (time.monotonic() - began) * (1 + REST)

    def _exchanged(self) -> bool:
        """Whether the file is another one than before, or was not there, or is not there any more."""
        try:
            found = os.stat(self._places.database)
            file = (found.st_dev, found.st_ino)
        except OSError:
            file = None
        changed = file != self._file or (file is not None and self._database is None)
        self._file = file
        return changed


def _found(database: sqlite3.Connection, spec: str) -> Found:
    tasks, runs = Tasks(database), Runs(database)
    database.execute("BEGIN")  # one state of the whole, whatever is written meanwhile
    try:
        cards = [card for card in tasks.board() if not spec or card.spec_id == spec]
        loops = [task_loops.loop_of(tasks.get(card.id), alive=True) for card in cards if card.worker]
        active = runs.unfinished()
        began = {run.pid: runs.began(run) for run in active}
        spent = tasks.history.spent_in_all()
        return Found(cards, tasks.remarks(), loops, active, _jobs(runs, active), spent, began)
    finally:
        database.execute("COMMIT")


def _jobs(runs: Runs, active: Sequence[RunRecord]) -> Mapping[int, int]:
    """How many tasks each `ralph execute` works on at once."""
    return {run.pid: _asked_for(runs.request(run.id)) for run in active if run.kind == "execute"}


def _asked_for(request: bytes) -> int:
    try:
        kept = msgspec.json.decode(request, type=_Kept)
    except msgspec.MsgspecError:
        return 1
    return (kept.request or kept).jobs
