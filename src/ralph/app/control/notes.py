"""Use cases: tell the next agent something, answer what one asked."""

import time
from uuid import uuid4

from ralph.app.control.targets import Target, find_target, find_task, open_for_control
from ralph.app.paths import Paths
from ralph.core.text.utf8 import refuse_undecoded
from ralph.model.board import Reopened
from ralph.model.control import RETRY_WISH, OpenQuestion, StoredNote, Subject
from ralph.model.errors import UsageError
from ralph.model.store_ports import Stores

MAX_NOTE_CHARS = 20_000  # it stands in a prompt, word for word


def add_note(places: Paths, name: str, text: str, *, by: str) -> Target:
    """It stands in the next prompt, and in no other. Where no agent will start any more, that is refused; a run that
    has ended and can be resumed hears it then."""
    text = _check_text(text)
    with open_for_control(places) as stores:
        target = find_target(stores, name)
        if target.subject.kind == "execute":
            raise UsageError("several tasks are running", "name the task the note is for: `ralph note TASK TEXT`")
        if target.has_ended_well:
            raise UsageError(f"{target.name} is done: no agent will read a note", "see `ralph status`")
        stores.control.add_note(target.subject, text, by=by, at=time.time())
        return target


def list_notes(places: Paths, name: str) -> list[StoredNote]:
    """All that people told it, in their order; answers, too."""
    with open_for_control(places) as stores:
        return stores.control.list_notes(find_target(stores, name).subject)


def list_questions(places: Paths) -> list[OpenQuestion]:
    """What agents asked and nobody has answered, the oldest first."""
    with open_for_control(places) as stores:
        return stores.control.list_questions()


def answer_question(places: Paths, name: str, text: str, *, by: str) -> Target:
    """The answer goes into the next prompt. A task is reopened, and a `ralph execute` that is running takes it up; a
    run is to be resumed. Without a name: the only question there is."""
    text = _check_text(text)
    with open_for_control(places) as stores:
        question = _find_question(stores, name)
        if stores.control.answer(question, text, by=by, at=time.time()) is None:
            raise UsageError("that question was answered in the meantime", "see `ralph status`")
        reopen_after_answer(stores, question.subject)
        return find_target(stores, question.subject.name)


def reopen_after_answer(stores: Stores, subject: Subject) -> None:
    if subject.kind != "task" or (entry := find_task(stores, subject.name)) is None:
        return
    if entry.task.status == "blocked":
        stores.tasks.apply([Reopened(subject.name)], f"answer:{uuid4()}")
    stores.tasks.add_wish(subject.name, RETRY_WISH)


def _find_question(stores: Stores, name: str) -> OpenQuestion:
    questions = stores.control.list_questions()
    if not name:
        if len(questions) > 1:
            names = ", ".join(question.subject.name for question in questions)
            raise UsageError("more than one question is open", f"name the one you answer: {names}")
        if not questions:
            raise UsageError("no agent has asked anything", "to tell one something, use `ralph note`")
        return questions[0]
    subject = find_target(stores, name).subject
    found = next((question for question in questions if question.subject == subject), None)
    if found is None:
        raise UsageError(f"{subject.name} has asked nothing", f"to tell it something: `ralph note {name} TEXT`")
    return found


def _check_text(text: str) -> str:
    refuse_undecoded(text, "the text")
    text = text.replace("\0", "").strip()
    if not text:
        raise UsageError("the text is empty", "write a few words")
    if len(text) > MAX_NOTE_CHARS:
        what = f"the text has {len(text)} characters; at most {MAX_NOTE_CHARS} fit in a prompt"
        raise UsageError(what, "put it in a file of the repository, and name that file")
    return text
