"""What every database guarantees of what people want: it is there for others at once, and outlives processes."""

from contracts.store_kit import DatabaseUnderTest, make_row, make_run
from ralph.model.board import Spec
from ralph.model.control import WHOLE_EXECUTE, OpenQuestion, PauseRecord, PersonNote, Subject
from ralph.model.spec import Task
from ralph.model.store_ports import Stores

RUN, TASK = Subject("run", "run-1"), Subject("task", "TASK-001")


def make_pause(subject: Subject, by: str = "alex", *, now: bool = False) -> PauseRecord:
    return PauseRecord(subject=subject, by=by, at=5.0, now=now)


def ask(stores: Stores, run: str, question: str, *, kind: str = "run", task: str = "") -> None:
    stores.runs.begin(make_run(run, kind=kind, task=task))
    stores.runs.append_last(make_row(run, 1), "blocked", "it asks", question)


class ControlStoreContract:
    """Pauses, notes, questions."""

    def test_a_pause_is_there_for_others_until_it_is_lifted(self, database: DatabaseUnderTest) -> None:
        one, other = database.connect().control, database.connect().control
        for subject in (RUN, TASK, WHOLE_EXECUTE):
            assert other.find_pause(subject) is None
            one.pause(make_pause(subject))
            assert other.find_pause(subject) == make_pause(subject)
        one.pause(make_pause(TASK, "kim", now=True))  # in the place of the first
        assert [pause.by for pause in other.list_pauses()].count("kim") == 1
        assert (other.lift(TASK), other.lift(TASK)) == (True, False)
        assert {pause.subject for pause in one.list_pauses()} == {RUN, WHOLE_EXECUTE}

    def test_runs_are_shown_as_paused_with_what_they_work_on(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        for run in (make_run("run-1"), make_run("e-1", kind="execute", task="TASK-001"), make_run("run-2")):
            stores.runs.begin(run)
        stores.control.pause(make_pause(RUN, "alex"))
        stores.control.pause(make_pause(TASK, "kim"))
        found = {run.id: run.paused_by for run in stores.runs.list_latest(9)}
        assert found == {"run-1": "alex", "e-1": "kim", "run-2": ""}

    def test_a_new_life_of_a_run_is_still_paused_and_hears_its_notes(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        run = make_run("run-1")
        stores.runs.begin(run)
        stores.control.pause(make_pause(RUN))
        note = stores.control.add_note(RUN, "Use tabs", by="alex", at=6.0)
        stores.runs.take_over("run-1", run.owner)
        assert stores.control.find_pause(RUN) == make_pause(RUN)
        assert stores.control.list_unheard(RUN) == [note] == [PersonNote(id=note.id, text="Use tabs", by="alex")]

    def test_a_loop_that_starts_anew_in_the_same_folder_inherits(self, database: DatabaseUnderTest) -> None:
        stores, heir = database.connect(), Subject("run", "run-2")
        stores.runs.begin(make_run("run-1", kind="supervise"))
        stores.control.pause(make_pause(RUN))
        heard, note = (stores.control.add_note(RUN, text, by="alex", at=6.0) for text in ("heard", "Use tabs"))
        stores.runs.append(make_row("run-1", 1), [heard.id])
        stores.runs.begin(make_run("run-2", kind="supervise"))
        assert stores.control.find_pause(RUN) is None
        assert stores.control.find_pause(heir) == make_pause(heir)
        assert stores.control.list_unheard(heir) == [note]
        stores.runs.begin(make_run("run-3"))  # another kind of loop does not
        assert stores.control.find_pause(Subject("run", "run-3")) is None

    def test_a_note_is_heard_with_the_row_of_the_journal(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        stores.runs.begin(make_run("run-1"))
        first, second = (stores.control.add_note(RUN, text, by="alex", at=6.0) for text in ("one", "two"))
        stores.runs.append(make_row("run-1", 1), [first.id])
        assert stores.control.list_unheard(RUN) == [second]
        assert [(kept.note.text, kept.heard_by) for kept in stores.control.list_notes(RUN)] == [
            ("one", "run-1"),
            ("two", ""),
        ]
        assert stores.control.list_unheard(TASK) == []

    def test_an_answer_is_a_note_and_closes_the_question(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        ask(stores, "run-1", "Tabs?")
        ask(stores, "e-1", "Red?", kind="execute", task="TASK-001")
        tabs, red = stores.control.list_questions()
        assert tabs == OpenQuestion(run="run-1", subject=RUN, text="Tabs?", at=101.0)
        assert (red.subject, red.text) == (TASK, "Red?")
        assert {run.id: run.question for run in stores.runs.list_latest(9)} == {"run-1": "Tabs?", "e-1": "Red?"}
        note = stores.control.answer(red, "Blue", by="kim", at=7.0)
        assert note is not None
        assert (note.text, note.by, note.question) == ("Blue", "kim", "Red?")
        assert stores.control.list_unheard(TASK) == [note]
        assert stores.control.answer(red, "Green", by="alex", at=8.0) is None
        assert stores.control.list_questions() == [tabs]

    def test_a_question_is_void_once_its_work_goes_on(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        ask(stores, "run-1", "Tabs?")
        ask(stores, "e-1", "Red?", kind="execute", task="TASK-001")
        stores.runs.take_over("run-1", make_run("run-1").owner)
        stores.runs.begin(make_run("e-2", kind="execute", task="TASK-001"))
        assert stores.control.list_questions() == []

    def test_a_paused_task_is_not_claimed_and_claiming_lifts_no_pause(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        spec = Spec(id="s", title="s", created_at=1.0, updated_at=1.0)
        stores.tasks.add_new([Task(id=name, spec_id="s", title="t") for name in ("TASK-001", "TASK-002")], [spec])
        stores.control.pause(make_pause(TASK))
        claimed = stores.tasks.claim("run-1")
        assert claimed is not None
        assert claimed.task.id == "TASK-002"
        assert stores.tasks.claim("run-2") is None
        assert stores.control.find_pause(TASK)
        stores.tasks.add_wish("TASK-001", "retry")
        assert stores.tasks.list_wished("retry") == {"TASK-001"}

    def test_what_was_told_a_task_or_a_run_is_gone_with_it(self, database: DatabaseUnderTest) -> None:
        stores = database.connect()
        spec = Spec(id="s", title="s", created_at=1.0, updated_at=1.0)
        stores.tasks.add_new([Task(id="TASK-001", spec_id="s", title="t")], [spec])
        stores.runs.begin(make_run("run-1"))
        for subject in (RUN, TASK):
            stores.control.pause(make_pause(subject))
            stores.control.add_note(subject, "Use tabs", by="alex", at=6.0)
        stores.runs.delete("run-1")  # it has not ended
        assert stores.control.find_pause(RUN)
        stores.runs.end("run-1", 9.0, "lost", "")
        stores.runs.delete("run-1")
        stores.tasks.delete("TASK-001")
        assert stores.control.list_pauses() == []
        assert [*stores.control.list_notes(RUN), *stores.control.list_notes(TASK)] == []

    def test_wishes_about_a_whole_execute_stay_until_they_are_cleared(self, database: DatabaseUnderTest) -> None:
        one, other = database.connect().control, database.connect().control
        for kind in ("tasks", "now", "now"):
            one.wish_execute_end(kind, 5.0)
        assert other.list_execute_wishes() == {"tasks", "now"}
        other.clear_execute_wishes()
        assert one.list_execute_wishes() == frozenset()
