"""`ralph task`: what is to be done, what "done" means for it, and how far it is."""

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import click
import msgspec

from ralph.app.board.active import cancel_task, find_orphaned_tasks, list_active_tasks
from ralph.app.board.tasks import list_cards, list_cards_with_reasons, load_task_details
from ralph.app.paths import find_project_paths
from ralph.app.runs.inside_agent import OTHER_TASKS_REASON, refuse_inside_agent
from ralph.config.sources import load_settings
from ralph.faces.board_words import NO_TASKS_MESSAGE, format_cancelled_loop
from ralph.faces.cli.options.amounts import CountParam
from ralph.faces.cli.options.known_names import complete_running_task, complete_spec, complete_task
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.run_names import complete_asking
from ralph.faces.cli.pages.active_loops import render_loops_json, render_loops_text
from ralph.faces.cli.pages.task_graph import TaskGraph
from ralph.faces.cli.pages.task_list import TaskListing, is_failed
from ralph.faces.cli.terminal.wrapping import fit_page
from ralph.faces.glyphs import resolve_glyphs
from ralph.faces.task_page import render_task_json, render_task_text
from ralph.model.board import TaskCard
from ralph.model.spec import TASK_STATUSES

TASK_EXAMPLES = """\b
Examples:
  ralph task create T-1 auth "Add login" \\
    --outcome "Users can log in" --acceptance "POST /login returns a token" \\
    --coder-verify external --coder-command "pytest -q tests/auth"
  ralph task import tasks.yaml
  ralph task list --status failed
  ralph task show T-1
  ralph execute -j 3
"""
LISTED_STATES = (*TASK_STATUSES, "failed")
DEFAULT_LIST_LIMIT = 50  # lines, unless told otherwise: nobody reads ten thousand
_CHANGE_COMMANDS = (
    "create",
    "import",
    "edit",
    "followup",
    "delete",
)  # loaded when needed: their many options take time


class TaskGroup(click.Group):
    """Loads the commands of task_changes only when one is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_CHANGE_COMMANDS, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _CHANGE_COMMANDS:
            return super().get_command(ctx, cmd_name)
        changes = importlib.import_module("ralph.faces.cli.commands.task_changes")
        found: click.Command = changes.TASK_CHANGE_COMMANDS[cmd_name]
        return found


@click.group("task", cls=TaskGroup, short_help="Create, change and list tasks.", epilog=TASK_EXAMPLES)
def command() -> None:
    """Create, change and list tasks. Each says at creation what "done" means; `ralph execute` works on them."""


@command.command("list")
@click.option("--status", multiple=True, type=click.Choice(LISTED_STATES), help="Only these statuses; may be repeated.")
@click.option("--spec", metavar="NAME", help="Only tasks of this spec.", shell_complete=complete_spec)
@click.option("--ready", is_flag=True, help="Only tasks that can start now.")
@click.option("-n", "--limit", type=CountParam(), help=f"Maximum lines.  [default: {DEFAULT_LIST_LIMIT}; JSON: all]")
@click.option("--all", "everything", is_flag=True, help="No limit.")
@add_json_option()
def list_tasks_command(
    status: tuple[str, ...], spec: str | None, ready: bool, limit: int | None, everything: bool, as_json: bool
) -> None:
    """List tasks and their state. Running ones first, then failed, ready, waiting, blocked, done."""
    paths = find_project_paths(os.getcwd())
    cards, reasons = list_cards_with_reasons(paths)
    wanted = [
        card for card in cards if not status or card.status in status or _is_wanted_failure(card, reasons, status)
    ]
    chosen = [card for card in wanted if spec is None or card.spec_id == spec]
    listing = TaskListing(cards, chosen, find_orphaned_tasks(paths, chosen), reasons)
    listing = listing.keep_ready() if ready else listing
    if as_json:
        click.echo(listing.render_json(limit))
    elif not cards:
        click.echo(NO_TASKS_MESSAGE)
    else:
        click.echo(fit_page(listing.render_text(None if everything else limit or DEFAULT_LIST_LIMIT), sys.stdout))


def _is_wanted_failure(card: TaskCard, reasons: Mapping[str, str], status: Sequence[str]) -> bool:
    return "failed" in status and is_failed(card, reasons)


@command.command("show")
@click.argument("task_id", metavar="ID", shell_complete=complete_task)
@add_json_option()
def show_task_command(task_id: str, as_json: bool) -> None:
    """Show a task: criteria, verification attempts, cost."""
    paths = find_project_paths(os.getcwd())
    settings = load_settings(paths.folder, os.environ, seen_from=paths.started_in).settings
    details = load_task_details(paths, task_id, settings)
    display = settings.display
    glyphs = resolve_glyphs(display.glyphs, os.environ, getattr(sys.stdout, "encoding", None))
    page = partial(render_task_text, glyphs=glyphs, folder=paths.started_in, max_check_lines=display.max_check_lines)
    click.echo(render_task_json(details) if as_json else fit_page(page(details), sys.stdout))


@command.command("graph")
@click.argument("task_id", metavar="[ID]", required=False, shell_complete=complete_task)
@click.option("--dot", is_flag=True, help="Print it for Graphviz.")
@add_json_option()
def graph_tasks_command(task_id: str | None, dot: bool, as_json: bool) -> None:
    """Draw the dependencies of tasks. With ID, only related ones."""
    graph = TaskGraph(list_cards(find_project_paths(os.getcwd())))
    graph = graph.select_around(task_id) if task_id else graph
    click.echo(graph.render_json() if as_json else graph.render_dot() if dot else graph.render_text())


@command.command("loops")
@add_json_option()
def list_loops_command(as_json: bool) -> None:
    """Show the tasks that are running."""
    loops = list_active_tasks(find_project_paths(os.getcwd()))
    click.echo(render_loops_json(loops) if as_json else render_loops_text(loops))


@command.command("answer")
@click.argument("task_id", metavar="ID", shell_complete=complete_asking)
@click.argument("text", nargs=-1, required=True)
@add_json_option()
def answer_task_command(task_id: str, text: tuple[str, ...], as_json: bool) -> None:
    """Answer what an agent asked about the task ID. The task is reopened; the answer goes into its next prompt."""
    from ralph.faces.cli.commands.control.answer import answer

    answer(find_project_paths(os.getcwd()), (task_id, *text), "ralph task answer ID TEXT", as_json)


@command.command("retry")
@click.argument("task_id", metavar="ID")
@add_json_option()
def retry_task_command(task_id: str, as_json: bool) -> None:
    """Retry the task ID: failed, blocked or cancelled. A running `ralph execute` picks it up."""
    from ralph.app.control.tasks import is_execute_running, retry_task
    from ralph.faces.control_words import describe_retry, target_to_dict

    refuse_inside_agent(os.environ, "ralph task retry", OTHER_TASKS_REASON)
    paths = find_project_paths(os.getcwd())
    target = retry_task(paths, task_id)
    text = describe_retry(target, is_execute_running=is_execute_running(paths))
    click.echo(msgspec.json.encode({"retried": target_to_dict(target)}) if as_json else text)


@command.command("cancel")
@click.argument("task_id", metavar="ID", shell_complete=complete_running_task)
@add_json_option()
def cancel_task_command(task_id: str, as_json: bool) -> None:
    """Cancel the task ID within two seconds. Its work is kept."""
    refuse_inside_agent(os.environ, "ralph task cancel", OTHER_TASKS_REASON)
    loop = cancel_task(find_project_paths(os.getcwd()), task_id)
    click.echo(render_loops_json([loop]) if as_json else format_cancelled_loop(loop))
