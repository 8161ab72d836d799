"""Use case: the latest runs and what each is about, here or in every repository of this machine."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.board.run_lists import TitledRun
from ralph.app.board.run_titles import describe_request
from ralph.app.paths import Paths
from ralph.app.runs.status import list_recent_runs
from ralph.app.stores import open_existing_stores
from ralph.model.errors import RalphError
from ralph.model.runs import RunRecord
from ralph.model.store_ports import Stores

if TYPE_CHECKING:
    from ralph.app.runs.receipt import Receipt


class RepositoryRuns(Struct, frozen=True, kw_only=True):
    """The latest runs of one repository; else why they cannot be read."""

    root: str
    runs: Sequence[TitledRun] = ()
    problem: str = ""


def list_latest_titled(paths: Paths, count: int) -> list[TitledRun]:
    """The newest first."""
    records = list_recent_runs(paths, count)
    if not records:
        return []
    with open_existing_stores(paths) as stores:
        if stores is None:
            return [TitledRun(record=record, title="") for record in records]
        return [_title_run(stores, record) for record in records]


def _title_run(stores: Stores, record: RunRecord) -> TitledRun:
    estimated, unpriced = _sum_estimates(stores, record)
    return TitledRun(record=record, title=describe_run(stores, record), estimated_usd=estimated, unpriced=unpriced)


def _sum_estimates(stores: Stores, record: RunRecord) -> tuple[float, int]:
    """What agents that told no cost are thought to have cost, and of how many runs nobody knows it."""
    if not (rows := stores.runs.list_unpriced_reports(record.id)):
        return 0.0, 0
    from ralph.app.runs.journal_reader import sum_estimates

    return sum_estimates(rows)


def load_titled_receipt(paths: Paths, name: str, variables: Mapping[str, str], now: float) -> "Receipt":
    """The receipt of a run, with what it was about."""
    from ralph.app.runs.receipt import build_receipt

    receipt = build_receipt(paths, name, variables, now)
    with open_existing_stores(paths) as stores:
        record = stores.runs.find_record(receipt.id) if stores else None
        return replace(receipt, title=describe_run(stores, record)) if stores and record else receipt


def list_runs_everywhere(variables: Mapping[str, str], here: Paths, count: int) -> list[RepositoryRuns]:
    """Of every repository ralph ran in, that with the newest run first; those without a run are left out."""
    from ralph.app.repositories import list_repositories

    places = {paths.state: paths for paths in (*list_repositories(variables), here)}
    found = [_list_repository_runs(paths, count) for paths in places.values()]
    shown = [each for each in found if each.runs or each.problem]
    return sorted(shown, key=lambda each: max((run.record.started_at for run in each.runs), default=0.0), reverse=True)


def describe_run(stores: Stores, record: RunRecord) -> str:
    """The first line of its prompt, the title of its task, or the folder of its stories."""
    try:
        if record.kind == "execute" and record.task:
            return stores.tasks.get(record.task).task.title
    except RalphError:
        return ""  # it was deleted
    title = describe_request(record.kind, stores.runs.read_request(record.id), record.task)
    return "" if title == record.task else title


def _list_repository_runs(paths: Paths, count: int) -> RepositoryRuns:
    try:
        return RepositoryRuns(root=paths.root, runs=list_latest_titled(paths, count))
    except RalphError as error:
        return RepositoryRuns(root=paths.root, problem=error.message)
