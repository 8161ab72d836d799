"""What every loop does around its kernel: lock, database, leftovers of the dead, record, parent, watchers."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ralph.app.paths import Places
from ralph.app.runs.recovery import swept
from ralph.core.text.write_error import unwritable
from ralph.engine.event_log import Chronicle
from ralph.engine.inbox import SignalInbox
from ralph.model.errors import Busy, MachineError
from ralph.model.ports import Watcher
from ralph.model.supervised import Child
from ralph.process.identity import of_process, own
from ralph.process.lock import Lock
from ralph.process.spawner import Handle
from ralph.process.supervisor import Supervisor
from ralph.stores import sqlite
from ralph.stores.attempts import Attempts
from ralph.stores.runs import Keeper, Runs


class Wishes(Struct, frozen=True):
    """What the caller wants to hear and to be asked."""

    watchers: Sequence[Watcher] = ()
    on_tick: Callable[[], object] = int
    on_signal: Callable[[], object] = int
    cancelled: Callable[[], bool] = bool  # asked often; only where many tasks are one's own


class Stage(Struct, frozen=True):
    """What a loop plays on."""

    runs: Runs
    attempts: Attempts
    inbox: SignalInbox
    supervisor: Supervisor
    keeper: Keeper
    watchers: Sequence[Watcher]


@contextmanager
def locked(places: Places, path: str, run: str) -> Iterator[tuple[Runs, Attempts]]:
    """The database, with the place locked for this run and the leftovers of dead runs ended."""
    _refuse_odd(places.folder)
    lock = Lock(path)
    try:
        holder = lock.acquire(run)
    except OSError as error:
        raise unwritable(path, error) from error
    if holder:
        raise Busy(
            f"{places.root} is busy: run {holder.run or '?'} (pid {holder.identity.pid}) holds it",
            "see `ralph status`; end it with `ralph cancel`",
        )
    try:
        with sqlite.explained(places.database):
            database = sqlite.opened(places.database)
            yield swept(database), Attempts(database)
    finally:
        lock.release()


@contextmanager
def staged(
    run: str,
    places: Places,
    stores: tuple[Runs, Attempts],
    guardian: Handle | None,
    wishes: Wishes,
    variables: Mapping[str, str],
    spared: Callable[[], Iterable[int]] | None = None,
) -> Iterator[Stage]:
    """Inbox, guardian and chronicle, for as long as the block lasts. A parent learns of its child."""
    runs, attempts = stores
    chronicle = _begun(places, run)
    inbox = SignalInbox(lambda: runs.wished(run, "cancel"), wishes.on_signal)
    supervisor = Supervisor(inbox, guardian, wishes.on_tick, spared)
    try:
        keeper = keeper_of(supervisor.guardian_pid)
        _tell_parent(run, keeper, variables)
        yield Stage(runs, attempts, inbox, supervisor, keeper, (chronicle, *wishes.watchers))
    finally:
        chronicle.close()
        supervisor.close()
        inbox.close()


def new_id() -> str:
    """Sorts by time."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(2).hex()}"


def parent_of(variables: Mapping[str, str]) -> str | None:
    """The run whose agent started us."""
    return variables.get("RALPH_RUN_ID") or None


def _tell_parent(run: str, keeper: Keeper, variables: Mapping[str, str]) -> None:
    """In the parent's own database, so that it waits for us; one that cannot be written is not our business."""
    parent, state = parent_of(variables), variables.get("RALPH_STATE", "")
    path = os.path.join(state, "ralph.db")
    if parent and os.path.exists(path):
        try:
            database = sqlite.opened(path)
            Attempts(database).add_child(Child(parent, run, keeper.pid, keeper.ticks, keeper.boot, keeper.guardian))
            database.close()
        except MachineError:
            pass


def _refuse_odd(folder: str) -> None:
    """The database holds text."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise MachineError(f"the path {folder!r} is not UTF-8", "move the folder to a path that is") from None


def _begun(places: Places, run: str) -> Chronicle:
    """What cannot be written now could not be told later."""
    records = places.records(run)
    try:
        os.makedirs(places.notes, exist_ok=True)
        os.makedirs(records, exist_ok=True)
        return Chronicle(records)
    except OSError as error:
        raise unwritable(records, error) from error


def keeper_of(guardian: int) -> Keeper:
    """Who answers for a run: this process, and the guardian of its children."""
    me, them = own(), of_process(guardian)
    return Keeper(me.pid, me.ticks, me.boot, guardian, them.ticks if them else 0)
