"""What `ralph execute` ends with."""

import re

import pytest

from ralph.app.pipeline.execute import ExecuteReport
from ralph.app.pipeline.landed_checks import BrokenLanding
from ralph.app.pipeline.selection import UntouchedTask
from ralph.app.pipeline.task_run import TaskEnding
from ralph.faces.cli.pages.execute_report import ExecuteTotals, render_execute_report
from ralph.faces.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS, Glyphs
from ralph.model.events import Event, RunEnded, RunStarted
from ralph.model.loop import Outcome


def ended(cost_usd: float | None, estimated_usd: float = 0.0) -> RunEnded:
    return RunEnded(
        run="r",
        outcome="completed",
        why="",
        exit_code=0,
        iterations=1,
        seconds=1.0,
        cost_usd=cost_usd,
        estimated_usd=estimated_usd,
    )


def show(report: ExecuteReport, *events: Event, glyphs: Glyphs = UNICODE_GLYPHS) -> list[str]:
    totals = ExecuteTotals()
    totals(0.0, 0, events)
    return re.sub(r"· 0s", "· TIME", render_execute_report(report, totals, glyphs)).splitlines()


def test_every_task_has_a_line_and_then_come_the_totals() -> None:
    report = ExecuteReport(
        endings=(
            TaskEnding(task="T-2", outcome=Outcome.EXHAUSTED, why="too long"),
            TaskEnding(task="T-1", outcome=Outcome.COMPLETED, why="landed"),
        ),
        left=(UntouchedTask("T-3", "is blocked", blocked=True), UntouchedTask("T-4", "waits for T-2")),
        broken=(BrokenLanding(task="T-1", target="main", why="make test fails now"),),
    )
    assert show(report, ended(0.5), ended(1.25)) == [
        "T-1  completed  landed",
        "T-2  exhausted  too long",
        "T-3  is blocked",
        "T-4  waits for T-2",
        "T-1  broken  make test fails now",
        "",
        "1 done, 1 failed, 1 blocked, 1 not done, 1 broken · TIME · $1.75",
        "→ See why: ralph task show T-2",
        "→ Try again: ralph execute T-2",
        "→ See what broke: ralph verify --all",
    ]


@pytest.mark.parametrize(
    ("outcome", "hints"),
    [
        (Outcome.COMPLETED, []),
        (Outcome.STUCK, ["See why: ralph task show 'T 1'", "Try again: ralph execute 'T 1'"]),
        (
            Outcome.BLOCKED,
            ["See why: ralph task show 'T 1'", "Reopen it: ralph task edit 'T 1' --status todo"],
        ),
        (Outcome.INTERRUPTED, ["Resume: ralph execute --resume 'T 1'"]),
        (Outcome.UNUSABLE, ["Check the setup: ralph doctor"]),
    ],
)
def test_after_a_failure_stands_what_to_type_next(outcome: Outcome, hints: list[str]) -> None:
    lines = show(ExecuteReport(endings=(TaskEnding(task="T 1", outcome=outcome, why="why"),)), glyphs=ASCII_GLYPHS)
    assert lines[3:] == [f"-> {hint}" for hint in hints]


def test_a_task_with_a_question_is_answered_before_it_runs_again() -> None:
    ending = TaskEnding(task="T-1", outcome=Outcome.BLOCKED, why="the agent asks: Postgres?", question="Postgres?")
    assert show(ExecuteReport(endings=(ending,)))[3:] == [
        "→ See why: ralph task show T-1",
        "→ Answer: ralph answer T-1 TEXT; then: ralph execute T-1",
    ]


def test_only_what_this_command_spent_counts_and_estimates_are_marked() -> None:
    report = ExecuteReport(endings=(TaskEnding(task="T-1", outcome=Outcome.COMPLETED, why="landed"),))
    before = RunStarted(run="r", agent="a", limit=1, spent_usd=2.0)
    assert show(report, before, ended(2.5))[2] == "1 done · TIME · $0.50"
    assert show(report, ended(None, 0.5))[2] == "1 done · TIME · ≈$0.50"
    assert show(report, ended(None))[2] == "1 done · TIME"


def test_nothing_to_do_is_said() -> None:
    assert show(ExecuteReport(endings=())) == ["Nothing to do: every task is done or cancelled."]
