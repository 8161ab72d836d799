"""What someone who does not watch is told."""

import pytest
from msgspec.structs import replace

from ralph.core.notice import Notice, build_notice
from ralph.model.events import Event, RunEnded, Said, Waiting

ENDED = RunEnded(
    run="run-1",
    outcome="over_budget",
    why="5 USD are spent",
    exit_code=7,
    iterations=2,
    seconds=60.0,
    cost_usd=5.0,
)


def build(event: Event, task: str = "") -> Notice | None:
    return build_notice(event, run="run-1", folder="/home/me/project/", at=9.0, task=task)


def test_an_end_is_told_with_all_that_is_known() -> None:
    assert build(ENDED, task="TASK-001") == Notice(
        event="budget",
        title="ralph: TASK-001 over budget",
        text="5 USD are spent (2 iterations, 1m, $5.00)",
        run="run-1",
        folder="/home/me/project/",
        at=9.0,
        task="TASK-001",
        outcome="over_budget",
        exit_code=7,
        iterations=2,
        seconds=60.0,
        cost_usd=5.0,
    )


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [("completed", "ended"), ("stuck", "stuck"), ("blocked", "question"), ("over_budget", "budget")],
)
def test_the_kind_is_by_the_outcome(outcome: str, kind: str) -> None:
    told = build(replace(ENDED, outcome=outcome))
    assert told is not None
    assert told.event == kind


def test_without_a_task_the_folder_is_named_and_doubtful_checks_too() -> None:
    told = build(replace(ENDED, outcome="completed", flagged=True))
    assert told is not None
    assert (told.title, told.flagged) == ("ralph: project completed, but look at its checks", True)
    root = build_notice(ENDED, run="run-1", folder="/", at=9.0)
    assert root is not None
    assert root.title == "ralph: / over budget"


def test_who_interrupts_a_run_knows_and_nobody_wants_every_word() -> None:
    assert build(replace(ENDED, outcome="interrupted")) is build(Said("hm")) is None


def test_a_long_wait_for_a_limit_is_told() -> None:
    assert build(Waiting(3600.0, "usage limit reached"), task="TASK-001") == Notice(
        event="limited",
        title="ralph: TASK-001 waits 1h",
        text="usage limit reached",
        run="run-1",
        folder="/home/me/project/",
        at=9.0,
        task="TASK-001",
        seconds=3600.0,
    )
    named = build(Waiting(3600.0, "usage limit reached"))
    assert named is not None
    assert named.title.startswith("ralph: project waits")
    assert build(Waiting(59.0, "usage limit reached")) is build(Waiting(3600.0, "overloaded")) is None


def test_no_secret_leaves() -> None:
    told = build(replace(ENDED, why="API_KEY=open-sesame failed"))
    assert told is not None
    assert "open-sesame" not in told.text
