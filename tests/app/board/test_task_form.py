"""A task in an editor: what comes back is what was changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph.app.board.task_form import (
    NEW_TASK_FORM,
    apply_task_form,
    create_from_form,
    read_task_form,
    render_task_form,
)
from ralph.app.board.tasks import TaskEdit
from ralph.model.errors import RalphError, UsageError
from ralph.model.spec import Task, TaskCompletionSpec
from support.board_room import BoardFixture

TASK = Task(
    "T-1",
    "auth",
    'Add "login": now',
    "First line\n  - indented\n\nlast: line",
    priority=2,
    depends_on=("T-0",),
    completion_spec=TaskCompletionSpec("Users log in", ["a token", "it's tested"]),
)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[BoardFixture]:
    room = BoardFixture(tmp_path)
    yield room
    room.close()


@pytest.mark.parametrize("task", [TASK, Task("T-2", "auth", "x"), Task("T-3", "auth", "#: {", "one line: yes")])
def test_what_is_left_as_it_is_changes_nothing(task: Task) -> None:
    assert read_task_form(task, render_task_form(task)) == TaskEdit()


@pytest.mark.parametrize(
    ("old", "new", "edit"),
    [
        ("priority: 2", "priority: 1", TaskEdit(priority=1)),
        ('"Add \\"login\\": now"', "Add logout", TaskEdit(title="Add logout")),
        ('["T-0"]', "[]", TaskEdit(depends_on=())),
        ('["T-0"]', "T-0, T-5", TaskEdit(depends_on=("T-0", "T-5"))),
        ("last: line", "end", TaskEdit(description="First line\n  - indented\n\nend")),
        ('"Users log in"', "They do", TaskEdit(completion={"outcome": "They do"})),
        ('  - "a token"\n', "", TaskEdit(completion={"acceptance_criteria": ["it's tested"]})),
    ],
)
def test_only_what_differs_is_changed(old: str, new: str, edit: TaskEdit) -> None:
    form = render_task_form(TASK)
    assert old in form
    assert read_task_form(TASK, form.replace(old, new)) == edit


@pytest.mark.parametrize("text", ["", "- a\n- b", "title: [", "priority: many\ntitle: x", "nonsense: 1"])
def test_what_is_no_form_is_refused_and_says_so(text: str) -> None:
    with pytest.raises(UsageError, match="nothing was changed"):
        read_task_form(TASK, text)


def test_a_form_changes_the_board_and_makes_tasks(room: BoardFixture) -> None:
    room.put("Login")
    task = room.tasks.get("TASK-001").task
    form = render_task_form(task)
    assert not apply_task_form(room.places, task, form)
    assert apply_task_form(room.places, task, form.replace('"Login"', '"Logout"'))
    assert room.tasks.get("TASK-001").task.title == "Logout"
    new = NEW_TASK_FORM.format(id="TASK-002", spec="auth")
    with pytest.raises(RalphError):
        create_from_form(room.places, new)  # without a title
    filled = new.replace('title: ""', "title: More").replace('outcome: ""', "outcome: It is there")
    filled = filled.replace('    - ""', "    - it is there")
    assert create_from_form(room.places, filled) == "Created 1 task: TASK-002"
    assert room.tasks.get("TASK-002").task.title == "More"
