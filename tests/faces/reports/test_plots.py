"""Axes and bars."""

import pytest

from ralph.app.reports.report import ReportedRun
from ralph.app.runs.journal_reader import Iteration
from ralph.faces.reports.plots import list_segments, list_ticks, list_time_ticks
from support.reports import BEGAN, make_iteration, make_receipt


@pytest.mark.parametrize(
    ("highest", "ticks"), [(1.0, [0.2, 0.4, 0.6, 0.8, 1.0]), (0.17, [0.05, 0.1, 0.15]), (7, [2, 4, 6]), (0, [])]
)
def test_an_axis_has_round_numbers(highest: float, ticks: list[float]) -> None:
    assert list_ticks(highest) == pytest.approx(ticks)


@pytest.mark.parametrize("span", [0.1, 5, 59, 600, 7200, 86400, 86400 * 7, 86400 * 400, 86400 * 4000])
def test_a_time_axis_has_a_few_round_times(span: float) -> None:
    ticks = list_time_ticks(BEGAN, BEGAN + span)
    assert len(ticks) <= 9
    assert all(BEGAN <= at <= BEGAN + span for at, _ in ticks)


def test_checks_follow_their_agent_and_an_agent_at_work_ends_now() -> None:
    at_work = Iteration(iteration=2, started_at=BEGAN + 200)
    run = ReportedRun(goal="", receipt=make_receipt(make_iteration(1), at_work, outcome=None))
    agent, check, last = list_segments(run, BEGAN + 250)
    assert (agent.begin, agent.end, agent.look) == (BEGAN + 60, BEGAN + 90, "agent")
    assert (check.begin, check.end, check.look) == (BEGAN + 90, BEGAN + 95, "good")
    assert (last.begin, last.end) == (BEGAN + 200, BEGAN + 250)
