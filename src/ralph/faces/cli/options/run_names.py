"""Names of runs, as a shell offers them."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from ralph.app.paths import find_project_paths
from ralph.app.runs.status import list_recent_runs
from ralph.model.errors import RalphError

if TYPE_CHECKING:
    from ralph.model.runs import RunRecord

MAX_OFFERED_RUNS = 20


def complete_any_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shell completion: the latest runs, newest first."""
    return _complete_runs(incomplete, lambda run: True)


def complete_active_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shell completion: runs that have not ended."""
    return _complete_runs(incomplete, lambda run: run.ended_at is None)


def complete_resumable_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Shell completion: ended runs of `ralph run`, which --resume takes."""
    return _complete_runs(incomplete, lambda run: run.kind == "run" and run.ended_at is not None)


def _complete_runs(incomplete: str, fits: "Callable[[RunRecord], bool]") -> list[CompletionItem]:
    try:
        runs = list_recent_runs(find_project_paths(os.getcwd()), MAX_OFFERED_RUNS)
    except RalphError:
        return []  # a word about it would land in the middle of the user's line
    return [
        CompletionItem(run.id, help=" · ".join(filter(None, (run.kind, run.task, run.outcome or "running"))))
        for run in runs
        if run.id.startswith(incomplete) and fits(run)
    ]
