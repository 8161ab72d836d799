"""Which snapshot shows the state after an iteration."""

from ralph.app.runs.snapshots import SnapshotCommit, find_state_after

START, FIRST, RESUMED, SECOND = (
    SnapshotCommit(title, title, at)
    for at, title in enumerate(
        ("before the first agent", "after iteration 1", "before the first agent", "after iteration 2")
    )
)
KEPT = (START, FIRST, RESUMED, SECOND)


def test_what_a_resumed_run_found_is_neither_its_start_nor_what_an_iteration_came_to() -> None:
    assert [find_state_after(KEPT, number) for number in (0, 1, 2, 3)] == [START, FIRST, SECOND, SECOND]
    assert find_state_after((FIRST,), 0) is None
    assert find_state_after((START, RESUMED), 1) == START
