"""`ralph board` as a program: on a real terminal, without one, as JSON, and with a real run to cancel."""

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ralph.faces.cli.commands.board import command
from support.board_room import BoardFixture
from support.processes import wait_until
from support.terminal import PseudoTerminal
from support.workshop import RALPH_ARGV, ProjectFixture, make_result_command

TASK = ("--outcome", "It works", "--acceptance", "it is there")
SLOW = """#!/bin/sh
# Says that it works, and then works for long.
cat > /dev/null
echo working > {home}/working
exec sleep 100
"""


@pytest.fixture
def terminals(workshop: ProjectFixture) -> Iterator[Callable[..., PseudoTerminal]]:
    """Boards of this workshop; all are gone afterwards."""
    opened: list[PseudoTerminal] = []

    def board(*words: str, size: tuple[int, int] = (160, 45), **variables: str) -> PseudoTerminal:
        environment = {**workshop.environment, **variables}
        opened.append(PseudoTerminal([*RALPH_ARGV, "board", *words], workshop.repo, environment, size))
        return opened[-1]

    yield board
    for terminal in opened:
        terminal.close()


def make(workshop: ProjectFixture, *titles: str) -> None:
    assert workshop.ralph("spec", "create", "auth").returncode == 0
    for number, title in enumerate(titles, 1):
        done = workshop.ralph("task", "create", f"TASK-{number:03}", "auth", title, *TASK)
        assert done.returncode == 0, done.stderr


def board_json(workshop: ProjectFixture, *words: str) -> dict[str, Any]:
    done = workshop.ralph("board", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_board_on_a_terminal_is_drawn_and_leaves_it_as_it_was(
    workshop: ProjectFixture, terminals: Callable[..., PseudoTerminal]
) -> None:  # 000-19, 002-25
    make(workshop, "Login")
    terminal = terminals()
    for text in (
        "Todo 1",
        "Coder 0",
        "Reviewer 0",
        "Tester 0",
        "QA 0",
        "Done 0",
        "TASK-001",
        "Agents",
        "Log: all agents",
    ):
        assert terminal.sees(text), text
    drawn = len(terminal.seen)
    terminal.resize(80, 24)
    assert terminal.until(lambda: b"Reviewer 0" in terminal.seen[drawn:])
    terminal.types("q")
    assert terminal.ended() == 0
    assert terminal.is_restored()


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda t: t.types("\x03"), 0),
        (lambda t: t.signal(signal.SIGTERM), 130),
        (lambda t: t.signal(signal.SIGHUP), 130),
    ],
    ids=["ctrl-c", "SIGTERM", "SIGHUP"],
)
def test_it_ends_by_signal_with_the_terminal_restored(
    terminals: Callable[..., PseudoTerminal], end: Callable[[PseudoTerminal], None], code: int
) -> None:
    terminal = terminals()
    assert terminal.sees("Nothing here yet")
    end(terminal)
    assert terminal.ended() == code
    assert terminal.is_restored()


def test_it_does_not_outlive_its_window(terminals: Callable[..., PseudoTerminal]) -> None:
    terminal = terminals()
    assert terminal.sees("Nothing here yet")
    terminal.hang_up()
    assert terminal.ended() is not None


def test_a_board_without_records_says_that_there_were_runs(
    workshop: ProjectFixture, terminals: Callable[..., PseudoTerminal]
) -> None:
    workshop.agent(make_result_command("<response>DONE</response>", 0.5))
    workshop.call("run", "-p", "x")
    for path in (workshop.repo / ".git/ralph").glob("ralph.db*"):
        path.unlink()
    assert "no run is on record, but 1 on disk" in workshop.call("board", "--once")
    assert terminals().sees("no run is on record, but 1 on disk")


def test_no_color_is_heeded(terminals: Callable[..., PseudoTerminal]) -> None:
    def is_colored(*words: str, **variables: str) -> bool:
        terminal = terminals(*words, COLORTERM="truecolor", **variables)
        assert terminal.sees("Nothing here yet")
        colors = re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", terminal.seen)
        return any(len(set(color)) > 1 for color in colors)  # greys have three equal parts

    assert is_colored()
    assert not is_colored(NO_COLOR="1")
    assert not is_colored("--color", "never")


def test_cancelling_from_the_board_ends_a_real_run(
    workshop: ProjectFixture, terminals: Callable[..., PseudoTerminal]
) -> None:  # 000-18, 002-25
    workshop.git("commit", "-qm", "Start", "--allow-empty")
    agent = workshop.home / "worker"
    agent.write_text(SLOW.format(home=workshop.home))
    agent.chmod(0o755)
    make(workshop, "Login")
    with workshop.start("execute", "-j", "2", RALPH_AGENT_COMMAND="worker") as run:
        assert wait_until((workshop.home / "working").exists, 20)
        terminal = terminals()
        assert terminal.sees("Coder (1/15)")
        assert terminal.sees("Slot 1: coder")
        assert terminal.sees("Slot 2: idle")
        terminal.types("x")
        assert terminal.sees("Cancel the work on TASK-001?")
        began = time.monotonic()
        terminal.types("y")
        assert terminal.sees("Cancelled Ralph loop")
        assert time.monotonic() - began < 2 + 2  # two seconds, and some for a machine that has others to serve
        assert run.wait(10) == 1
    assert json.loads(workshop.ralph("task", "show", "TASK-001", "--json").stdout)["task"]["status"] == "cancelled"


@pytest.mark.parametrize("words", [[], ["--once"]], ids=" ".join)
def test_without_a_terminal_the_board_is_printed_once(workshop: ProjectFixture, words: list[str]) -> None:
    make(workshop, "Login", "Log\x1b[31mout")
    done = workshop.ralph("board", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "repo:main · idle · 0/2 tasks done\n\n"
        "Todo 2\n  TASK-001  Login\n  TASK-002  Logout\n\n"
        "Coder 0\n\nReviewer 0\n\nTester 0\n\nQA 0\n\nDone 0\n"
    )


@pytest.mark.parametrize(("words", "variables"), [(["--once"], {}), ([], {"TERM": "dumb"})], ids=["once", "dumb"])
def test_on_a_terminal_it_can_be_printed_once(
    workshop: ProjectFixture, words: list[str], variables: dict[str, str]
) -> None:
    script = ["sh", "-c", 'TERM=${DUMB:-$TERM} exec "$@"', "sh", *RALPH_ARGV, "board", *words]
    dumb = {"DUMB": variables["TERM"]} if variables else {}
    terminal = PseudoTerminal(script, workshop.repo, {**workshop.environment, **dumb})
    try:
        assert terminal.sees("Nothing here yet. Start a run with `ralph run -p PROMPT`")
        assert terminal.ended() == 0
        assert b"\x1b" not in terminal.seen
    finally:
        terminal.close()


def test_the_plain_board_tells_who_works_on_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # 000-19
    room = BoardFixture(tmp_path)
    monkeypatch.chdir(room.folder)
    room.put("Implement authentication", "Second", "Third", *(f"More {number}" for number in range(60)))
    room.begin("run-1", "TASK-001", jobs=2)
    room.iterate("TASK-001", 3, most=15, ago=323)
    room.block("TASK-002", "needs a key")
    result = CliRunner().invoke(command, ["--glyphs", "emoji"], catch_exceptions=False)
    assert "Coder 1\n  TASK-001  Implement authentication  🔄 Coder (3/15)\n" in result.output
    assert "  TASK-002  Second  ⚠️ blocked: needs a key\n" in result.output
    assert "  … 12 more: `ralph task list --all`\n" in result.output
    slot = r"Slot 1: coder\n  Task: TASK-001\n  Ralph: iteration 3/15\n  Running: 5m [2-5]\ds\n\nSlot 2: idle\n"
    assert re.search(slot, result.output)


def test_json_has_lanes_cards_and_slots(workshop: ProjectFixture) -> None:
    assert board_json(workshop)["lanes"][0] == {"name": "todo", "count": 0, "tasks": []}
    make(workshop, "Login", "Logout")
    assert workshop.ralph("task", "edit", "TASK-002", "--status", "blocked", "--reason", "why").returncode == 0
    found = board_json(workshop)
    assert [lane["name"] for lane in found["lanes"]] == ["todo", "coder", "reviewer", "tester", "qa", "done"]
    told = [(task["id"], task["state"], task["why"]) for task in found["lanes"][0]["tasks"]]
    assert told == [("TASK-001", "ready", None), ("TASK-002", "trouble", "why")]
    assert (found["place"], found["done"], found["total"], found["slots"]) == ("repo:main", 0, 2, [])


def test_a_spec_that_is_not_there_is_told(workshop: ProjectFixture) -> None:
    make(workshop, "Login")
    assert board_json(workshop, "--spec", "auth")["total"] == 1
    done = workshop.ralph("board", "--spec", "other")
    assert done.returncode == 2
    assert "no spec 'other'" in done.stderr


def test_looking_leaves_nothing_behind(workshop: ProjectFixture) -> None:
    assert workshop.ralph("board").returncode == 0
    assert not (workshop.repo / ".git" / "ralph").exists()
    assert not (workshop.repo / ".ralph").exists()


def test_a_run_with_the_board_is_detached_or_stopped(workshop: ProjectFixture) -> None:
    agent = workshop.home / "slow"
    agent.write_text(SLOW.format(home=workshop.home))
    agent.chmod(0o755)
    words = [*RALPH_ARGV, "run", "--board", "--no-sandbox", "-p", "Upgrade all", "--agent", str(agent)]
    first = PseudoTerminal(words, workshop.repo, workshop.environment, (160, 45))
    try:
        assert first.sees("Upgrade all")
        assert wait_until((workshop.home / "working").exists)
        first.types("q")
        assert first.sees("still going")
        first.types("d")
        assert first.sees("runs in the background")
        assert first.ended() == 0
    finally:
        first.close()
    run = workshop.status()
    assert (run["active"], run["title"]) == (True, "Upgrade all")
    assert workshop.ralph("cancel").returncode == 0
    second = PseudoTerminal(words, workshop.repo, workshop.environment, (160, 45))
    try:
        assert second.sees("2 runs")
        second.types("q")
        assert second.sees("still going")
        second.types("s")
        assert second.ended(20) == 130
    finally:
        second.close()
    assert workshop.status()["outcome"] == "interrupted"


def test_tasks_are_added_and_edited_in_an_editor(
    workshop: ProjectFixture, terminals: Callable[..., PseudoTerminal]
) -> None:
    editor = workshop.home / "editor"
    fill = 's/title: .*/title: Add a login/; s/outcome: .*/outcome: it works/; s/^    - ""/    - it does/'
    editor.write_text(f"#!/bin/sh\nsed -i '{fill}' \"$1\"\n")
    editor.chmod(0o755)
    terminal = terminals(EDITOR=str(editor))
    assert terminal.sees("Nothing here yet")
    terminal.types("t")
    assert terminal.sees("Created 1 task")
    assert terminal.sees("Todo 1")

    editor.write_text("#!/bin/sh\nsed -i 's/title: .*/title: Add a logout/' \"$1\"\n")
    terminal.types("j")
    terminal.types("e")
    assert terminal.sees("Changed TASK-001")
    terminal.types("q")
    assert terminal.ended() == 0
    assert json.loads(workshop.call("task", "show", "TASK-001", "--json"))["task"]["title"] == "Add a logout"


def test_the_board_of_a_run_needs_a_terminal(workshop: ProjectFixture) -> None:
    done = workshop.ralph("run", "--board", "-p", "x")
    assert (done.returncode, "--detach" in done.stderr) == (2, True)
