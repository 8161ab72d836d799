"""What every loop does around its kernel: lock, database, leftovers of the dead, record, parent, watchers."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app.paths import Paths
from ralph.app.runs.recovery import clean_up_lost_runs
from ralph.core.text.write_error import explain_write_error
from ralph.engine.event_log import EventLog
from ralph.engine.inbox import SignalInbox
from ralph.model.errors import Busy, MachineError
from ralph.model.ports import Watcher
from ralph.model.supervised import ChildRun
from ralph.process.identity import identify_process, identify_self
from ralph.process.lock import WorkTreeLock
from ralph.process.spawner import GuardianHandle
from ralph.process.supervisor import Supervisor
from ralph.stores import sqlite
from ralph.stores.attempts import AttemptStore
from ralph.stores.runs import RunOwner, RunStore


class Callbacks(Struct, frozen=True, kw_only=True):
    """What the caller wants to hear and to be asked."""

    watchers: Sequence[Watcher] = ()
    on_tick: Callable[[], object] = int
    on_signal: Callable[[], object] = int
    is_cancelled: Callable[[], bool] = bool  # asked often; only where many tasks are one's own


class Session(Struct, frozen=True, kw_only=True):
    """What a loop plays on."""

    runs: RunStore
    attempts: AttemptStore
    inbox: SignalInbox
    supervisor: Supervisor
    owner: RunOwner
    watchers: Sequence[Watcher]


@contextmanager
def lock_and_open(places: Paths, path: str, run: str) -> Iterator[tuple[RunStore, AttemptStore]]:
    """The database, with the place locked for this run and the leftovers of dead runs ended."""
    _refuse_non_utf8(places.folder)
    lock = WorkTreeLock(path)
    try:
        holder = lock.acquire(run)
    except OSError as error:
        raise explain_write_error(path, error) from error
    if holder:
        raise Busy(
            f"{places.root} is busy: run {holder.run or '?'} (pid {holder.identity.pid}) holds it",
            "see `ralph status`; end it with `ralph cancel`",
        )
    try:
        with sqlite.translate_errors(places.database):
            database = sqlite.open_database(places.database)
            yield clean_up_lost_runs(database), AttemptStore(database)
    finally:
        lock.release()


@contextmanager
def open_session(
    run: str,
    places: Paths,
    *,
    stores: tuple[RunStore, AttemptStore],
    guardian: GuardianHandle | None,
    wishes: Callbacks,
    variables: Mapping[str, str],
    spared: Callable[[], Iterable[int]] | None = None,
) -> Iterator[Session]:
    """Inbox, guardian and chronicle, for as long as the block lasts. A parent learns of its child."""
    runs, attempts = stores
    chronicle = _open_event_log(places, run)
    inbox = SignalInbox(lambda: runs.has_wish(run, "cancel"), wishes.on_signal)
    supervisor = Supervisor(inbox, guardian, on_tick=wishes.on_tick, spared=spared)
    try:
        keeper = identify_owner(supervisor.guardian_pid)
        _register_with_parent(run, keeper, variables)
        yield Session(
            runs=runs,
            attempts=attempts,
            inbox=inbox,
            supervisor=supervisor,
            owner=keeper,
            watchers=(chronicle, *wishes.watchers),
        )
    finally:
        chronicle.close()
        supervisor.close()
        inbox.close()


def make_run_id() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


def find_parent_run(variables: Mapping[str, str]) -> str | None:
    """The run whose agent started us."""
    return variables.get("RALPH_RUN_ID") or None


def _register_with_parent(run: str, keeper: RunOwner, variables: Mapping[str, str]) -> None:
    """In the parent's own database, so that it waits for us; one that cannot be written is not our business."""
    parent, state = find_parent_run(variables), variables.get("RALPH_STATE", "")
    path = os.path.join(state, "ralph.db")
    if parent and os.path.exists(path):
        try:
            database = sqlite.open_database(path)
            AttemptStore(database).add_child(
                ChildRun(
                    parent=parent,
                    run=run,
                    pid=keeper.pid,
                    ticks=keeper.ticks,
                    boot=keeper.boot,
                    guardian=keeper.guardian,
                )
            )
            database.close()
        except MachineError:
            pass


def _refuse_non_utf8(folder: str) -> None:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise MachineError(f"the path {folder!r} is not UTF-8", "move the folder to a path that is") from None


def _open_event_log(places: Paths, run: str) -> EventLog:
    """What cannot be written now could not be told later."""
    records = places.run_dir(run)
    try:
        os.makedirs(places.dot_ralph, exist_ok=True)
        os.makedirs(records, exist_ok=True)
        return EventLog(records)
    except OSError as error:
        raise explain_write_error(records, error) from error


def identify_owner(guardian: int) -> RunOwner:
    """Who answers for a run: this process, and the guardian of its children."""
    me, them = identify_self(), identify_process(guardian)
    return RunOwner(
        pid=me.pid, ticks=me.ticks, boot=me.boot, guardian=guardian, guardian_ticks=them.ticks if them else 0
    )
