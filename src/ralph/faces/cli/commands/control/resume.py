"""`ralph resume`: lift a pause, wake what waits, go on with what was stopped or killed."""

import os

import click
import msgspec

from ralph.app.control.pausing import is_still_paused, lift_pause, refuse_resuming_at_work
from ralph.app.control.person import identify_person
from ralph.app.control.tasks import is_execute_running
from ralph.app.paths import find_project_paths
from ralph.app.stores import has_stores
from ralph.faces.cli.commands.run import command as run_command
from ralph.faces.cli.options.run_names import complete_steerable
from ralph.faces.control_words import describe_resume, target_to_dict


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Options of `ralph run` are for a run that is started again: ralph resume -m 8",
)
@click.argument("words", metavar="[RUN|TASK] [OPTIONS OF ralph run]", nargs=-1, shell_complete=complete_steerable)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> int:
    """Resume a run or a task: a paused one continues, one that waits for a limit retries now, one that was stopped
    or killed restarts where it left off.

    Without a name: what is paused, else the last run of `ralph run` that did not complete.
    """
    identify_person(os.environ, "ralph resume")
    paths, name = find_project_paths(os.getcwd()), words[0] if words and not words[0].startswith("-") else ""
    target = lift_pause(paths, name) if has_stores(paths) else None
    if target is not None and (target.is_running or target.subject.kind != "run"):
        as_json = "--json" in words
        text = describe_resume(target, is_execute_running=is_execute_running(paths))
        if is_still_paused(paths, target):
            text = f"Removed the pause of {target.name}; all of `ralph execute` is still paused: ralph resume"
        click.echo(msgspec.json.encode({"resumed": target_to_dict(target)}) if as_json else text)
        return 0
    if target is not None and target.run is not None and target.run.kind != "run":
        click.echo(describe_resume(target))
        return 0
    if target is None and has_stores(paths):
        refuse_resuming_at_work(paths, name)
    with run_command.make_context("ralph run", ["--resume", *words], parent=context.parent, obj=context.obj) as inner:
        code = run_command.invoke(inner)
    return code if isinstance(code, int) else 0
