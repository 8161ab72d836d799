"""`ralph task`: what is to be done, what "done" means for it, and how far it is."""

import os
import sys
from typing import Any

import click

from ralph.faces.cli.task_options import completion_of, criteria_options
from ralph.model.spec import STATUSES

LISTED = 50  # lines, unless told otherwise: nobody reads ten thousand
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_description = click.option("--description", default="", metavar="TEXT", help="More about it, for the prompts.")
_priority = click.option("--priority", type=int, metavar="N", help="1 comes before 2.  [default: 2]")
_assignee = click.option("--assignee", default="", metavar="NAME", help="Whom it is meant for.")
_depends_on = click.option(
    "--depends-on",
    "--dependencies",
    "depends_on",
    multiple=True,
    metavar="ID",
    help="A task that has to be done first; repeat it for more.",
)


@click.group("task", short_help="Make, change and look at tasks.")
def command() -> None:
    """Tasks say at creation what "done" means; `ralph execute` works them off."""


@command.command("create")
@click.argument("id")
@click.argument("spec")
@click.argument("title")
@_description
@_priority
@_depends_on
@_assignee
@criteria_options
@_as_json
def create(id: str, spec: str, title: str, as_json: bool, **given: Any) -> None:  # noqa: A002  # click's name for it
    """Make the task ID of SPEC. --outcome and at least one --acceptance are needed."""
    from ralph.app import places, tasks

    _tell_made(tasks.create(places.find(os.getcwd()), _raw(id, spec, title, given)).id, as_json)


@command.command("followup")
@click.argument("id")
@click.argument("spec")
@click.argument("title")
@click.option(
    "--parent", envvar="RALPH_TASK", metavar="ID", help="The task it follows up.  [default: $RALPH_TASK, if set]"
)
@click.option("--independent", is_flag=True, help="It need not wait until its parent is done.")
@click.option("--category", metavar="WORD", help="Such as tech-debt, test-gap, refactor, doc.")
@_description
@_priority
@_depends_on
@_assignee
@criteria_options
@_as_json
def followup(
    id: str,  # noqa: A002  # click's name for it
    spec: str,
    title: str,
    parent: str | None,
    independent: bool,
    category: str | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Make the task ID out of what came up while working on another. Options as for `create`."""
    from ralph.app import places, tasks

    raw = _raw(id, spec, title, {**given, "priority": given["priority"] or 3})
    raw |= {"metadata": {"category": category}} if category else {}
    _tell_made(tasks.create(places.find(os.getcwd()), raw, parent or "", waits=not independent).id, as_json)


@command.command("import")
@click.argument("file", type=click.Path())
@click.option("--spec", default="", metavar="NAME", help="For tasks that name no spec.  [default: the file's name]")
@_as_json
def import_(file: str, spec: str, as_json: bool) -> None:
    """Make all tasks of a YAML FILE (`-`: standard input), or none of them."""
    import msgspec

    from ralph.app import places
    from ralph.app.task_import import import_tasks

    stem = "" if file == "-" else os.path.splitext(os.path.basename(file))[0]
    imported = import_tasks(places.find(os.getcwd()), _file_text(file), file, spec, stem)
    for warning in imported.warnings:
        click.echo(f"warning: {warning}", err=True)
    ids = [task.id for task in imported.tasks]
    if as_json:
        click.echo(msgspec.json.encode({"tasks": ids, "specs": [spec.id for spec in imported.specs]}))
    else:
        shown = ", ".join(ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
        click.echo(f"Imported {shown}. See `ralph task list`.")


@command.command("list")
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Only those; repeat it for more.")
@click.option("--spec", metavar="NAME", help="Only those of this spec.")
@click.option("--ready", is_flag=True, help="Only what could be started now.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help=f"Most lines.  [default: {LISTED}; JSON: all]")
@click.option("--all", "everything", is_flag=True, help="No limit.")
@_as_json
def list_(
    status: tuple[str, ...], spec: str | None, ready: bool, limit: int | None, everything: bool, as_json: bool
) -> None:
    """Show tasks: those at work first, then what is ready, what waits, and what is over."""
    from ralph.app import places, tasks
    from ralph.faces.cli.task_view import Listing

    cards = tasks.cards(places.find(os.getcwd()))
    chosen = [c for c in cards if (not status or c.status in status) and (spec is None or c.spec_id == spec)]
    listing = Listing(cards, chosen)
    listing = listing.only_ready() if ready else listing
    if as_json:
        click.echo(listing.json(limit))
    elif not cards:
        click.echo("No tasks here yet. Make one with `ralph task create` or `ralph task import FILE.yaml`.")
    else:
        click.echo(listing.text(None if everything else limit or LISTED))


@command.command("show")
@click.argument("id")
@_as_json
def show(id: str, as_json: bool) -> None:  # noqa: A002  # click's name for it
    """Show the task ID: its criteria, every verification attempt, what it cost."""
    from ralph.app import places, tasks
    from ralph.faces.cli.task_view import shown_json, shown_text

    shown = tasks.show(places.find(os.getcwd()), id)
    click.echo(shown_json(shown) if as_json else shown_text(shown))


@command.command("edit")
@click.argument("id")
@click.option("--title", metavar="TEXT")
@click.option("--description", metavar="TEXT")
@_priority
@_depends_on
@click.option("--no-depends-on", is_flag=True, help="It waits for nothing.")
@click.option("--assignee", metavar="NAME")
@click.option("--status", type=click.Choice(STATUSES), help="todo opens it again; blocked and cancelled stop it.")
@click.option("--reason", default="", metavar="TEXT", help="Why it is blocked or cancelled.")
@criteria_options
@_as_json
def edit(id: str, as_json: bool, no_depends_on: bool, **given: Any) -> None:  # noqa: A002  # click's name for it
    """Change the task ID; what is not given stays. Nobody edits what is being worked on, or done."""
    import msgspec

    from ralph.app import places, tasks
    from ralph.faces.cli.task_view import record

    needs = () if no_depends_on else _ids(given["depends_on"]) or None
    fields = {name: given[name] for name in ("title", "description", "priority", "assignee", "status", "reason")}
    wanted = tasks.Wanted(**fields, depends_on=needs, completion=completion_of(given))
    entry = tasks.edit(places.find(os.getcwd()), id, wanted)
    click.echo(msgspec.json.encode(record(entry)) if as_json else f"Changed task {id}")


@command.command("delete")
@click.argument("id")
@click.option("--force", is_flag=True, help="Also one that has a history.")
@_as_json
def delete(id: str, force: bool, as_json: bool) -> None:  # noqa: A002  # click's name for it
    """Delete the task ID, and what is known of it."""
    import msgspec

    from ralph.app import places, tasks

    tasks.delete(places.find(os.getcwd()), id, force)
    click.echo(msgspec.json.encode({"deleted": id}) if as_json else f"Deleted task {id}")


@command.command("graph")
@click.argument("id", required=False)
@click.option("--dot", is_flag=True, help="Print it for Graphviz.")
@_as_json
def graph(id: str | None, dot: bool, as_json: bool) -> None:  # noqa: A002  # click's name for it
    """Draw what waits for what; with ID, only what has to do with it."""
    from ralph.app import places, tasks
    from ralph.faces.cli.task_tree import Graph

    drawn = Graph(tasks.cards(places.find(os.getcwd())))
    drawn = drawn.around(id) if id else drawn
    click.echo(drawn.json() if as_json else drawn.dot() if dot else drawn.text())


@command.command("loops")
@_as_json
def loops(as_json: bool) -> None:
    """Show the tasks that are worked on right now."""
    from ralph.app import places, task_loops
    from ralph.faces.cli.loop_view import loops_json, loops_text

    found = task_loops.loops(places.find(os.getcwd()))
    click.echo(loops_json(found) if as_json else loops_text(found))


@command.command("cancel")
@click.argument("id")
@_as_json
def cancel(id: str, as_json: bool) -> None:  # noqa: A002  # click's name for it
    """End the work on the task ID within two seconds. What was done stays."""
    from ralph.app import places, task_loops
    from ralph.faces.cli.loop_view import loops_json

    loop = task_loops.cancel(places.find(os.getcwd()), id)
    told = f"Cancelled Ralph loop for {loop.task} at iteration {loop.iteration}/{loop.max_iterations}"
    click.echo(loops_json([loop]) if as_json else told)


def _raw(id_: str, spec: str, title: str, given: dict[str, Any]) -> dict[str, object]:
    """The task as YAML would have it."""
    raw = {name: given[name] for name in ("description", "priority", "assignee") if given[name]}
    needs = list(_ids(given["depends_on"]))
    return {
        "id": id_,
        "spec_id": spec,
        "title": title,
        **raw,
        "dependencies": needs,
        "completion": completion_of(given),
    }


def _ids(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(id_ for part in given for word in part.split(",") if (id_ := word.strip()))


def _file_text(file: str) -> str:
    from ralph.model.errors import UsageError

    try:
        if file == "-":
            return sys.stdin.buffer.read().decode()
        with open(file, encoding="utf-8") as text:
            return text.read()
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror}", "name a YAML file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file!r} is not UTF-8 text", "save it as UTF-8") from None


def _tell_made(id_: str, as_json: bool) -> None:
    import msgspec

    click.echo(msgspec.json.encode({"created": id_}) if as_json else f"Created task {id_}")
