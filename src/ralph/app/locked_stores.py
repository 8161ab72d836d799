"""The stores of a place that is locked for one run, once what dead runs left there has been ended."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from ralph.app.paths import Paths
from ralph.app.relocation import settle_moved_repository
from ralph.app.runs.living_runs import list_living_runs, withdraw_announcement
from ralph.app.runs.recovery import clean_up_lost_runs
from ralph.app.sandbox.leftovers import sweep_sandboxes
from ralph.app.stores import open_stores
from ralph.core.text.write_error import explain_write_error
from ralph.model.errors import Busy, MachineError
from ralph.model.store_ports import Stores
from ralph.process.lock import WorkTreeLock


@contextmanager
def lock_and_open(paths: Paths, lock_path: str, run: str, variables: Mapping[str, str]) -> Iterator[Stores]:
    """What is remembered, with the place locked for this run and the leftovers of dead runs ended."""
    _refuse_non_utf8(paths.folder)
    lock = WorkTreeLock(lock_path)
    try:
        holder = lock.acquire(run)
    except OSError as error:
        raise explain_write_error(lock_path, error) from error
    if holder:
        raise Busy(
            f"{paths.root} is busy: run {holder.run or '?'} (pid {holder.identity.pid}) holds it",
            "see `ralph status`; stop it with `ralph cancel`",
        )
    try:
        with open_stores(paths) as stores:
            settle_moved_repository(stores, paths, variables)
            clean_up_lost_runs(stores, paths, partial(_sweep_lost_run, paths, variables))
            list_living_runs(paths, variables)  # what the dead left goes with it
            yield stores
    finally:
        lock.release()


def _sweep_lost_run(paths: Paths, variables: Mapping[str, str], run: str) -> None:
    sweep_sandboxes(paths.run_dir(run), run, variables)
    from ralph.app.runs.lost_reports import mask_lost_logs

    mask_lost_logs(paths.run_dir(run), variables)
    withdraw_announcement(run, paths, variables)


def _refuse_non_utf8(folder: str) -> None:
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise MachineError(f"the path {folder!r} is not UTF-8", "move the folder to a path that is") from None
