"""Names of runs, as a shell offers them."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ralph.stores.runs import RunRecord

MOST = 20


def any_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The latest, the newest first."""
    return _offered(incomplete, lambda run: True)


def active_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Those that go on."""
    return _offered(incomplete, lambda run: run.ended_at is None)


def prompt_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Those of `ralph run` that have ended."""
    return _offered(incomplete, lambda run: run.kind == "run" and run.ended_at is not None)


def _offered(incomplete: str, fits: "Callable[[RunRecord], bool]") -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from ralph.app import paths as places
    from ralph.app.runs import status
    from ralph.model.errors import RalphError

    try:
        runs = status.recent(places.find(os.getcwd()), MOST)
    except RalphError:
        return []  # a word about it would land in the middle of the user's line
    return [
        CompletionItem(run.id, help=" · ".join(filter(None, (run.kind, run.task, run.outcome or "running"))))
        for run in runs
        if run.id.startswith(incomplete) and fits(run)
    ]
