"""Use cases: runs in a list, each with what it is about; and what one was started with."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from ralph.app.board.run_titles import describe_request
from ralph.app.paths import Paths
from ralph.app.runs.recovery import mark_lost_runs
from ralph.app.stores import open_existing_stores
from ralph.model.runs import RunRecord

MAX_LISTED_RUNS = 200
MAX_SEEN_RUNS = 20_000  # the newest, among which those that are wanted are looked for
MAX_SHOWN_PROMPT_CHARS = 20_000


class RunFilter(Struct, frozen=True, kw_only=True):
    """Which runs are wanted; what is not given does not matter."""

    limit: int = 50
    before: float | None = None  # started earlier than that
    kind: str = ""
    task: str = ""
    active: bool | None = None


class TitledRun(Struct, frozen=True, kw_only=True):
    """A run, and what it is about."""

    record: RunRecord
    title: str
    estimated_usd: float = 0.0  # of agents that told no cost, where somebody looked
    unpriced: int = 0  # agent runs of which nobody knows the cost, likewise


class RunStart(Struct, kw_only=True):
    """What a run was started with, as far as people ask for it."""

    prompt: str | None = None
    prompt_file: str | None = None
    tasks: Sequence[str] = ()
    jobs: int = 0
    target: str = ""


class _NestedStart(RunStart, kw_only=True):
    request: RunStart | None = None


def list_titled_runs(paths: Paths, wanted: RunFilter) -> tuple[Sequence[TitledRun], bool]:
    """The newest first, and whether there are more. One whose process is gone is marked as lost."""
    with open_existing_stores(paths) as stores:
        if stores is None:
            return (), False
        mark_lost_runs(stores)
        count = MAX_SEEN_RUNS if wanted != RunFilter(limit=wanted.limit) else wanted.limit + 1
        fitting = [record for record in stores.runs.list_latest(count) if _is_wanted(record, wanted)]
        shown = fitting[: min(wanted.limit, MAX_LISTED_RUNS)]
        titled = [
            TitledRun(
                record=record,
                title=describe_request(record.kind, stores.runs.read_request(record.id), record.task),
            )
            for record in shown
        ]
        return titled, len(fitting) > len(shown)


def load_run_start(paths: Paths, run: str) -> RunStart:
    """Empty where nobody can read it. A long prompt is cut."""
    with open_existing_stores(paths) as stores:
        request = b"" if stores is None else stores.runs.read_request(run)
    try:
        found = msgspec.json.decode(request, type=_NestedStart)
    except (msgspec.MsgspecError, RecursionError):
        return RunStart()
    start = found.request or found
    return RunStart(
        prompt=start.prompt and start.prompt[:MAX_SHOWN_PROMPT_CHARS],
        prompt_file=start.prompt_file,
        tasks=start.tasks,
        jobs=start.jobs,
        target=start.target,
    )


def _is_wanted(record: RunRecord, wanted: RunFilter) -> bool:
    return (
        (wanted.before is None or record.started_at < wanted.before)
        and wanted.kind in ("", record.kind)
        and wanted.task in ("", record.task)
        and wanted.active in (None, record.ended_at is None)
    )
