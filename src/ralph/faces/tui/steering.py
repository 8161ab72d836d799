"""What the user does to a card: by the use cases of the command line, in threads of their own."""

import os
from collections.abc import Callable

import click
from textual.app import SuspendNotSupported
from textual.screen import Screen

from ralph.app.board.active import cancel_task
from ralph.app.board.task_form import NEW_TASK_FORM, apply_task_form, create_from_form, render_task_form
from ralph.app.board.tasks import TaskEdit, edit_task
from ralph.app.control.launching import StartBody, launch_loop
from ralph.app.control.notes import add_note, answer_question
from ralph.app.control.pausing import lift_pause, pause
from ralph.app.control.person import identify_person
from ralph.app.control.stopping import ExecuteEnd, stop_execute
from ralph.app.control.tasks import is_execute_running, retry_task
from ralph.app.paths import Paths
from ralph.app.runs.status import cancel_run
from ralph.faces.board_words import format_cancelled_loop, format_cancelled_run
from ralph.faces.control_words import describe_answer, describe_note, describe_pause, describe_resume, describe_retry
from ralph.faces.tui.dialogs import ConfirmDialog
from ralph.faces.tui.jobs import start_job
from ralph.faces.tui.questions import ChoiceDialog, TextDialog
from ralph.faces.tui.selection import Selection
from ralph.model.errors import RalphError
from ralph.model.spec import Task

BOARD_COMMAND = "ralph board"
NOTHING_SELECTED = "Nothing is selected."
STOP_CHOICES: tuple[tuple[str, str], ...] = (
    ("t", "finish running tasks, start no others"),
    ("a", "finish running agents; tasks can be resumed"),
    ("n", "now: stop agents at once; their work is kept"),
)
STOP_WAYS: dict[str, ExecuteEnd] = {"t": "tasks", "a": "agents", "n": "now"}


class Steering:
    """Asks where that is due, and tells the user what became of it."""

    def __init__(self, screen: Screen[None], paths: Paths) -> None:
        self._screen, self._paths = screen, paths

    def pause(self, chosen: Selection, *, now: bool) -> None:
        """Pause it, or resume what is paused."""
        if not chosen.name:
            self._tell(NOTHING_SELECTED)
        elif chosen.paused_by:
            self._do(lambda: _lift(self._paths, chosen.name))
        else:
            self._do(lambda: describe_pause(pause(self._paths, chosen.name, by=_identify(), now=now), now=now))

    def note(self, chosen: Selection) -> None:
        """Ask for a note for the next prompt."""
        if not chosen.name:
            self._tell(NOTHING_SELECTED)
            return
        self._ask(
            f"Note for {chosen.label}",
            "It goes into the next agent's prompt.",
            lambda text: describe_note(add_note(self._paths, chosen.name, text, by=_identify())),
        )

    def answer(self, chosen: Selection) -> None:
        if not chosen.question:
            self._tell(f"{chosen.label or 'It'} has no open question. `n` leaves a note.")
            return
        self._ask(f"Answer {chosen.label}", chosen.question, lambda text: _answer(self._paths, chosen.name, text))

    def retry(self, chosen: Selection) -> None:
        """A task is reopened; a run that ended is resumed in the background."""
        if chosen.task:
            self._do(lambda: _retry(self._paths, chosen.task))
        elif chosen.run and chosen.kind == "run" and not chosen.is_running:
            self._do(lambda: _resume_run(self._paths, chosen.run))
        else:
            self._tell(f"{chosen.label} is running." if chosen.is_running else "Select a task, or a run that ended.")

    def change_priority(self, chosen: Selection, by: int) -> None:
        """1 comes before 2."""
        if not chosen.task:
            self._tell("Only tasks have a priority.")
            return
        wanted = max(0, chosen.priority + by)
        self._do(lambda: _set_priority(self._paths, chosen.task, wanted))

    def edit(self, task: Task) -> None:
        """In $EDITOR, with the terminal to itself."""
        text = self._run_editor(render_task_form(task))
        if text is not None:
            self._do(lambda: _apply_form(self._paths, task, text))

    def add_task(self, id_: str, spec: str) -> None:
        form = NEW_TASK_FORM.format(id=id_, spec=spec)
        text = self._run_editor(form)
        if text is None or text == form:
            self._tell("No task was created.")
        else:
            self._do(lambda: _create(self._paths, text))

    def stop_execute(self) -> None:
        """Ask how, where one is running."""

        def chosen(key: str | None) -> None:
            if key:
                self._do(lambda: _stop(self._paths, STOP_WAYS[key]))

        try:
            is_running = is_execute_running(self._paths)
        except RalphError as error:
            self._tell_error(error)
            return
        if not is_running:
            self._tell("No `ralph execute` is running here.")
            return
        self._screen.app.push_screen(ChoiceDialog("Stop `ralph execute`?", STOP_CHOICES), chosen)

    def cancel(self, chosen: Selection) -> None:
        if chosen.task and chosen.is_running:
            self._confirm(
                f"Cancel the work on {chosen.task}? What was done is kept.",
                lambda: format_cancelled_loop(cancel_task(self._paths, chosen.task)),
            )
        elif chosen.task and chosen.status in ("todo", "blocked"):
            self._confirm(
                f"Cancel {chosen.task}? It is not running; r reopens it.",
                lambda: _cancel_open_task(self._paths, chosen.task),
            )
        elif chosen.run and chosen.is_running:
            self._confirm(
                f"Cancel the {chosen.kind} {chosen.label}? What was done is kept.",
                lambda: format_cancelled_run(cancel_run(self._paths, chosen.run)),
            )
        elif chosen.name:
            self._tell(f"{chosen.label} is not running ({chosen.status.replace('_', ' ')}).")

    # -- asking and telling ---------------------------------------------------------------------
    def _ask(self, title: str, text: str, act: Callable[[str], str]) -> None:
        def answered(typed: str | None) -> None:
            if typed:
                self._do(lambda: act(typed))

        self._screen.app.push_screen(TextDialog(title, text), answered)

    def _confirm(self, question: str, act: Callable[[], str]) -> None:
        def answered(yes: bool | None) -> None:
            if yes:
                self._do(act)

        self._screen.app.push_screen(ConfirmDialog(question, "Cancel it", "Keep it"), answered)

    def _do(self, act: Callable[[], str]) -> None:
        start_job(self._screen, act, self._tell)

    def _tell(self, text: str) -> None:
        self._screen.notify(text, markup=False)

    def _tell_error(self, error: RalphError) -> None:
        self._screen.notify(f"{error.message}\n{error.hint}".strip(), severity="error", timeout=10, markup=False)

    def _run_editor(self, text: str) -> str | None:
        """What was saved; None where nothing was, or where there is no editor."""
        try:
            with self._screen.app.suspend():
                return click.edit(text, extension=".yaml")
        except click.ClickException as error:
            self._tell(f"{error.format_message()}: set $EDITOR to one that is installed")
        except SuspendNotSupported:
            self._tell("This terminal cannot open an editor; use `ralph task edit`.")
        return None


def _identify() -> str:
    return identify_person(os.environ, BOARD_COMMAND, via="board")


def _lift(paths: Paths, name: str) -> str:
    _identify()
    target = lift_pause(paths, name)
    return f"{name} is not paused." if target is None else describe_resume(target)


def _answer(paths: Paths, name: str, text: str) -> str:
    target = answer_question(paths, name, text, by=_identify())
    return describe_answer(target, is_execute_running=is_execute_running(paths))


def _retry(paths: Paths, task: str) -> str:
    _identify()
    return describe_retry(retry_task(paths, task), is_execute_running=is_execute_running(paths))


def _resume_run(paths: Paths, run: str) -> str:
    _identify()
    launch_loop(StartBody(kind="run", resume=run), paths, os.environ)
    return f"Run {run} resumes in the background."


def _set_priority(paths: Paths, task: str, priority: int) -> str:
    _identify()
    edit_task(paths, task, TaskEdit(priority=priority))
    return f"{task} has priority {priority} (1 comes before 2)."


def _apply_form(paths: Paths, task: Task, text: str) -> str:
    _identify()
    return f"Changed {task.id}." if apply_task_form(paths, task, text) else f"Nothing changed in {task.id}."


def _create(paths: Paths, text: str) -> str:
    _identify()
    return create_from_form(paths, text)


def _stop(paths: Paths, how: ExecuteEnd) -> str:
    _identify()
    stop_execute(paths, how)
    when = {"tasks": "after the tasks at work", "agents": "after the agents at work", "now": "now"}
    return f"`ralph execute` stops {when[how]}."


def _cancel_open_task(paths: Paths, task: str) -> str:
    _identify()
    edit_task(paths, task, TaskEdit(status="cancelled"))
    return f"Cancelled {task}."
