"""`ralph task create, import, edit, followup, delete`: what changes the board."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click
import msgspec

from ralph.app.board.git_leftovers import find_git_leftovers
from ralph.app.board.specflow_import import import_specflow_database, import_specflow_log, is_database
from ralph.app.board.tasks import TaskEdit, create_task, delete_task, edit_task
from ralph.app.board.yaml_import import ImportedTasks, import_tasks
from ralph.app.paths import Paths, find_project_paths
from ralph.app.pipeline.judging import refuse_unjudged_tasks
from ralph.app.runs.inside_agent import OTHER_TASKS_REASON, refuse_inside_agent
from ralph.config.sources import load_settings
from ralph.core.tasks.specflow_records import is_change_log
from ralph.core.text.quantities import list_some
from ralph.faces.cli.options.criteria import add_criteria_options, build_completion
from ralph.faces.cli.options.known_names import complete_spec, complete_task
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.text_file import TextFile, TextFileParam
from ralph.faces.task_page import task_to_dict
from ralph.model.spec import TASK_STATUSES, Task

_description_option = click.option("--description", default="", metavar="TEXT", help="Description, for the prompts.")
_priority_option = click.option(
    "--priority", type=int, metavar="N", help="1 comes before 2. A new task has 2, a follow-up 3."
)
_assignee_option = click.option("--assignee", default="", metavar="NAME", help="Assignee.")
_depends_on_option = click.option(
    "--depends-on",
    "--dependencies",
    "depends_on",
    multiple=True,
    metavar="ID",
    help="A task that must be done first; may be repeated.",
    shell_complete=complete_task,
)


@click.command("create")
@click.argument("task_id", metavar="ID")
@click.argument("spec", shell_complete=complete_spec)
@click.argument("title")
@_description_option
@_priority_option
@_depends_on_option
@_assignee_option
@click.option("--setup", default="", metavar="CMD", help="Prepares its work tree, in place of the setting `setup`.")
@add_criteria_options
@add_json_option()
def create_task_command(task_id: str, spec: str, title: str, as_json: bool, **given: object) -> None:
    """Create the task ID of SPEC. --outcome and at least one --acceptance are required.

    \b
    How a promise is verified (METHOD; more in docs/verification.md):
      external      when a command can decide: tests, a build, a file that exists
      semantic      when someone must read: a judge decides on each criterion
      multi_stage   when one check is not enough: several of these in a row
      string_match  when little depends on it: the promise alone is enough
    """
    raw = _build_raw_task(task_id, spec, title, given)
    paths = find_project_paths(os.getcwd())
    _print_created(create_task(paths, raw, check=partial(_check_judges, paths)).id, as_json)


@click.command("followup")
@click.argument("task_id", metavar="ID")
@click.argument("spec", shell_complete=complete_spec)
@click.argument("title")
@click.option(
    "--parent", envvar="RALPH_TASK", metavar="ID", help="The task it follows up.  [default: $RALPH_TASK, if set]"
)
@click.option("--independent", is_flag=True, help="Do not wait until the parent is done.")
@click.option("--category", metavar="WORD", help="Such as tech-debt, test-gap, refactor, doc.")
@_description_option
@_priority_option
@_depends_on_option
@_assignee_option
@add_criteria_options
@add_json_option()
def create_followup_command(
    task_id: str,
    spec: str,
    title: str,
    parent: str | None,
    independent: bool,
    category: str | None,
    as_json: bool,
    **given: object,
) -> None:
    """Create a follow-up of another task. Options as for `create`."""
    raw = _build_raw_task(
        task_id, spec, title, {**given, "priority": 3 if given["priority"] is None else given["priority"]}
    )
    raw |= {"metadata": {"category": category}} if category else {}
    paths = find_project_paths(os.getcwd())
    task = create_task(paths, raw, parent or "", waits=not independent, check=partial(_check_judges, paths))
    _print_created(task.id, as_json)


@click.command("import")
@click.argument("file", type=TextFileParam())
@click.option(
    "--spec",
    default="",
    metavar="NAME",
    help="For tasks that name no spec.  [default: the file's name]",
    shell_complete=complete_spec,
)
@add_json_option()
def import_tasks_command(file: TextFile, spec: str, as_json: bool) -> None:
    """Create all tasks of FILE (`-`: standard input), or none.

    FILE is YAML or JSON, or the database (.specflow/specflow.db) or JSONL log of a SpecFlow project.
    """
    imported = _import_file(file, find_project_paths(os.getcwd()), spec)
    for warning in imported.warnings:
        click.echo(f"warning: {warning}", err=True)
    ids = [task.id for task in imported.tasks]
    if as_json:
        click.echo(msgspec.json.encode({"tasks": ids, "specs": [spec.id for spec in imported.specs]}))
    else:
        shown = list_some(ids, 5)
        click.echo(f"Imported {shown}. See `ralph task list`.")


def _import_file(file: TextFile, paths: Paths, spec: str) -> ImportedTasks:
    check = partial(_check_judges, paths)
    if not file.is_stdin and is_database(file.name):
        return import_specflow_database(paths, file.name, check=check)
    text = file.read_text()
    if is_change_log(file.name, text):
        return import_specflow_log(paths, text, file.name, check=check)
    stem = "" if file.is_stdin else os.path.splitext(os.path.basename(file.name))[0]
    return import_tasks(paths, text, name=file.name, spec=spec, or_else=stem, check=check)


@click.command("edit")
@click.argument("task_id", metavar="ID", shell_complete=complete_task)
@click.option("--title", metavar="TEXT", help="Title.")
@click.option("--description", metavar="TEXT", help="Description, for the prompts.")
@_priority_option
@_depends_on_option
@click.option("--no-depends-on", is_flag=True, help="Remove all dependencies.")
@click.option("--assignee", metavar="NAME", help="Assignee.")
@click.option("--status", type=click.Choice(TASK_STATUSES), help="todo reopens it; blocked and cancelled stop it.")
@click.option("--reason", default="", metavar="TEXT", help="Why it is blocked or cancelled.")
@add_criteria_options
@add_json_option()
def edit_task_command(
    task_id: str, as_json: bool, no_depends_on: bool, depends_on: tuple[str, ...], **given: object
) -> None:
    """Change the task ID. What is not given stays the same. A task that is running or done cannot be edited."""
    refuse_inside_agent(os.environ, "ralph task edit", OTHER_TASKS_REASON)
    fields: dict[str, Any] = {
        name: given[name] for name in ("title", "description", "priority", "assignee", "status", "reason")
    }
    needs = () if no_depends_on else _split_ids(depends_on) or None
    wanted = TaskEdit(**fields, depends_on=needs, completion=build_completion(given))
    entry = edit_task(find_project_paths(os.getcwd()), task_id, wanted)
    click.echo(msgspec.json.encode(task_to_dict(entry)) if as_json else f"Changed task {task_id}")


@click.command("delete")
@click.argument("task_id", metavar="ID", shell_complete=complete_task)
@click.option("--force", is_flag=True, help="Delete it even if it has a history.")
@add_json_option()
def delete_task_command(task_id: str, force: bool, as_json: bool) -> None:
    """Delete the task ID and its history. Its branch and work tree are kept."""
    refuse_inside_agent(os.environ, "ralph task delete", OTHER_TASKS_REASON)
    paths = find_project_paths(os.getcwd())
    leftovers = find_git_leftovers(delete_task(paths, task_id, force), paths, os.environ)
    if as_json:
        present = {name: value for name, value in msgspec.structs.asdict(leftovers).items() if value}
        click.echo(msgspec.json.encode({"deleted": task_id, **present}))
        return
    click.echo(f"Deleted task {task_id}")
    if leftovers.removal_command:
        click.echo(f"Its work is kept in git. To remove that too: {leftovers.removal_command}")


TASK_CHANGE_COMMANDS: Mapping[str, click.Command] = {
    "create": create_task_command,
    "import": import_tasks_command,
    "edit": edit_task_command,
    "followup": create_followup_command,
    "delete": delete_task_command,
}


def _build_raw_task(id_: str, spec: str, title: str, given: Mapping[str, Any]) -> dict[str, object]:
    """The task as a mapping, as the YAML import has it."""
    names = ("description", "priority", "assignee", "setup")
    raw = {name: given[name] for name in names if given.get(name) not in (None, "")}
    needs = list(_split_ids(given["depends_on"]))
    return {
        "id": id_,
        "spec_id": spec,
        "title": title,
        **raw,
        "dependencies": needs,
        "completion": build_completion(given),
    }


def _check_judges(paths: Paths, tasks: Sequence[Task]) -> None:
    settings = load_settings(paths.folder, os.environ, seen_from=paths.started_in).settings
    refuse_unjudged_tasks(tasks, settings, paths, os.environ)


def _split_ids(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(id_ for part in given for word in part.split(",") if (id_ := word.strip()))


def _print_created(id_: str, as_json: bool) -> None:
    click.echo(msgspec.json.encode({"created": id_}) if as_json else f"Created task {id_}")
