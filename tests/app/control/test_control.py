"""Steering what runs: which run or task is meant, and what is refused."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.control.notes import add_note, answer_question, list_notes
from ralph.app.control.pausing import lift_execute_pause, lift_pause, pause, pause_execute, refuse_resuming_at_work
from ralph.app.control.person import identify_person
from ralph.app.control.stopping import is_whole_execute, refuse_ending_others, stop_execute, stop_gently
from ralph.app.control.tasks import retry_task
from ralph.app.control.waiting import find_exit_code, wait_for_runs
from ralph.model.control import WHOLE_EXECUTE, Subject
from ralph.model.errors import InsideAgent, NoSuchRun, RalphError, UsageError
from ralph.process.lock import WorkTreeLock
from support.board_room import BoardFixture
from support.stores import connect


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path)
    yield room
    room.close()


def end(room: BoardFixture, run: str, outcome: str) -> None:
    room.runs.end(run, time.time(), outcome, "why")


def test_without_a_name_the_only_run_is_meant_and_several_tasks_are_one_execute(room: BoardFixture) -> None:
    room.put("One", "Two")
    room.begin("run-1", kind="run", task="")
    assert pause(room.places, "", by="alex").subject == Subject("run", "run-1")
    end(room, "run-1", "completed")
    room.begin("e-1", task="TASK-001")
    assert pause(room.places, "", by="alex").subject == Subject("task", "TASK-001")
    assert not is_whole_execute(room.places, "")
    room.begin("e-2", task="TASK-002")
    assert pause(room.places, "", by="alex").subject == WHOLE_EXECUTE
    assert is_whole_execute(room.places, "")
    room.begin("run-2", kind="run", task="")
    with pytest.raises(UsageError, match="more than one is running") as refused:
        pause(room.places, "", by="alex")
    assert "TASK-001" in refused.value.hint


@pytest.mark.parametrize("name", ["run-1", "run", "e-1", "TASK-001"])
def test_a_run_or_a_task_is_meant_by_its_name_or_the_beginning_of_it(room: BoardFixture, name: str) -> None:
    room.put("One")
    room.begin("run-1", kind="run", task="")
    room.begin("e-1", task="TASK-001")
    target = pause(room.places, name, by="alex", now=True)
    assert target.subject == (Subject("run", "run-1") if name.startswith("run") else Subject("task", "TASK-001"))
    assert target.is_running
    lifted = lift_pause(room.places, name)
    assert lifted is not None
    assert lifted.subject == target.subject
    assert lift_pause(room.places, name) is None


def test_what_is_at_work_is_not_resumed(room: BoardFixture) -> None:
    room.put("One")
    refuse_resuming_at_work(room.places, "")
    room.begin("run-1", kind="run", task="")
    for name in ("", "run-1"):
        with pytest.raises(UsageError, match="neither paused nor waiting"):
            refuse_resuming_at_work(room.places, name)
    refuse_resuming_at_work(room.places, "another")


def test_a_second_pause_only_adds_haste(room: BoardFixture) -> None:
    room.put("One")
    control = connect(room.places.database).control
    for by, now, found in (
        ("alex", False, ("alex", False)),
        ("kim", False, ("alex", False)),
        ("kim", True, ("kim", True)),
    ):
        pause(room.places, "TASK-001", by=by, now=now)
        (kept,) = control.list_pauses()
        assert (kept.by, kept.now) == found


def test_what_has_ended_is_not_paused_and_what_is_done_reads_no_notes(room: BoardFixture) -> None:
    room.put("One", "Two")
    room.begin("run-1", kind="run", task="")
    end(room, "run-1", "exhausted")
    with pytest.raises(NoSuchRun, match="has ended"):
        pause(room.places, "run-1", by="alex")
    add_note(room.places, "run-1", "For when it is resumed", by="alex")
    assert [kept.note.text for kept in list_notes(room.places, "run-1")] == ["For when it is resumed"]
    end(room, "run-1", "completed")
    room.finish("TASK-001")
    for name in ("run-1", "TASK-001"):
        with pytest.raises(UsageError, match="no agent will read"):
            add_note(room.places, name, "Too late", by="alex")
    add_note(room.places, "TASK-002", "Before it starts", by="alex")


@pytest.mark.parametrize("text", ["", "  \n", "\0", "x" * 20_001, "half \udcff"])
def test_a_note_that_says_nothing_or_too_much_is_refused(room: BoardFixture, text: str) -> None:
    room.put("One")
    with pytest.raises(RalphError):
        add_note(room.places, "TASK-001", text, by="alex")


def test_nothing_is_answered_that_nobody_asked(room: BoardFixture) -> None:
    room.put("One")
    for name, words in (("", "no agent has asked"), ("TASK-001", "has asked nothing"), ("x", "no run or task matches")):
        with pytest.raises(RalphError, match=words):
            answer_question(room.places, name, "Blue", by="alex")


def test_what_is_blocked_cancelled_or_failed_can_be_tried_again(room: BoardFixture) -> None:
    room.put("One", "Two")
    room.block("TASK-001", "it hangs")
    for name in ("TASK-001", "TASK-002"):
        retry_task(room.places, name)
    assert room.tasks.list_wished("retry") == {"TASK-001", "TASK-002"}
    assert {card.status for card in room.tasks.list_cards()} == {"todo"}
    room.finish("TASK-001")
    room.begin("e-1", task="TASK-002")
    for name in ("TASK-001", "TASK-002"):
        with pytest.raises(UsageError):
            retry_task(room.places, name)


def test_an_execute_is_ended_by_a_wish_and_only_where_one_runs(room: BoardFixture) -> None:
    room.put("One")
    with pytest.raises(NoSuchRun):
        stop_execute(room.places, "now")
    crew = WorkTreeLock(room.places.execute_lock)
    assert crew.acquire("execute") is None
    stop_execute(room.places, "tasks")
    room.begin("e-1", task="TASK-001")
    stop_gently(room.places, "")
    assert connect(room.places.database).control.list_execute_wishes() == {"tasks", "agents"}
    crew.release()
    room.begin("run-1", kind="run", task="")
    stop_gently(room.places, "run-1")
    assert room.runs.has_wish("run-1", "stop")


def test_waiting_ends_with_the_runs_or_with_the_time(room: BoardFixture) -> None:
    room.put("One")
    room.begin("run-1", kind="run", task="")
    room.begin("e-1", task="TASK-001")
    assert [run.ended_at for run in wait_for_runs(room.places, ["run-1"], timeout=0.0)] == [None]
    end(room, "run-1", "blocked")
    threading.Timer(0.1, end, (room, "e-1", "completed")).start()
    found = wait_for_runs(room.places, ["run-1", "TASK-001"], timeout=20)
    assert [find_exit_code(run) for run in found] == [3, 0]
    with pytest.raises(NoSuchRun, match="nothing is running"):
        wait_for_runs(room.places, [])


def test_a_run_whose_process_died_is_waited_for_no_longer(room: BoardFixture) -> None:
    room.put("One")
    room.begin("run-1", kind="run", task="", pid=room.living())
    room.close()
    assert [find_exit_code(run) for run in wait_for_runs(room.places, ["run-1"], timeout=20)] == [1]


def test_people_have_names_and_agents_have_none(monkeypatch: pytest.MonkeyPatch, room: BoardFixture) -> None:
    assert identify_person({"USER": "alex"}, "ralph pause") == "alex"
    assert identify_person({"RALPH_USER": " Kim\nLee "}, "ralph pause", via="web") == "Kim Lee (web)"
    assert identify_person({}, "ralph pause")
    for module in ("person", "stopping"):
        monkeypatch.setattr(f"ralph.app.control.{module}.find_enclosing_run", lambda variables: "run-1")
    with pytest.raises(InsideAgent, match="must not control runs"):
        identify_person({"USER": "alex"}, "ralph pause")
    room.put("One")
    room.begin("run-2", kind="run", task="")
    with pytest.raises(InsideAgent):
        refuse_ending_others(room.places, "run-2", {}, "ralph cancel")


def test_a_task_of_an_execute_that_is_paused_as_a_whole_is_resumed_with_the_others(room: BoardFixture) -> None:
    room.put("Login", "Logout")
    with pytest.raises(NoSuchRun):
        pause_execute(room.places, by="ada")
    crew = WorkTreeLock(room.places.execute_lock)
    assert crew.acquire("execute") is None
    pause_execute(room.places, by="ada")
    with pytest.raises(UsageError) as told:
        lift_pause(room.places, "TASK-001")
    assert "ada" in told.value.message
    assert "ralph resume" in told.value.hint
    assert lift_execute_pause(room.places).is_running
    with pytest.raises(UsageError):
        lift_execute_pause(room.places)
    assert lift_pause(room.places, "TASK-001") is None
    crew.release()
