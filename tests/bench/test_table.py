"""The table's verdicts follow from its figures."""

import pytest
from bench.bench import Row, Target, ratio, table, verdict


@pytest.mark.parametrize(
    ("median", "target", "said"),
    [
        (1.5, Target("≤", 1.5), "OK"),
        (1.51, Target("≤", 1.5), "over"),
        (150.0, Target("≥", 150), "OK"),
        (149.0, Target("≥", 150), "over"),
        (7.0, None, "–"),
    ],
)
def test_a_verdict_is_on_the_median(median: float, target: Target | None, said: str) -> None:
    assert verdict(Row(what="x", median=median, best=0.0, unit="×", target=target, detail="")) == said


def test_a_ratio_compares_median_with_median_and_minimum_with_minimum() -> None:
    row = ratio("x", [0.030, 0.020, 0.090], [0.010, 0.005, 0.020], Target("≤", 2))
    assert row.median == pytest.approx(3)
    assert row.best == pytest.approx(4)


def test_the_table_is_markdown_with_one_line_a_row() -> None:
    lines = table(
        [Row(what="x", median=1.234, best=1.0, unit="×", target=Target("≤", 2), detail="1 / 1 ms")]
    ).splitlines()
    assert len(lines) == 3
    assert [cell.strip() for cell in lines[2].strip("|").split("|")] == [
        "x",
        "1.23 ×",
        "1.00 ×",
        "≤ 2 ×",
        "OK",
        "1 / 1 ms",
    ]
