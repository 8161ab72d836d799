"""What became of a wish to steer, in words and as JSON; every face uses them."""

from collections.abc import Sequence

from ralph.app.control.targets import Target
from ralph.core.text.plain import sanitize
from ralph.faces.clock import format_local_time
from ralph.model.control import OpenQuestion, StoredNote

_TIME_FORMAT = "%Y-%m-%d %H:%M"


def describe_pause(target: Target, *, now: bool) -> str:
    resume = f"ralph resume {target.subject.name}".rstrip()
    if not target.is_running:
        return f"Paused {target.name}: it will not start until you resume it: {resume}"
    effect = "its agent is stopped; work is kept" if now else "the current agent finishes, no other starts"
    return f"Paused {target.name}: {effect}. Resume with: {resume}"


def describe_resume(target: Target, *, is_execute_running: bool = False) -> str:
    if target.is_running or (is_execute_running and target.subject.kind == "task"):
        return f"Resumed {target.name}; follow it with: ralph logs -f"
    return f"Removed the pause of {target.name}. {suggest_start(target)}"


def suggest_start(target: Target) -> str:
    """What to type where nothing runs it."""
    if target.subject.kind != "run":
        return f"Start it with: ralph execute {target.subject.name}".rstrip()
    run = target.run
    if run is None or run.kind == "run":
        return f"Resume it with: ralph resume {target.subject.name}"
    return f"Start it again with: ralph {'story run' if run.kind == 'story' else f'supervise {run.folder}'}"


def describe_note(target: Target) -> str:
    text = f"Noted for {target.name}: it goes into the next prompt."
    return text if target.is_running or target.subject.kind == "task" else f"{text} {suggest_start(target)}"


def describe_answer(target: Target, *, is_execute_running: bool) -> str:
    if target.subject.kind == "task" and is_execute_running:
        return f"Answered {target.name}: it is reopened, and `ralph execute` picks it up."
    return f"Answered {target.name}. {suggest_start(target)}"


def describe_retry(target: Target, *, is_execute_running: bool) -> str:
    if is_execute_running:
        return f"{target.name} is reopened, and `ralph execute` picks it up."
    return f"{target.name} is reopened. {suggest_start(target)}"


def describe_gentle_stop(target: Target) -> str:
    return f"{target.name} ends after its current step; its work is kept. {suggest_start(target)}"


def render_questions(questions: Sequence[OpenQuestion]) -> str:
    if not questions:
        return "No agent has asked anything."
    found = [f"{question.subject.name}  {sanitize(question.text)}" for question in questions]
    return "\n".join([*found, f"Answer with: ralph answer {questions[0].subject.name} TEXT"])


def render_notes_list(notes: Sequence[StoredNote]) -> str:
    return "\n".join(map(_format_note, notes)) or "No notes."


def target_to_dict(target: Target) -> dict[str, object]:
    return {
        "kind": target.subject.kind,
        "name": target.subject.name,
        "run": target.run.id if target.run else None,
        "running": target.is_running,
    }


def question_to_dict(question: OpenQuestion) -> dict[str, object]:
    subject = question.subject
    return {
        "kind": subject.kind,
        "name": subject.name,
        "run": question.run,
        "question": question.text,
        "at": question.at,
    }


def note_to_dict(stored: StoredNote) -> dict[str, object]:
    return {
        "id": stored.note.id,
        "text": stored.note.text,
        "by": stored.note.by,
        "at": stored.at,
        "question": stored.note.question or None,
        "heardBy": stored.heard_by or None,
    }


def _format_note(stored: StoredNote) -> str:
    state = f"delivered in run {stored.heard_by}" if stored.heard_by else "not delivered yet"
    when = format_local_time(_TIME_FORMAT, stored.at)
    return f"{when}  {stored.note.by}  {sanitize(stored.note.text)}  ({state})"
