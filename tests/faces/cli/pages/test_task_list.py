"""Tasks as a list: what is shown of each."""

import json

from ralph.faces.cli.pages.task_list import TaskListing
from ralph.model.board import TaskCard
from ralph.model.spec import TaskStatusName


def make_card(id_: str, status: TaskStatusName = "todo") -> TaskCard:
    return TaskCard(
        id=id_,
        spec_id="auth",
        title=f"Title of {id_}",
        status=status,
        stage=None,
        priority=0,
        iteration=0,
        max_iterations=0,
        worker="",
    )


CARDS = [make_card("T-1"), make_card("T-2"), make_card("T-3", "blocked"), make_card("T-4", "done")]
LISTING = TaskListing(CARDS, CARDS, reasons={"T-2": "Max iterations reached", "T-3": "which currency?"})


def test_a_failed_task_is_shown_as_failed_and_before_what_was_not_tried() -> None:
    first, second, third, fourth, summary = LISTING.render_text(None).splitlines()
    assert first.split(maxsplit=4) == ["!", "T-2", "failed", "p0", "Title of T-2  (Max iterations reached)"]
    assert second.split() == ["○", "T-1", "todo", "p0", "Title", "of", "T-1"]
    assert third.split()[:3] == ["‖", "T-3", "blocked"]
    assert fourth.split()[:3] == ["✓", "T-4", "done"]
    assert summary == "4 tasks: 1 failed, 1 todo, 1 blocked, 1 done; 2 ready"


def test_json_keeps_the_status_and_adds_the_state() -> None:
    tasks = {task["id"]: task for task in json.loads(LISTING.render_json(None))["tasks"]}
    assert (tasks["T-2"]["status"], tasks["T-2"]["state"], tasks["T-2"]["why"]) == (
        "todo",
        "failed",
        "Max iterations reached",
    )
    assert (tasks["T-1"]["state"], tasks["T-1"]["why"]) == ("todo", None)
