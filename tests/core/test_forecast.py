"""What earlier work lets one expect."""

import pytest

from ralph.core.forecast import describe_forecast


@pytest.mark.parametrize(
    ("iterations", "costs", "said"),
    [
        ([3, 4, 5, 7, 20], [0.4, 0.5, 0.9, 1.1, 9.0], "tasks took 4–7 iterations, $0.50–1.10"),
        ([2, 2, 2], [0.1, 0.1, 0.1], "tasks took 2 iterations, $0.10"),
        ([1, 1, 1], [], "tasks took 1 iteration"),
        ([1, 2], [1.0, 2.0], ""),
        ([], [], ""),
    ],
)
def test_the_range_of_most_of_them_is_told(iterations: list[int], costs: list[float], said: str) -> None:
    assert describe_forecast("tasks", iterations, costs) == said
