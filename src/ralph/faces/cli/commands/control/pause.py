"""`ralph pause`: start no agent until somebody resumes the run."""

import os

import click
import msgspec

from ralph.app.control.pausing import pause
from ralph.app.control.person import identify_person
from ralph.app.paths import find_project_paths
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.run_names import complete_steerable
from ralph.faces.control_words import describe_pause, target_to_dict


@click.command()
@click.argument("name", metavar="[RUN|TASK]", default="", shell_complete=complete_steerable)
@click.option("--now", is_flag=True, help="Stop the current agent immediately; its changes are kept.")
@add_json_option()
def command(name: str, now: bool, as_json: bool) -> None:
    """Pause a run or a task: the current agent finishes, no other starts. Resume with `ralph resume`.

    Without a name: what is running; with several tasks of `ralph execute`, all of them. A pause survives restarts;
    paused time does not count towards time limits.
    """
    by = identify_person(os.environ, "ralph pause")
    target = pause(find_project_paths(os.getcwd()), name, by=by, now=now)
    click.echo(msgspec.json.encode({"paused": target_to_dict(target)}) if as_json else describe_pause(target, now=now))
