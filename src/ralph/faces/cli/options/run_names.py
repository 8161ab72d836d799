"""Names of runs, as a shell offers them."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ralph.model.runs import RunRecord

MAX_OFFERED_RUNS = 20


def complete_any_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The latest, the newest first."""
    return _complete_runs(incomplete, lambda run: True)


def complete_active_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete_runs(incomplete, lambda run: run.ended_at is None)


def complete_resumable_run(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Those of `ralph run` that have ended."""
    return _complete_runs(incomplete, lambda run: run.kind == "run" and run.ended_at is not None)


def _complete_runs(incomplete: str, fits: "Callable[[RunRecord], bool]") -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from ralph.app import paths as places
    from ralph.app.runs import status
    from ralph.model.errors import RalphError

    try:
        runs = status.list_recent_runs(places.find_paths(os.getcwd()), MAX_OFFERED_RUNS)
    except RalphError:
        return []  # a word about it would land in the middle of the user's line
    return [
        CompletionItem(run.id, help=" · ".join(filter(None, (run.kind, run.task, run.outcome or "running"))))
        for run in runs
        if run.id.startswith(incomplete) and fits(run)
    ]
