"""`ralph answer`: answer what an agent asked."""

import os
from functools import partial

import click
import msgspec

from ralph.app.control.notes import answer_question, list_questions
from ralph.app.control.person import identify_person
from ralph.app.control.targets import is_known_name
from ralph.app.control.tasks import is_execute_running
from ralph.app.paths import Paths, find_project_paths
from ralph.faces.cli.options.name_and_text import read_name_and_text
from ralph.faces.cli.options.output_flags import add_json_option
from ralph.faces.cli.options.run_names import complete_asking
from ralph.faces.control_words import describe_answer, question_to_dict, render_questions, target_to_dict


@click.command()
@click.argument("words", metavar="[RUN|TASK] [TEXT]", nargs=-1, shell_complete=complete_asking)
@add_json_option()
def command(words: tuple[str, ...], as_json: bool) -> None:
    """Answer the question of an agent. Without TEXT: show what agents ask.

    The answer goes into the next prompt. A task is reopened; resume a run with `ralph resume`. TEXT `-` reads
    standard input.
    """
    paths = find_project_paths(os.getcwd())
    if not words:
        questions = list_questions(paths)
        encoded = msgspec.json.encode({"questions": [*map(question_to_dict, questions)]})
        click.echo(encoded if as_json else render_questions(questions))
        return
    answer(paths, words, "ralph answer [RUN|TASK] TEXT", as_json)


def answer(paths: Paths, words: tuple[str, ...], usage: str, as_json: bool) -> None:
    """Also for `ralph task answer`."""
    by = identify_person(os.environ, "ralph answer")
    name, text = read_name_and_text(words, usage, partial(is_known_name, paths))
    target = answer_question(paths, name, text, by=by)
    reply = describe_answer(target, is_execute_running=is_execute_running(paths))
    click.echo(msgspec.json.encode({"answered": target_to_dict(target)}) if as_json else reply)
