"""Runs on the board: their cards, their log, their page, and how they are found."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from textual import _wait

from ralph.faces.tui.dialogs import CardDialog
from ralph.model.events import GateEnded, Said, ToolStarted
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
from support.board_screen import Watcher, watch

RED = Checked((GateResult(gate="pytest", passed=False, exit_code=1, summary="2 failed, 38 passed"),))
CHECK = (Reported(outcome="finished"), Check(("pytest",), 1))
GREEN = Checked((GateResult(gate="pytest", passed=True),))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardFixture]:
    monkeypatch.setattr("ralph.app.board.watch.READ_PAUSE_FACTOR", 0)
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", 0.004)
    room = BoardFixture(tmp_path)
    yield room
    room.close()


def play_run(room: BoardFixture, run: str, prompt: str, *steps: tuple[Fact, Decision]) -> None:
    room.begin(run, kind="run", prompt=prompt)
    iteration = 0
    for seq, (fact, decision) in enumerate(steps, 1):
        iteration += isinstance(decision, RunAgent)
        seen = msgspec.json.encode(Observation(fact=fact, at=60.0 * seq, wall=60.0 * seq))
        doing = "run_agent" if isinstance(decision, RunAgent) else "stop"
        row = (run, seq, 60.0 * seq, 60.0 * seq, iteration, 10, 0.42, doing, seen, msgspec.json.encode(decision))
        room.runs.append(row)
    if isinstance(steps[-1][1], Stop):
        room.runs.end(run, 600.0, steps[-1][1].outcome.value, steps[-1][1].why)


def agent(iteration: int) -> RunAgent:
    return RunAgent(Brief(iteration=iteration, limit=10))


def test_without_tasks_runs_fill_the_board(room: BoardFixture) -> None:
    play_run(room, "run-old", "Fix upload", (Began(), agent(1)), CHECK, (GREEN, Stop(Outcome.COMPLETED, "all green")))
    play_run(room, "run-new", "# Upgrade\nall of it", (Began(), agent(1)), CHECK, (RED, agent(2)))
    room.tell("run-new", ToolStarted(id="1", name="Edit", summary="setup.py"))

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert re.search(r"1 running .*2 runs", seen)
        assert "Todo" not in seen
        assert re.search(r"✗● Upgrade +run-new  ↻ 2/10", seen)
        assert "run · claude · 2/10 iterations" in seen
        assert "$0.42" in seen
        assert "● Edit setup.py" in seen
        assert "✗ pytest" in seen
        assert "pytest: 2 failed, 38 passed" in seen
        assert re.search(r"✓ Fix upload +run-old  ✓ completed", seen)
        assert "Run: Upgrade" in seen

    watch(room, play)


def test_beside_tasks_runs_have_a_lane(room: BoardFixture) -> None:
    room.put("Login")
    play_run(room, "run-1", "Upgrade", (Began(), agent(1)), CHECK, (RED, Stop(Outcome.EXHAUSTED, "1 iteration used")))

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert re.search(r"Todo 1 .*Done 0 .*Runs 1", seen)
        assert re.search(r"✗ +✗ exhausted", seen)
        assert "1 iteration used" in seen
        await watcher.press("h")  # from Todo, round the corner
        assert watcher.app.board_screen.current_lane == "runs"

    watch(room, play)


def test_the_log_of_a_selected_card_is_its_own_until_escape(room: BoardFixture) -> None:
    room.put("Login", "Logout", "Old")
    for number in (1, 2):
        room.begin(f"run-{number}", f"TASK-00{number}", jobs=2)
        room.tell(f"run-{number}", Said(f"word of {number}"))
    room.finish("TASK-003", "run-3")
    room.tell("run-3", Said("word of 3"))

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert "Log: all agents" in seen
        assert "word of 1" in seen
        assert "word of 2" in seen
        seen = await watcher.press("j")
        assert "Log: TASK-002" in seen
        assert "word of 1" not in seen
        room.tell("run-2", Said("more of 2"))
        room.tell("run-1", Said("more of 1"))
        seen = await watcher.look()
        assert "more of 2" in seen
        assert "more of 1" not in seen
        await watcher.press("h", "h", "j")  # to Done, whose run has ended
        assert "word of 3" in await watcher.look()
        seen = await watcher.press("escape")
        assert "Log: all agents" in seen
        assert "more of 1" in seen
        assert "Log: TASK-003" in await watcher.press("o")
        assert "Log: all agents" in await watcher.press("o")

    watch(room, play)


def test_a_failed_check_shows_its_last_lines_in_the_log(room: BoardFixture) -> None:
    room.begin("run-1", kind="run")
    tail = "E  assert 1 == 2\nFAILED test_calc.py"
    failed = GateEnded(gate="pytest", passed=False, exit_code=1, seconds=1.0, tail=tail, log="g.log", detail="1 bad")
    room.tell("run-1", failed)

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        for text in ("pytest failed: 1 bad", "E  assert 1 == 2", "FAILED test_calc.py", "full output: g.log"):
            assert text in seen

    watch(room, play)


def test_a_filter_says_how_many_are_left_and_goes_to_the_first(room: BoardFixture) -> None:
    room.put("Login", "Logout")
    play_run(room, "run-1", "Upgrade the parser", (Began(), agent(1)), CHECK, (RED, Stop(Outcome.EXHAUSTED, "")))

    async def play(watcher: Watcher) -> None:
        await watcher.press("slash", *"logo")
        seen = await watcher.look()
        assert "Filter: logo" in seen
        assert "1 of 3" in seen
        await watcher.press("enter")
        assert watcher.chosen() == "TASK-002"
        await watcher.press("escape", "slash", *"pars", "enter")
        assert watcher.app.board_screen.current_lane == "runs"
        seen = await watcher.press("escape")
        assert "Filter:" not in seen

    watch(room, play)


def test_enter_shows_how_a_run_went(room: BoardFixture) -> None:
    play_run(room, "run-1", "Upgrade", (Began(), agent(1)), CHECK, (RED, Stop(Outcome.EXHAUSTED, "1 iteration used")))

    async def play(watcher: Watcher) -> None:
        await watcher.press("enter")
        assert isinstance(watcher.app.screen, CardDialog)
        assert await watcher.until("Last failure: iteration 1: pytest: 2 failed, 38 passed")
        seen = await watcher.look()
        assert "exhausted: 1 iteration used" in seen
        assert "What changed: unknown (run run-1 has no snapshots)" in seen
        await watcher.press("escape")
        assert watcher.is_at_board()

    watch(room, play)
