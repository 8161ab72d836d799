"""The POST and PATCH routes: what a person may do, by the same use cases as on the command line."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import msgspec
from msgspec import Struct

from ralph.app.board.active import cancel_task
from ralph.app.board.tasks import TaskEdit, create_task, edit_task
from ralph.app.control.launching import StartBody
from ralph.app.control.notes import add_note, answer_question
from ralph.app.control.pausing import lift_execute_pause, lift_pause, pause, pause_execute
from ralph.app.control.stopping import ExecuteEnd, stop_execute, stop_gently
from ralph.app.control.tasks import is_execute_running, retry_task
from ralph.app.pipeline.judging import refuse_unjudged_tasks
from ralph.app.runs.status import cancel_run, find_run
from ralph.config.sources import load_settings
from ralph.faces.board_words import format_cancelled_loop, format_cancelled_run
from ralph.faces.views.shapes import DoneAnswer, LinkAnswer
from ralph.faces.web.answers import ApiCall
from ralph.faces.web.launch import launch_run
from ralph.model.errors import UsageError

SteeredKind = Literal["task", "run"]


class TextBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A note, or the answer to a question."""

    text: str


class PauseBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the agent at work is stopped as well; what it did is kept."""

    now: bool = False


class CancelBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`gently`: a run ends after its current step; else within two seconds."""

    gently: bool = False


class StopBody(Struct, frozen=True, forbid_unknown_fields=True):
    """`tasks`: those at work are finished; `agents`: agents at work finish; `now`: they are stopped. All work stays."""

    how: ExecuteEnd = "agents"


class EmptyBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing more to say."""


class TaskEditBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change; what is left out stays."""

    title: str | None = None
    description: str | None = None
    priority: int | None = None
    depends_on: tuple[str, ...] | None = None
    assignee: str | None = None
    status: Literal["todo", "blocked", "cancelled"] | None = None
    reason: str = ""  # for the status
    completion: Mapping[str, object] = {}


class Action(Struct, frozen=True, kw_only=True):
    """Something that may be done to a task or a run."""

    summary: str  # {kind}: task or run
    handle: Callable[[SteeredKind, ApiCall], DoneAnswer]
    body: type = EmptyBody


def note_subject(kind: SteeredKind, call: ApiCall) -> DoneAnswer:
    name = add_note(call.paths, call.names[kind], call.read_body(TextBody).text, by=call.context.by).name
    return DoneAnswer(message=f"The next agent of {name} will read it.", id=name)


def answer_subject(kind: SteeredKind, call: ApiCall) -> DoneAnswer:
    target = answer_question(call.paths, call.names[kind], call.read_body(TextBody).text, by=call.context.by)
    if target.task is None or is_execute_running(call.paths):
        then = "The next agent will read it." if target.task else "Resume the run to go on."
    else:
        then = "Start an execute to go on."
    return DoneAnswer(message=f"Answered {target.name}. {then}", id=target.name)


def pause_subject(kind: SteeredKind, call: ApiCall) -> DoneAnswer:
    target = pause(call.paths, call.names[kind], by=call.context.by, now=call.read_body(PauseBody).now)
    return DoneAnswer(message=f"Paused {target.name}.", id=target.name)


def resume_subject(kind: SteeredKind, call: ApiCall) -> DoneAnswer:
    """Lifts the pause; a run that has ended is started again."""
    call.read_body(EmptyBody)
    target = lift_pause(call.paths, call.names[kind])
    if target is not None:
        return DoneAnswer(message=f"Resumed {target.name}.", id=target.name)
    if kind == "run" and find_run(call.paths, call.names[kind]).ended_at is not None:
        return _start_again(call)
    raise UsageError(f"{call.names[kind]} is not paused", "there is nothing to resume")


def cancel_subject(kind: SteeredKind, call: ApiCall) -> DoneAnswer:
    gently = call.read_body(CancelBody).gently
    if gently and kind == "run":
        target = stop_gently(call.paths, call.names[kind])
        return DoneAnswer(message=f"{target.name} ends after its current step. Work is kept.", id=target.name)
    if gently:
        raise UsageError("a task is not cancelled gently", "pause it, or end the whole execute: POST executes/stop")
    if kind == "task":
        loop = cancel_task(call.paths, call.names[kind])
        return DoneAnswer(message=format_cancelled_loop(loop), id=loop.task)
    record = cancel_run(call.paths, call.names[kind])
    return DoneAnswer(message=format_cancelled_run(record), id=record.id)


def retry_subject(kind: SteeredKind, call: ApiCall) -> DoneAnswer:
    """A task is reopened; a run that has ended is resumed."""
    call.read_body(EmptyBody)
    if kind == "run":
        record = find_run(call.paths, call.names[kind])
        if record.ended_at is None:
            raise UsageError(f"run {record.id} has not ended", "wait for it, or cancel it")
        if record.kind != "execute":
            return _start_again(call)
    task = call.names[kind] if kind == "task" else find_run(call.paths, call.names[kind]).task
    name = retry_task(call.paths, task).name
    then = "A running execute picks it up." if is_execute_running(call.paths) else "Start an execute to work on it."
    return DoneAnswer(message=f"{name} is reopened. {then}", id=name)


def create_new_task(call: ApiCall) -> DoneAnswer:
    """Described as in YAML; its spec is created if it does not exist."""
    raw = call.read_body(dict[str, object])
    settings = load_settings(call.paths.folder, call.context.variables, seen_from=call.paths.started_in).settings

    task = create_task(
        call.paths,
        raw,
        makes_spec=True,
        check=lambda tasks: refuse_unjudged_tasks(tasks, settings, call.paths, call.context.variables),
    )
    return DoneAnswer(message=f"Created task {task.id}.", id=task.id)


def change_task(call: ApiCall) -> DoneAnswer:
    wanted = msgspec.convert(msgspec.structs.asdict(call.read_body(TaskEditBody)), TaskEdit)
    edit_task(call.paths, call.names["task"], wanted)
    return DoneAnswer(message=f"Changed task {call.names['task']}.", id=call.names["task"])


def end_execute(call: ApiCall) -> DoneAnswer:
    how = call.read_body(StopBody).how
    stop_execute(call.paths, how)
    words = {"tasks": "when its tasks are finished", "agents": "when its agents have finished", "now": "now"}
    return DoneAnswer(message=f"`ralph execute` ends {words[how]}. All work is kept.")


def pause_all(call: ApiCall) -> DoneAnswer:
    pause_execute(call.paths, by=call.context.by, now=call.read_body(PauseBody).now)
    return DoneAnswer(message="Paused `ralph execute`: no agent of any task starts.")


def resume_all(call: ApiCall) -> DoneAnswer:
    call.read_body(EmptyBody)
    target = lift_execute_pause(call.paths)
    return DoneAnswer(message="Resumed `ralph execute`." if target.is_running else "Start an execute to go on.")


def issue_link(call: ApiCall) -> LinkAnswer:
    call.read_body(EmptyBody)
    return LinkAnswer(call.context.issue_link())


def bind_action(kind: SteeredKind, action: Action) -> Callable[[ApiCall], DoneAnswer]:
    return partial(action.handle, kind)


def _start_again(call: ApiCall) -> DoneAnswer:
    record = find_run(call.paths, call.names["run"])
    if record.kind not in ("run", "story"):
        what = f"run {record.id} of `ralph {record.kind}` is not resumed by name"
        raise UsageError(what, f"start `ralph {record.kind}` again: it goes on where it stopped")
    body = StartBody(kind="run", resume=record.id) if record.kind == "run" else StartBody(kind="story")
    began = launch_run(body, call)
    return DoneAnswer(message=f"Resumed {began.run or record.id}.", id=began.run or record.id)


ACTIONS: Mapping[str, Action] = {
    "note": Action(summary="Tell the next agent of the {kind} something", handle=note_subject, body=TextBody),
    "answer": Action(summary="Answer what an agent of the {kind} asked", handle=answer_subject, body=TextBody),
    "pause": Action(summary="Start no more agents of the {kind}", handle=pause_subject, body=PauseBody),
    "resume": Action(summary="Let agents of the {kind} start again", handle=resume_subject),
    "cancel": Action(summary="Stop the work on the {kind}; work is kept", handle=cancel_subject, body=CancelBody),
    "retry": Action(summary="Try the {kind} again, from where it stopped", handle=retry_subject),
}
