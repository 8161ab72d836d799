"""The board as people see and use it, on a screen that is not there."""

import asyncio
import gc
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual import _wait

from ralph.core.text.plain import count_cells
from ralph.faces.glyphs import ASCII_GLYPHS, EMOJI_GLYPHS
from ralph.faces.tui.dialogs import CardDialog, ConfirmDialog, HelpDialog
from ralph.faces.tui.log import LogPanel
from ralph.faces.tui.log_book import MAX_LOG_LINES
from ralph.model.board import Attempted, GaveUp, IterationEnded, Released
from ralph.model.events import (
    AgentEnded,
    Committed,
    Event,
    Finished,
    GateEnded,
    GateStarted,
    IterationStarted,
    Noted,
    Planned,
    RunEnded,
    RunStarted,
    Said,
    Todo,
    ToolEnded,
    ToolStarted,
    Waiting,
    Warned,
)
from ralph.model.spec import VerificationAttempt
from support.board_room import BoardFixture
from support.board_screen import WIDE, Watcher, watch

NARROW = (80, 24)


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardFixture]:
    monkeypatch.setattr("ralph.app.board.watch.READ_PAUSE_FACTOR", 0)
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", 0.004)  # how long a pilot sees that nothing happens, at each key
    room = BoardFixture(tmp_path)
    yield room
    room.close()


def test_lanes_have_counts_and_a_running_card_its_iteration(room: BoardFixture) -> None:  # 000-19, 002-25
    room.put("Implement authentication", "Second", "Third", "Fourth")
    room.begin("run-1", "TASK-001")
    room.iterate("TASK-001", 3, most=15)
    room.finish("TASK-004")

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert re.search(r"Todo 2 .*Coder 1 .*Reviewer 0 .*Tester 0 .*QA 0 .*Done 1 ", seen)
        lane = watcher.lane("coder")
        name, title, more, rule, state, gap = [lane.render_line(y).text.strip("▌ ") for y in range(6)]
        assert (name, title, more) == ("TASK-001", "Implement", "authentication")
        assert set(rule) == {"─"}
        assert (state, gap) == ("🔄 Coder (3/15)", "")

    watch(room, play, glyphs=EMOJI_GLYPHS)


def test_a_slot_tells_role_task_iteration_and_time(room: BoardFixture) -> None:  # 000-19
    room.put("Login")
    room.begin("run-1", "TASK-001", jobs=2)
    room.iterate("TASK-001", 3, most=15, ago=323)
    room.tell("run-1", ToolStarted(id="1", name="Bash", summary="pytest -q"))

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert re.search(
            r"Slot 1: coder .*\n.*  Task: TASK-001 .*\n.*  Ralph: iteration 3/15 .*\n.*  Running: 5m [2-5]\ds .*\n"
            r".*  ● Bash pytest -q .*\n(.*\n)*.*Slot 2: idle",
            seen,
        )

    watch(room, play)


def test_the_detail_shows_criteria_attempts_history_and_failure(room: BoardFixture) -> None:  # 002-25
    room.put("Login")
    room.begin("run-1", "TASK-001")
    room.iterate("TASK-001", 1, most=7)
    tried = VerificationAttempt(
        iteration=1,
        promise_found=True,
        verified=False,
        reason="Command exited with 1",
        timestamp="2026-01-01T00:00:00Z",
        agent="coder",
        method="external",
    )
    room.change(
        Attempted("TASK-001", tried, "run-1"),
        IterationEnded(
            task="TASK-001",
            stage="coder",
            iteration=1,
            max_iterations=7,
            promise_found=True,
            continuing=True,
            duration_ms=1500,
            at=1.0,
            outcome="finished",
            run="run-1",
        ),
        GaveUp(task="TASK-001", iterations_used=7, last_output="", reason="It never worked"),
    )

    async def play(watcher: Watcher) -> None:
        seen = await watcher.press("enter")
        assert isinstance(watcher.app.screen, CardDialog)
        for text in (
            "TASK-001 works",
            "- [ ] it is there",
            "coder: TASK-001_BUILT · verified by external · at most 7 iterations",
            "command: test -f TASK-001",
            "reviewer: REVIEW_PASSED (default) · verified by semantic · at most 5 iterations",
            "tester: TESTS_PASSED (default)",
            "qa: QA_PASSED (default)",
            "Last failure (coder, 7 iterations): It never worked",
            "✗ coder 1  2026-01-01T00:00:00Z  external: Command exited with 1",
            "coder 1/7  finished · promised · 1.5s",
        ):
            assert text in seen
        await watcher.press("escape")
        assert watcher.is_at_board()

    watch(room, play, size=(160, 60))


def test_a_detail_that_is_open_is_kept_true_and_closed_with_its_task(room: BoardFixture) -> None:
    room.put("Login")

    async def play(watcher: Watcher) -> None:
        assert "priority 0 · todo" in await watcher.press("enter")
        room.block("TASK-001", "needs a key")
        assert "Blocked: needs a key" in await watcher.look()
        await watcher.press("G", "k")
        room.tasks.delete("TASK-001")
        await watcher.look()
        await watcher.pilot.pause()
        assert watcher.is_at_board()

    watch(room, play, size=(120, 60))


def test_keys_move_between_lanes_and_cards(room: BoardFixture) -> None:
    room.put(*(f"Task number {number}" for number in range(1, 31)))
    room.begin("run-1", "TASK-030")

    async def play(watcher: Watcher) -> None:
        assert watcher.app.board_screen.current_lane == "coder"  # where there is something to see
        await watcher.press("h")
        assert watcher.chosen() == "TASK-001"
        await watcher.press("j", "down")
        assert watcher.chosen() == "TASK-003"
        await watcher.press("k", "up", "up")
        assert watcher.chosen() == "TASK-001"
        seen = await watcher.press("G")
        assert watcher.chosen() == "TASK-029"
        assert "TASK-029" in seen
        assert "TASK-001" not in seen
        await watcher.press("pageup")
        assert "TASK-001" < watcher.chosen() < "TASK-029"
        await watcher.press("g", "pagedown")
        assert "TASK-001" < watcher.chosen() < "TASK-029"
        await watcher.press("l", "right")
        assert watcher.app.board_screen.current_lane == "reviewer"
        await watcher.press("left", "left", "left")
        assert watcher.app.board_screen.current_lane == "done"  # after the first comes the last

    watch(room, play)


def test_the_cursor_stays_with_its_card(room: BoardFixture) -> None:
    room.put("First", "Second", "Third")

    async def play(watcher: Watcher) -> None:
        await watcher.press("j")
        room.begin("run-1", "TASK-001")
        await watcher.look()
        assert watcher.chosen() == "TASK-002"
        room.begin("run-2", "TASK-002")
        await watcher.look()
        assert watcher.chosen() == "TASK-003"

    watch(room, play)


def test_tab_goes_round_the_panels(room: BoardFixture) -> None:
    room.put("Login")

    async def play(watcher: Watcher) -> None:
        focused = []
        for key in ("tab", "tab", "tab", "shift+tab"):
            await watcher.press(key)
            focused.append(watcher.app.focused.id if watcher.app.focused else "")
        assert focused == ["slots", "log", "lane-todo", "log"]

    watch(room, play)


def test_a_filter_narrows_all_lanes_until_escape(room: BoardFixture) -> None:
    room.put("Login", "Logout")
    room.put("Basket", spec="shop")

    async def play(watcher: Watcher) -> None:
        seen = await watcher.press("slash", "s", "h", "o", "p")
        assert "Todo 1" in seen
        assert "Basket" in seen
        assert "Login" not in seen
        await watcher.press("enter")
        assert watcher.chosen() == "TASK-003"
        assert "Todo 3" in await watcher.press("escape")

    watch(room, play)


def test_cancelled_tasks_are_counted_and_shown_on_demand(room: BoardFixture) -> None:
    room.put("Login", "Logout")
    room.cancel("TASK-002")

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert "0/1 task done · 1 cancelled" in seen
        assert "Logout" not in seen
        seen = await watcher.press("c")
        assert "Todo 2" in seen
        assert "✗ cancelled" in seen

    watch(room, play)


def test_a_blocked_task_says_why(room: BoardFixture) -> None:
    room.put("Login")
    room.block("TASK-001", "needs a key")

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert "! blocked" in seen
        assert "needs a key" in seen
        assert "1 blocked" in seen

    watch(room, play)


def test_a_killed_worker_is_cut_off(room: BoardFixture) -> None:
    pid = room.living()
    room.put("Login")
    room.begin("run-1", "TASK-001", pid=pid)
    room.iterate("TASK-001", 3)

    async def play(watcher: Watcher) -> None:
        assert "1 running" in await watcher.look()
        room.kill(pid)
        seen = await watcher.look()
        assert "idle" in seen
        assert "! cut off" in seen
        assert "at Coder (3/15);" in seen
        assert "Slot 1" not in seen

    watch(room, play)


def test_without_tasks_the_next_command_is_told(room: BoardFixture) -> None:
    async def play(watcher: Watcher) -> None:
        assert "ralph task create" in await watcher.look()
        room.put("Login")  # a database appears
        assert "Todo 1" in await watcher.look()

    watch(room, play)


def test_the_live_log_shows_every_kind_of_event_on_one_line(room: BoardFixture) -> None:
    room.begin("run-1", kind="run")
    todos = (Todo("Read", "done"), Todo("Write", "active"))
    events: dict[Event, str] = {
        RunStarted(run="run-1", agent="claude", limit=10): "→ claude starts",
        IterationStarted(3, 10): "━━ Iteration 3/10",
        Said("I see.\nMore."): "I see.",
        Said("Hm", thinking=True): "· Hm",
        ToolStarted(id="1", name="Read", summary="a.py"): "● Read a.py",
        ToolEnded(id="1", output="x\ny", error=None, lines=2, chars=3): "└ 2 lines: x",
        ToolEnded(id="2", output="", error="no such file"): "✗ no such file",
        ToolEnded(id="3"): "└ no output",
        Planned(todos): "▸ Todo 1/2: Write",
        Noted("retrying"): "· retrying",
        AgentEnded(
            iteration=3, outcome="finished", detail="", seconds=12.0, cost_usd=0.25
        ): "✓ Agent finished in 12s · $0.25",
        AgentEnded(iteration=3, outcome="timed_out", detail="took too long", seconds=12.0): "✗ took too long",
        GateEnded(gate="make test", passed=True, exit_code=0, seconds=1.2): "✓ make test passed (1.2s)",
        GateEnded(gate="make lint", passed=False, exit_code=2, seconds=1.2): "✗ make lint failed: exit code 2",
        Committed(("commit",), "Do it"): "✓ Do it",
        Committed(problems=("no remote",)): "! no remote",
        Waiting(90, "rate limit"): "▸ Waiting 1m30s: rate limit",
        Warned("careful"): "! careful",
        RunEnded(
            run="run-1", outcome="completed", why="all green", exit_code=0, iterations=3, seconds=60.0
        ): "✓ Completed: all green",
    }
    hidden = (Finished(ok=True), GateStarted("make test"))
    room.tell("run-1", *events, *hidden)

    async def play(watcher: Watcher) -> None:
        await watcher.look()
        log = watcher.app.board_screen.query_one("#log", LogPanel)
        lines = [
            log.render_line(y).text.rstrip() for y in range(-log.scroll_offset.y, len(events) - log.scroll_offset.y)
        ]
        assert [line.split("  ", 1)[1] for line in lines] == [
            *(f"{text} · agent" if text.startswith("━━") else text for text in events.values())
        ]
        assert log.virtual_size.height == len(events)

    watch(room, play)


def test_the_log_follows_until_someone_scrolls_up(room: BoardFixture) -> None:
    room.begin("run-1", kind="run")
    room.tell("run-1", *(Said(f"word {number}") for number in range(100)))

    async def play(watcher: Watcher) -> None:
        assert "word 99" in await watcher.look()
        await watcher.press("tab", "tab")
        seen = await watcher.press("k", "pageup")
        assert "paused: f to follow" in seen
        at = watcher.app.board_screen.query_one("#log", LogPanel).scroll_offset.y
        room.tell("run-1", Said("the newest"))
        assert "the newest" not in await watcher.look()
        assert watcher.app.board_screen.query_one("#log", LogPanel).scroll_offset.y == at
        assert "the newest" in await watcher.press("f")
        assert "paused: f to follow" in await watcher.press("f")
        assert "the newest" in await watcher.press("g", "G")

    watch(room, play)


def test_the_log_is_bounded(room: BoardFixture) -> None:
    room.begin("run-1", kind="run")

    async def play(watcher: Watcher) -> None:
        for _ in range(3):
            room.tell("run-1", *(Said(f"{number}") for number in range(MAX_LOG_LINES // 2)))
            await watcher.look()
        assert watcher.app.board_screen.query_one("#log", LogPanel).virtual_size.height == MAX_LOG_LINES

    watch(room, play)


def test_what_agents_and_titles_hide_is_removed(room: BoardFixture) -> None:
    room.put("Red \x1b[31malert\x1b[0m \x07and [bold]markup[/bold]")
    room.block("TASK-001", "\x1b]0;title\x07why")
    room.begin("run-1", kind="run")
    room.tell(
        "run-1",
        Said("\x1b[2Jgone\x1b]52;c;x\x07 [red]not red[/]"),
        ToolStarted(id="1", name="Ba\x1b[5msh", summary="ls\r\nrm"),
    )

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", seen)
        assert "gone [red]not red[/]" in seen
        assert "● Bash ls rm" in seen
        assert "Red alert and" in seen
        details = await watcher.press("l", "enter")
        assert "[bold]markup[/bold]" in details
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", details)

    watch(room, play)


def test_wide_characters_take_their_cells(room: BoardFixture) -> None:
    room.put("商品検索を全文検索にする仕組みを作る", "👩‍💻 🔍 emoji")

    async def play(watcher: Watcher) -> None:
        await watcher.look()
        lane = watcher.lane("todo")
        width = lane.scrollable_content_region.width
        assert {count_cells(lane.render_line(y).text) for y in range(8)} == {width}
        assert "商品検索" in lane.render_line(1).text

    watch(room, play)


def test_a_narrow_screen_shows_one_lane_and_tabs(room: BoardFixture) -> None:
    room.put("Login", "Logout")
    room.begin("run-1", "TASK-002")

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert re.search(r" Todo 1  Coder 1  Reviewer 0  Tester 0  QA 0  Done 0 ", seen)
        assert "TASK-002" in seen
        assert "Login" not in seen
        assert "Login" in await watcher.press("h")
        assert "Slot 1: coder" in await watcher.press("tab")
        assert "Log: all agents" in await watcher.press("tab")
        await watcher.pilot.resize_terminal(*WIDE)
        assert await watcher.until("Login")
        assert await watcher.until("Logout")

    watch(room, play, NARROW)


@pytest.mark.parametrize("size", [(20, 5), (1, 1)], ids=str)
def test_no_size_is_too_odd(room: BoardFixture, size: tuple[int, int]) -> None:
    room.put("Login", "商品検索")
    room.begin("run-1", "TASK-001")
    room.tell("run-1", Said("word " * 100))

    async def play(watcher: Watcher) -> None:
        await watcher.press("G", "tab", "j", "tab", "k", "tab", "enter")
        await watcher.press("escape", "x", "escape", "slash", "a")
        assert watcher.app.is_running

    watch(room, play, size)


def test_every_sign_is_ascii_where_nothing_else_can_be_drawn(room: BoardFixture) -> None:
    room.put("Login", "Logout", *(f"More {number}" for number in range(20)))
    room.begin("run-1", "TASK-001")
    room.block("TASK-002", "why")
    room.tell(
        "run-1",
        *(ToolStarted(id="1", name="Bash", summary="ls"), ToolEnded(id="1", output="x", error=None, lines=1, chars=1))
        * 20,
    )

    async def play(watcher: Watcher) -> None:
        seen = await watcher.look()
        assert "[>] Coder " in seen
        assert seen.isascii()
        for key in ("question_mark", "x"):
            assert (await watcher.press(key)).isascii()
            await watcher.press("escape")

    watch(room, play, glyphs=ASCII_GLYPHS)


def test_what_is_done_cannot_be_cancelled(room: BoardFixture) -> None:
    room.put("Login")
    room.finish("TASK-001")

    async def play(watcher: Watcher) -> None:
        await watcher.press("x")
        assert watcher.is_at_board()
        assert await watcher.until("TASK-001 is not running (done)")

    watch(room, play)


def test_no_is_what_a_question_takes_for_an_answer(room: BoardFixture) -> None:
    room.put("Login")
    room.begin("run-1", "TASK-001")

    async def play(watcher: Watcher) -> None:
        for answer in ("n", "enter"):
            assert "Cancel the work on TASK-001?" in await watcher.press("x")
            assert isinstance(watcher.app.screen, ConfirmDialog)
            await watcher.press(answer)
            assert watcher.is_at_board()
        assert not room.tasks.has_wish("TASK-001", "cancel")

    watch(room, play)


def test_a_yes_leaves_the_wish_for_the_run_that_works_on_it(room: BoardFixture) -> None:  # 000-18
    room.put("Login")
    room.begin("run-1", "TASK-001")

    async def play(watcher: Watcher) -> None:
        await watcher.press("x", "y")
        assert await becomes(lambda: room.tasks.has_wish("TASK-001", "cancel"))

    watch(room, play)


def test_what_cannot_be_cancelled_any_more_is_told(room: BoardFixture) -> None:
    room.put("Login")
    room.begin("run-1", "TASK-001")

    async def play(watcher: Watcher) -> None:
        await watcher.press("x")
        room.change(Released("TASK-001"))
        await watcher.press("y")
        assert await watcher.until("no Ralph loop runs for")

    watch(room, play)


def test_a_task_whose_run_is_gone_can_be_cancelled(room: BoardFixture) -> None:
    pid = room.living()
    room.put("Login")
    room.begin("run-1", "TASK-001", pid=pid)
    room.iterate("TASK-001", 3)
    room.kill(pid)

    async def play(watcher: Watcher) -> None:
        await watcher.press("x", "y")
        assert await becomes(lambda: room.tasks.get("TASK-001").task.status == "cancelled")
        assert await watcher.until("Cancelled Ralph loop for")

    watch(room, play)


def test_a_run_without_a_task_is_cancelled_by_its_slot(room: BoardFixture) -> None:
    room.begin("run-1", kind="run", pid=room.living())

    async def play(watcher: Watcher) -> None:
        seen = await watcher.press("tab", "x")
        assert "Cancel the run run-1?" in seen
        await watcher.press("y")
        assert await becomes(lambda: room.runs.has_wish("run-1", "cancel"))

    watch(room, play)


def test_the_mouse_selects_opens_and_scrolls(room: BoardFixture) -> None:
    room.put("First", "Second", "Third")

    async def play(watcher: Watcher) -> None:
        await watcher.pilot.click("#lane-todo", offset=(5, 5))
        assert watcher.chosen() == "TASK-002"
        await watcher.pilot.click("#lane-todo", offset=(5, 5), times=2)
        await watcher.pilot.pause()
        assert isinstance(watcher.app.screen, CardDialog)
        assert watcher.app.screen.key == "TASK-002"

    watch(room, play)


def test_a_tab_is_clicked(room: BoardFixture) -> None:
    room.put("First")

    async def play(watcher: Watcher) -> None:
        await watcher.look()
        await watcher.pilot.click("#tabs", offset=(12, 0))
        await watcher.pilot.pause()
        assert watcher.app.board_screen.current_lane == "coder"

    watch(room, play, NARROW)


def test_help_names_the_keys(room: BoardFixture) -> None:
    async def play(watcher: Watcher) -> None:
        seen = await watcher.press("question_mark")
        assert isinstance(watcher.app.screen, HelpDialog)
        assert "cancel the selected task or run" in seen
        await watcher.press("escape")
        await watcher.pilot.press("q")

    watch(room, play)


def test_a_broken_database_is_told_and_the_board_goes_on(room: BoardFixture) -> None:
    room.put("Login")
    gc.collect()  # so that no connection is left, and with it a log that holds all of it

    async def play(watcher: Watcher) -> None:
        Path(room.places.database).unlink()
        Path(room.places.database).write_bytes(b"not a database at all, and long enough to be looked at " * 40)
        for _ in range(50):  # the board reads in a thread of its own
            if "is not a ralph database" in (seen := await watcher.look()):
                break
        assert "is not a ralph database" in seen

    watch(room, play, size=(300, 40))


async def becomes(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it comes true in time, while the board goes on."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.01)
    return True
