"""The line at the bottom of a terminal."""

import time
from collections.abc import Iterator

import pytest

from ralph.core.text.plain import count_cells
from ralph.faces.cli.live.status_line import StatusLine
from ralph.faces.cli.terminal.look import TerminalStyle
from ralph.faces.glyphs import ASCII_GLYPHS
from ralph.model.events import (
    AgentEnded,
    Doing,
    Event,
    GateEnded,
    GateStarted,
    IterationStarted,
    RunEnded,
    RunStarted,
    Said,
    Spent,
    ToolEnded,
    ToolStarted,
    Waiting,
)

NOON = 1_800_014_400.0  # 2027-01-15 12:00:00 UTC
STARTED = RunStarted(run="r1", agent="claude", limit=10)
PYTEST = ToolStarted(id="1", name="Bash", summary="pytest -q /repo/tests")
KEYS = "p pause, q stop"


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def ended(outcome: str = "finished", **amounts: float) -> AgentEnded:
    return AgentEnded(iteration=1, outcome=outcome, detail="", seconds=1.0, **amounts)  # type: ignore[arg-type]


def checked(passed: bool) -> GateEnded:
    return GateEnded(gate="make test", passed=passed, exit_code=1 - passed, seconds=1.0)


def line_of(
    *events: Event, later: float = 2.0, width: int = 100, keys: str = "", style: TerminalStyle | None = None
) -> str:
    """The events all happen at noon, the line is drawn `later` seconds after it."""
    status = StatusLine(style or TerminalStyle(folder="/repo"))
    status.handle_events(NOON, [STARTED, *events])
    status.compose_line(NOON + later, width, keys)
    return status.line


ACTIVITIES: dict[str, tuple[tuple[Event, ...], float, str]] = {
    "before the first agent": ((), 1, "ralph · 1s · preparing…"),
    "an agent that says nothing yet": ((IterationStarted(3, 10),), 2, "3/10 · 2s · starting claude…"),
    "an agent at work": ((IterationStarted(3, 10), Said("hm")), 2, "3/10 · 2s · claude at work"),
    "a silent agent": ((IterationStarted(3, 10), Said("hm")), 40, "3/10 · 40s · claude at work, quiet for 40s"),
    "a tool": ((IterationStarted(3, 10), PYTEST), 130, "3/10 · 2m10s · Bash pytest -q tests (2m10s)"),
    "after a tool": ((IterationStarted(3, 10), PYTEST, ToolEnded(id="1")), 2, "3/10 · 2s · claude at work"),
    "the newest of open tools": (
        (IterationStarted(3, 10), ToolStarted(id="0", name="Task"), PYTEST),
        1,
        "3/10 · 1s · Bash pytest -q tests",
    ),
    "a guardrail": ((IterationStarted(3, 10), GateStarted("make test")), 5, "3/10 · 5s · checking make test (5s)"),
    "a verification": (
        (IterationStarted(1, 15, "coder TASK-001"), GateStarted("coder: external", is_verification=True)),
        1,
        "coder 1/15 · 1s · verifying coder: external",
    ),
    "what the loop does": (
        (IterationStarted(1, 9), Doing("asking for a commit message")),
        1,
        "1/9 · 1s · asking for a commit message…",
    ),
    "a limit": (
        (IterationStarted(1, 9), ended("limited"), Waiting(300, "Usage limit.")),
        60,
        "1/9 · 1m · waiting for the limit, until 12:05 (4m left)",
    ),
    "any other wait": ((IterationStarted(1, 9), Waiting(300, "")), 60, "1/9 · 1m · waiting until 12:05 (4m left)"),
}


@pytest.mark.parametrize("what", ACTIVITIES)
def test_the_line_tells_what_is_being_done(what: str) -> None:
    events, later, expected = ACTIVITIES[what]
    assert line_of(*events, later=later) == expected


@pytest.mark.parametrize(
    ("events", "marks"),
    [
        ((), ""),
        ((ended(), checked(False)), "✗ "),
        ((ended(), checked(True), checked(False)), "✗ "),
        ((ended(), checked(True)), "✓ "),
        ((ended("timed_out"), checked(True)), "✗ "),
        ((ended(),), "· "),  # nothing was checked
    ],
)
def test_each_iteration_that_is_over_has_its_mark(events: tuple[Event, ...], marks: str) -> None:
    line = line_of(IterationStarted(1, 9), *events, IterationStarted(2, 9) if events else Doing("x"))
    assert line.startswith(f"{marks}{2 if events else 1}/9 · ")


def test_of_many_iterations_the_last_have_marks() -> None:
    failed = [event for number in range(40) for event in (IterationStarted(number, 99), ended(), checked(False))]
    assert line_of(*failed, IterationStarted(41, 99)).startswith("…✗✗✗✗")
    assert line_of(*failed, IterationStarted(41, 99), width=40).count("✗") == 10
    plain = line_of(*failed, IterationStarted(41, 99), style=TerminalStyle(glyphs=ASCII_GLYPHS))
    assert plain.isascii()


@pytest.mark.parametrize(
    ("start", "events", "cost"),
    [
        (STARTED, (Spent(0.1), Spent(0.02)), "$0.12"),
        (STARTED, (Spent(0.1), ended(cost_usd=0.5), Spent(0.25)), "$0.75"),  # the agent's own total counts
        (RunStarted(run="r", agent="a", limit=1, budget_usd=5.0), (Spent(0.1),), "$0.10 of $5.00"),
        (RunStarted(run="r", agent="a", limit=1, budget_usd=5.0), (), "$0.00 of $5.00"),
        (RunStarted(run="r", agent="a", limit=1, resumed=True, spent_usd=2.0), (Spent(0.1),), "$2.10"),
        (RunStarted(run="r", agent="a", limit=1, spent_usd=2.0, estimated=True), (), "≈$2.00"),
        (STARTED, (Spent(estimated_usd=0.3),), "≈$0.30"),
        (STARTED, (Spent(0.1), ended(estimated_usd=0.3)), "≈$0.30"),
    ],
)
def test_the_line_tells_what_was_spent(start: RunStarted, events: tuple[Event, ...], cost: str) -> None:
    assert line_of(start, IterationStarted(1, 1), *events).split(" · ")[2] == cost


@pytest.mark.parametrize("width", [1, 5, 10, 20, 30, 40, 60, 80, 160])
def test_the_line_fits_and_the_least_important_goes_first(width: int) -> None:
    budget = RunStarted(run="r", agent="claude", limit=9, budget_usd=5.0)
    line = line_of(budget, IterationStarted(3, 10), PYTEST, later=5, width=width, keys=KEYS)
    assert count_cells(line) <= width
    assert (KEYS in line) == (width >= 80)
    assert ("$0.00 of $5.00" in line) == (width >= 60)
    assert ("5s" in line.split(" · ")) == (width >= 30)


def test_a_run_that_ended_has_no_line() -> None:
    end = RunEnded(run="r", outcome="completed", why="", exit_code=0, iterations=1, seconds=1.0)
    assert line_of(IterationStarted(1, 1), end) == ""
