"""`ralph task`: what is to be done, what "done" means for it, and how far it is."""

import importlib
import os
from typing import TYPE_CHECKING

import click

from ralph.faces.cli.options.amounts import CountParam
from ralph.model.spec import TASK_STATUSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.paths import Paths
    from ralph.model.board import TaskCard

DEFAULT_LIST_LIMIT = 50  # lines, unless told otherwise: nobody reads ten thousand
_CHANGE_COMMANDS = (
    "create",
    "import",
    "edit",
    "followup",
    "delete",
)  # loaded when needed: their many options take time
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class TaskGroup(click.Group):
    """The commands here, and those of `task_changes`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_CHANGE_COMMANDS, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _CHANGE_COMMANDS:
            return super().get_command(ctx, cmd_name)
        changes = importlib.import_module("ralph.faces.cli.commands.task_changes")
        found: click.Command = changes.TASK_CHANGE_COMMANDS[cmd_name]
        return found


@click.group("task", cls=TaskGroup, short_help="Make, change and look at tasks.")
def command() -> None:
    """Tasks say at creation what "done" means; `ralph execute` works them off."""


@command.command("list")
@click.option("--status", multiple=True, type=click.Choice(TASK_STATUSES), help="Only those; repeat it for more.")
@click.option("--spec", metavar="NAME", help="Only those of this spec.")
@click.option("--ready", is_flag=True, help="Only what could be started now.")
@click.option("-n", "--limit", type=CountParam(), help=f"Most lines.  [default: {DEFAULT_LIST_LIMIT}; JSON: all]")
@click.option("--all", "everything", is_flag=True, help="No limit.")
@_json_option
def list_tasks_command(
    status: tuple[str, ...], spec: str | None, ready: bool, limit: int | None, everything: bool, as_json: bool
) -> None:
    """Show tasks: those at work first, then what is ready, what waits, and what is over."""
    from ralph.app import paths as places
    from ralph.app.board import tasks
    from ralph.faces.cli.pages.task_list import TaskListing

    here = places.find_paths(os.getcwd())
    cards = tasks.list_cards(here)
    chosen = [c for c in cards if (not status or c.status in status) and (spec is None or c.spec_id == spec)]
    listing = TaskListing(cards, chosen, _find_cut_off(here, chosen))
    listing = listing.keep_ready() if ready else listing
    if as_json:
        click.echo(listing.render_json(limit))
    elif not cards:
        click.echo("No tasks here yet. Make one with `ralph task create` or `ralph task import FILE.yaml`.")
    else:
        click.echo(listing.render_text(None if everything else limit or DEFAULT_LIST_LIMIT))


def _find_cut_off(here: "Paths", cards: "Sequence[TaskCard]") -> frozenset[str]:
    if all(card.status != "in_progress" for card in cards):  # as usual, and it costs no import
        return frozenset()
    from ralph.app.board.active import find_orphaned_tasks

    return find_orphaned_tasks(here, cards)


@command.command("show")
@click.argument("task_id", metavar="ID")
@_json_option
def show_task_command(task_id: str, as_json: bool) -> None:
    """Show the task ID: its criteria, every verification attempt, what it cost."""
    from ralph.app import paths as places
    from ralph.app.board import tasks
    from ralph.config.sources import load_settings
    from ralph.faces.task_page import render_task_json, render_task_text

    here = places.find_paths(os.getcwd())
    shown = tasks.load_task_details(here, task_id, load_settings(here.folder, os.environ, {}).settings)
    click.echo(render_task_json(shown) if as_json else render_task_text(shown))


@command.command("graph")
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--dot", is_flag=True, help="Print it for Graphviz.")
@_json_option
def graph_tasks_command(task_id: str | None, dot: bool, as_json: bool) -> None:
    """Draw what waits for what; with ID, only what has to do with it."""
    from ralph.app import paths as places
    from ralph.app.board import tasks
    from ralph.faces.cli.pages.task_graph import TaskGraph

    drawn = TaskGraph(tasks.list_cards(places.find_paths(os.getcwd())))
    drawn = drawn.select_around(task_id) if task_id else drawn
    click.echo(drawn.render_json() if as_json else drawn.render_dot() if dot else drawn.render_text())


@command.command("loops")
@_json_option
def list_loops_command(as_json: bool) -> None:
    """Show the tasks that are worked on right now."""
    from ralph.app import paths as places
    from ralph.app.board import active as task_loops
    from ralph.faces.cli.pages.active_loops import render_loops_json, render_loops_text

    found = task_loops.list_active_tasks(places.find_paths(os.getcwd()))
    click.echo(render_loops_json(found) if as_json else render_loops_text(found))


@command.command("cancel")
@click.argument("task_id", metavar="ID")
@_json_option
def cancel_task_command(task_id: str, as_json: bool) -> None:
    """End the work on the task ID within two seconds. What was done stays."""
    from ralph.app import paths as places
    from ralph.app.board import active as task_loops
    from ralph.faces.board_words import format_cancelled_loop
    from ralph.faces.cli.pages.active_loops import render_loops_json

    loop = task_loops.cancel_task(places.find_paths(os.getcwd()), task_id)
    click.echo(render_loops_json([loop]) if as_json else format_cancelled_loop(loop))
