"""Names of tasks, specs, agents and signals, as a shell offers them. What they are read with is loaded only then: every
loop has such options."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from ralph.app.paths import find_project_paths
from ralph.core.text.plain import one_line
from ralph.model.errors import RalphError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ralph.model.board import TaskCard

MAX_HELP_CELLS = 50
MAX_OFFERED_TASKS = 200
SIGNALS = {
    "response": "the answer ends with <response>DONE</response>",
    "promise": "the answer holds <promise>…</promise>",
    "file:": "a file of this name appears",
}


def complete_task(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Shell completion: tasks of any state."""
    return _offer_tasks(incomplete, lambda card: True)


def complete_open_task(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Shell completion: tasks that are not over."""
    return _offer_tasks(incomplete, lambda card: card.status not in ("done", "cancelled"))


def complete_running_task(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> "list[CompletionItem]":
    """Shell completion: tasks someone works on."""
    return _offer_tasks(incomplete, lambda card: card.status == "in_progress")


def complete_spec(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from ralph.app.board.specs import list_specs

    try:
        specs = list_specs(find_project_paths(os.getcwd()))
    except RalphError:
        return []  # a word about it would land in the middle of the user's line
    return offer_names(((spec.id, spec.title) for spec, _ in specs), incomplete)


def complete_agent(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from ralph.app.registry import load_agent_cards

    return offer_names(((name, card.title) for name, card in sorted(load_agent_cards().items())), incomplete)


def complete_signal(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return offer_names(SIGNALS.items(), incomplete)


def _offer_tasks(incomplete: str, fits: "Callable[[TaskCard], bool]") -> "list[CompletionItem]":
    from ralph.app.board.tasks import list_cards_with_reasons

    try:
        cards, _ = list_cards_with_reasons(find_project_paths(os.getcwd()))
    except RalphError:
        return []
    found = [card for card in cards if fits(card)]
    return offer_names(((card.id, card.title) for card in found[:MAX_OFFERED_TASKS]), incomplete)


def offer_names(names: Iterable[tuple[str, str]], incomplete: str) -> "list[CompletionItem]":
    """Those that begin with what is typed, each with a line about it."""
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(name, help=one_line(words, MAX_HELP_CELLS))
        for name, words in names
        if name.startswith(incomplete)
    ]
