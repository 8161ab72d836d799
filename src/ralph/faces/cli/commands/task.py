"""`ralph task`: what is to be done, what "done" means for it, and how far it is."""

import importlib
import os
from typing import TYPE_CHECKING

import click

from ralph.faces.cli.options.amounts import Count
from ralph.model.spec import STATUSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph.app.paths import Places
    from ralph.model.board import Card

LISTED = 50  # lines, unless told otherwise: nobody reads ten thousand
_CHANGES = ("create", "import", "edit", "followup", "delete")  # loaded when needed: their many options take time
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class TaskGroup(click.Group):
    """The commands here, and those of `task_changes`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Making first, then looking."""
        return [*_CHANGES, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """By name."""
        if cmd_name not in _CHANGES:
            return super().get_command(ctx, cmd_name)
        found: click.Command = importlib.import_module("ralph.faces.cli.commands.task_changes").COMMANDS[cmd_name]
        return found


@click.group("task", cls=TaskGroup, short_help="Make, change and look at tasks.")
def command() -> None:
    """Tasks say at creation what "done" means; `ralph execute` works them off."""


@command.command("list")
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Only those; repeat it for more.")
@click.option("--spec", metavar="NAME", help="Only those of this spec.")
@click.option("--ready", is_flag=True, help="Only what could be started now.")
@click.option("-n", "--limit", type=Count(), help=f"Most lines.  [default: {LISTED}; JSON: all]")
@click.option("--all", "everything", is_flag=True, help="No limit.")
@_as_json
def list_(
    status: tuple[str, ...], spec: str | None, ready: bool, limit: int | None, everything: bool, as_json: bool
) -> None:
    """Show tasks: those at work first, then what is ready, what waits, and what is over."""
    from ralph.app import paths as places
    from ralph.app.board import tasks
    from ralph.faces.cli.pages.task_list import Listing

    here = places.find(os.getcwd())
    cards = tasks.cards(here)
    chosen = [c for c in cards if (not status or c.status in status) and (spec is None or c.spec_id == spec)]
    listing = Listing(cards, chosen, _cut_off(here, chosen))
    listing = listing.only_ready() if ready else listing
    if as_json:
        click.echo(listing.json(limit))
    elif not cards:
        click.echo("No tasks here yet. Make one with `ralph task create` or `ralph task import FILE.yaml`.")
    else:
        click.echo(listing.text(None if everything else limit or LISTED))


def _cut_off(here: "Places", cards: "Sequence[Card]") -> frozenset[str]:
    if all(card.status != "in_progress" for card in cards):  # as usual, and it costs no import
        return frozenset()
    from ralph.app.board.active import cut_off

    return cut_off(here, cards)


@command.command("show")
@click.argument("task_id", metavar="ID")
@_as_json
def show(task_id: str, as_json: bool) -> None:
    """Show the task ID: its criteria, every verification attempt, what it cost."""
    from ralph.app import paths as places
    from ralph.app.board import tasks
    from ralph.config.sources import load
    from ralph.faces.task_page import shown_json, shown_text

    here = places.find(os.getcwd())
    shown = tasks.show(here, task_id, load(here.folder, os.environ, {}).settings)
    click.echo(shown_json(shown) if as_json else shown_text(shown))


@command.command("graph")
@click.argument("task_id", metavar="[ID]", required=False)
@click.option("--dot", is_flag=True, help="Print it for Graphviz.")
@_as_json
def graph(task_id: str | None, dot: bool, as_json: bool) -> None:
    """Draw what waits for what; with ID, only what has to do with it."""
    from ralph.app import paths as places
    from ralph.app.board import tasks
    from ralph.faces.cli.pages.task_graph import Graph

    drawn = Graph(tasks.cards(places.find(os.getcwd())))
    drawn = drawn.around(task_id) if task_id else drawn
    click.echo(drawn.json() if as_json else drawn.dot() if dot else drawn.text())


@command.command("loops")
@_as_json
def loops(as_json: bool) -> None:
    """Show the tasks that are worked on right now."""
    from ralph.app import paths as places
    from ralph.app.board import active as task_loops
    from ralph.faces.cli.pages.active_loops import loops_json, loops_text

    found = task_loops.loops(places.find(os.getcwd()))
    click.echo(loops_json(found) if as_json else loops_text(found))


@command.command("cancel")
@click.argument("task_id", metavar="ID")
@_as_json
def cancel(task_id: str, as_json: bool) -> None:
    """End the work on the task ID within two seconds. What was done stays."""
    from ralph.app import paths as places
    from ralph.app.board import active as task_loops
    from ralph.faces.board_words import loop_cancelled
    from ralph.faces.cli.pages.active_loops import loops_json

    loop = task_loops.cancel(places.find(os.getcwd()), task_id)
    click.echo(loops_json([loop]) if as_json else loop_cancelled(loop))
