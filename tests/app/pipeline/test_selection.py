"""What a loop over many tasks was asked for is not forgotten, whatever becomes of it meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.pipeline.context import ExecuteRequest
from ralph.app.pipeline.selection import AskedTasks, list_untouched
from ralph.config.schema import Settings
from ralph.model.board import Cancelled, Claimed, Spec, StagePassed, TaskLanded
from ralph.model.spec import Task
from ralph.model.store_ports import TaskStore
from support.stores import connect

ASKED: AskedTasks = {"A": "todo", "B": "todo"}


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[TaskStore]:
    stores = connect(str(tmp_path / "ralph.db"))
    stores.tasks.add_new([Task(name, "s", name) for name in ("A", "B", "C")], [Spec(id="s", title="Users")])
    yield stores.tasks
    stores.close()


def untouched(tasks: TaskStore, *names: str, claimed: str = "A", asked: AskedTasks = ASKED) -> dict[str, str]:
    request = ExecuteRequest(settings=Settings(), tasks=names)
    return {left.task: left.why for left in list_untouched(request, tasks, {*claimed}, asked)}


def test_a_task_that_vanished_is_named(tasks: TaskStore) -> None:
    tasks.delete("B")
    assert untouched(tasks, "A", "B") == {"B": "was deleted in the meantime"}


def test_a_task_that_was_cancelled_meanwhile_is_named(tasks: TaskStore) -> None:
    tasks.apply([Cancelled("B", "")], "k")
    for names in (("A", "B"), ()):
        assert untouched(tasks, *names)["B"].startswith("was cancelled in the meantime")


def test_what_was_given_up_before_is_nobodys_business_unless_named(tasks: TaskStore) -> None:
    tasks.apply([Cancelled("B", "")], "k")
    before: AskedTasks = {"A": "todo", "B": "cancelled"}
    assert "B" not in untouched(tasks, asked=before)
    assert "execute --resume B" in untouched(tasks, "A", "B", asked=before)["B"]


def test_others_that_were_there_or_came_are_told_where_all_were_asked_for(tasks: TaskStore) -> None:
    assert [*untouched(tasks)] == ["B", "C"]
    assert [*untouched(tasks, "A", "B")] == ["B"]


def test_a_task_that_became_done_behind_our_back_is_named(tasks: TaskStore) -> None:
    tasks.apply([Claimed("B", "run-1", "qa"), StagePassed("B", "qa"), TaskLanded("B", "c0ffee")], "k")
    assert untouched(tasks)["B"].startswith("was marked done, and nobody worked on it")
    assert "B" not in untouched(tasks, claimed="AB")
