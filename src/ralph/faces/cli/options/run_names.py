"""Names of runs, as a shell offers them."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ralph.app.paths import find_project_paths
from ralph.app.runs.status import list_recent_runs
from ralph.faces.cli.options.known_names import offer_names
from ralph.model.errors import RalphError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ralph.model.board import TaskCard
    from ralph.model.runs import RunRecord

MAX_OFFERED_RUNS = 20


def complete_any_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Shell completion: the latest runs, newest first."""
    return _complete_runs(incomplete, lambda run: True)


def complete_active_run(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Shell completion: runs that have not ended."""
    return _complete_runs(incomplete, lambda run: run.ended_at is None)


def complete_resumable_run(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Shell completion: ended runs of `ralph run`, which --resume takes."""
    return _complete_runs(incomplete, lambda run: run.kind == "run" and run.ended_at is not None)


def complete_steerable(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Shell completion: tasks that are worked on, and runs that have not ended."""
    tasks = offer_names(((card.id, card.title) for card in _list_cards() if card.status == "in_progress"), incomplete)
    return [*tasks, *_complete_runs(incomplete, lambda run: run.ended_at is None and run.kind != "execute")]


def complete_asking(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Shell completion: runs and tasks with an open question."""
    from ralph.app.control.notes import list_questions

    try:
        questions = list_questions(find_project_paths(os.getcwd()))
    except RalphError:
        return []
    return offer_names(((question.subject.name, question.text) for question in questions), incomplete)


def _list_cards() -> "list[TaskCard]":
    from ralph.app.board.tasks import list_cards

    try:
        return list_cards(find_project_paths(os.getcwd()))
    except RalphError:
        return []


def _complete_runs(incomplete: str, fits: "Callable[[RunRecord], bool]") -> "list[CompletionItem]":
    try:
        runs = list_recent_runs(find_project_paths(os.getcwd()), MAX_OFFERED_RUNS)
    except RalphError:
        return []  # a word about it would land in the middle of the user's line
    return offer_names(((run.id, _describe_run(run)) for run in runs if fits(run)), incomplete)


def _describe_run(run: "RunRecord") -> str:
    return " · ".join(filter(None, (run.kind, run.task, run.outcome or "running")))
