"""`ralph note`: tell the next agent something."""

import os
from functools import partial

import click
import msgspec

from ralph.app.control.notes import add_note, list_notes
from ralph.app.control.person import identify_person
from ralph.app.control.targets import is_known_name
from ralph.app.paths import find_project_paths
from ralph.faces.cli.options.name_and_text import read_name_and_text
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.run_names import complete_steerable
from ralph.faces.control_words import describe_note, note_to_dict, render_notes_list, target_to_dict


@click.command()
@click.argument("words", metavar="[RUN|TASK] TEXT", nargs=-1, shell_complete=complete_steerable)
@click.option("--list", "lists", is_flag=True, help="Show the notes of RUN or TASK instead.")
@add_json_option()
def command(words: tuple[str, ...], lists: bool, as_json: bool) -> None:
    """Leave a note for the next agent of a run or a task. It goes into the next prompt, once, with your name.

    Without a name the note is for what is running. TEXT `-` reads standard input. A run that has ended gets it when
    it is resumed.
    """
    paths = find_project_paths(os.getcwd())
    if lists:
        notes = list_notes(paths, words[0] if words else "")
        click.echo(msgspec.json.encode({"notes": [*map(note_to_dict, notes)]}) if as_json else render_notes_list(notes))
        return
    by = identify_person(os.environ, "ralph note")
    name, text = read_name_and_text(words, "ralph note [RUN|TASK] TEXT", partial(is_known_name, paths))
    target = add_note(paths, name, text, by=by)
    click.echo(msgspec.json.encode({"note": target_to_dict(target)}) if as_json else describe_note(target))
