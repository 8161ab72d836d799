"""Runs as cards: titles, strips, and what is read of a journal."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from ralph.app.board.iteration_strip import build_strip
from ralph.app.board.run_cards import RunCard, RunCardReader, find_failure, list_shown_runs
from ralph.app.board.run_titles import describe_request
from ralph.app.runs.journal_reader import CheckLine, Iteration, LandedLine, ReviewLine
from ralph.core.prompt_title import take_prompt_title
from ralph.model.loop import (
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Observation,
    Outcome,
    Reported,
    RunAgent,
    Stop,
)
from support.board_room import BoardFixture

RED, GREEN = CheckLine(name="pytest", passed=False, summary="2 failed"), CheckLine(name="pytest", passed=True)
NOT_DONE = CheckLine(name="DONE", passed=False)


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Fix the tests", "Fix the tests"),
        ("\n\n# Fix the tests\nof calc", "Fix the tests"),
        ("---\n===\n- fix them", "- fix them"),
        ("use sk-ant-api03-" + "a" * 40, "use ***"),
        ("", ""),
    ],
)
def test_the_title_is_the_first_line_that_says_something(prompt: str, title: str) -> None:
    assert take_prompt_title(prompt).replace("[redacted]", "***") == title


def test_each_loop_has_a_title_of_its_own(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_text("# Migrate\nall files")
    by_file = b'{"prompt_file": "%s"}' % os.fsencode(prompt)
    assert describe_request("run", by_file, "") == "Migrate"
    assert describe_request("run", b'{"prompt_file": "gone.md", "title": "As it was"}', "") == "As it was"
    assert describe_request("run", b'{"prompt_file": "/gone/prompt.md"}', "") == "prompt.md"
    assert (
        describe_request("story", b'{"place": {"project": "/app", "folder": "/app/ralph"}}', "") == "stories of ralph"
    )
    assert describe_request("supervise", b"{}", "release") == "release"
    assert describe_request("run", b"\xff", "") == ""


@pytest.mark.parametrize(
    ("iteration", "mark"),
    [
        (Iteration(iteration=1, outcome="finished", checks=(RED,)), "failed"),
        (Iteration(iteration=1, outcome="finished", checks=(RED, GREEN)), "passed"),
        (Iteration(iteration=1, outcome="finished"), "open"),
        (Iteration(iteration=1, outcome="finished", checks=(NOT_DONE,)), "open"),
        (Iteration(iteration=1, outcome="finished", checks=(RED, NOT_DONE)), "failed"),
        (Iteration(iteration=1, outcome="crashed"), "failed"),
        (Iteration(iteration=1, outcome="interrupted"), "open"),
        (Iteration(iteration=1), "open"),
        (Iteration(iteration=1, outcome="finished", reviewed=ReviewLine("approved", 1, "")), "passed"),
        (Iteration(iteration=1, outcome="finished", reviewed=ReviewLine("needs_review", 0, "")), "open"),
        (Iteration(iteration=1, outcome="finished", reviewed=ReviewLine("changes_requested", 1, "no")), "failed"),
        (
            Iteration(
                iteration=1,
                outcome="finished",
                checks=(GREEN,),
                landed=LandedLine(done=False, commit="", conflict="a.py", red="", problem="", stale=False),
            ),
            "failed",
        ),
    ],
)
def test_an_iteration_has_one_mark(iteration: Iteration, mark: str) -> None:
    assert build_strip([Iteration(iteration=0), iteration]) == (mark,)


def test_the_last_mark_is_that_of_the_run() -> None:
    begun, finished = Iteration(iteration=2), Iteration(iteration=2, outcome="finished")
    red = Iteration(iteration=1, outcome="finished", checks=(RED,))
    assert build_strip([red, begun], is_active=True) == ("failed", "active")
    assert build_strip([red, finished], outcome="completed") == ("failed", "passed")
    assert build_strip([], is_active=True) == ()


def test_the_last_failure_is_told_until_it_is_mended() -> None:
    red = Iteration(iteration=1, outcome="finished", checks=(RED,))
    green = Iteration(iteration=2, outcome="finished", checks=(GREEN,))
    assert find_failure([red, Iteration(iteration=2)]) == "pytest: 2 failed"
    assert find_failure([red, green]) == ""
    assert find_failure([Iteration(iteration=1, outcome="crashed", detail="exit code 9")]) == "exit code 9"
    asked = Iteration(iteration=1, outcome="finished", reviewed=ReviewLine("changes_requested", 1, "name it"))
    assert find_failure([asked]) == "review: name it"


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path)
    yield room
    room.close()


def append(room: BoardFixture, seq: int, fact: Fact, decision: Decision) -> None:
    seen = msgspec.json.encode(Observation(fact=fact, at=float(seq), wall=float(seq)))
    doing = "stop" if isinstance(decision, Stop) else "run_agent"
    room.runs.append(("run-1", seq, float(seq), float(seq), 1, 5, 0.25, doing, seen, msgspec.json.encode(decision)))


def read(room: BoardFixture, reader: RunCardReader) -> RunCard:
    (card,) = reader.read_cards(room.runs, list_shown_runs(room.runs, 9))
    return card


def test_a_card_goes_on_where_its_journal_was_read_to(room: BoardFixture) -> None:
    room.begin("run-1", kind="run")
    reader = RunCardReader()
    failed = GateResult(gate="pytest", passed=False, exit_code=1, summary="2 failed")
    append(room, 1, Began(), RunAgent(Brief(iteration=1, limit=5)))
    assert read(room, reader).strip == ("active",)
    append(room, 2, Reported(outcome="finished"), Check(("pytest",), 1))
    append(room, 3, Checked((failed,)), RunAgent(Brief(iteration=2, limit=5)))
    card = read(room, reader)
    assert (card.strip, card.failure) == (("failed", "active"), "pytest: 2 failed")
    assert card.checks == (("pytest", False),)
    append(room, 4, Reported(outcome="finished"), Stop(Outcome.COMPLETED, "done"))
    room.runs.end("run-1", 9.0, "completed", "done")
    card = read(room, reader)
    assert (card.strip, card.failure, card.cost_usd) == (("failed", "passed"), "", 0.25)
    assert read(room, reader) is card


def test_runs_of_tasks_are_no_cards_and_open_runs_come_first(room: BoardFixture) -> None:
    room.put("Login")
    room.begin("older", kind="supervise", task="release")
    room.begin("run-1", kind="run")
    room.runs.end("run-1", 9.0, "completed", "done")
    room.begin("task-run", "TASK-001")
    assert [record.id for record in list_shown_runs(room.runs, 1)] == ["older", "run-1"]
