"""How amounts read."""

import pytest

from ralph.core.text.quantities import (
    format_cost,
    format_duration,
    format_exact_duration,
    format_money,
    format_tokens,
    format_usage,
    pluralize,
)
from ralph.model.events import Usage


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0"), (999, "999"), (1000, "1K"), (1499, "1K"), (1500, "2K"), (999_999, "1000K"), (1_234_567, "1.2M")],
)
def test_tokens(count: int, expected: str) -> None:  # 001-28
    assert format_tokens(count) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0s"),
        (-3, "0s"),
        (0.4, "0s"),
        (59, "59s"),
        (59.6, "1m"),
        (60, "1m"),
        (61, "1m1s"),
        (367, "6m7s"),
        (3600, "1h"),
        (3661, "1h1m1s"),
        (7205, "2h5s"),
        (90_000, "25h"),
    ],
)
def test_duration(seconds: float, expected: str) -> None:  # 001-28
    assert format_duration(seconds) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "0.0s"), (-1, "0.0s"), (1.23, "1.2s"), (59.94, "59.9s"), (59.96, "1m"), (61, "1m1s")]
)
def test_timing_has_tenths_below_a_minute(seconds: float, expected: str) -> None:  # 001-26
    assert format_duration(seconds, tenths=True) == expected


@pytest.mark.parametrize(
    ("usd", "expected"),
    [(5.76, "$5.76"), (0.0, "$0.00"), (0.004, "<$0.01"), (0.005, "$0.01"), (1234.5, "$1,234.50"), (None, "—")],
)
def test_money(usd: float | None, expected: str) -> None:  # 001-28
    assert format_money(usd) == expected


def test_money_unknown_in_ascii() -> None:
    assert format_money(None, "-") == "-"


def test_one_thing_is_singular() -> None:
    assert [pluralize(n, "line") for n in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]


def test_traffic_counts_both_kinds_of_cache() -> None:  # 001-28
    assert (
        format_usage(
            Usage(input_tokens=1_234_567, output_tokens=45_000, cache_read_tokens=800_000, cache_write_tokens=50_000)
        )
        == "1.2M in (850K cached) / 45K out"
    )
    assert format_usage(Usage(input_tokens=1000, output_tokens=20)) == "1K in / 20 out"


@pytest.mark.parametrize(
    ("seconds", "text"), [(300, "5m0s"), (90, "1m30s"), (0.5, "0.5s"), (45, "45s"), (3600, "1h0m0s"), (3725, "1h2m5s")]
)
def test_an_exact_duration_leaves_no_part_out(seconds: float, text: str) -> None:  # 003-12
    assert format_exact_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0s"), (42, "42s"), (60, "1m 0s"), (323, "5m 23s"), (3607, "1h 0m 7s"), (90000, "25h 0m 0s")],
)
def test_a_running_clock_shows_every_part(seconds: float, text: str) -> None:  # 000-19
    assert format_exact_duration(seconds, gap=" ") == text


def test_never_more_is_cached_than_came_in() -> None:
    usage = Usage(input_tokens=350_000, output_tokens=9_000, cache_read_tokens=400_000, cache_write_tokens=100_000)
    assert format_usage(usage) == "850K in (500K cached) / 9K out"


@pytest.mark.parametrize(
    ("reported", "estimated", "unpriced", "text"),
    [
        (None, 0.0, 0, "—"),
        (0.0, 0.0, 0, "$0.00"),
        (0.5, 0.0, 0, "$0.50"),
        (0.5, 0.25, 0, "≈$0.75"),
        (0.5, 0.0, 2, "$0.50+"),
        (0.5, 0.25, 1, "≈$0.75+"),
        (0.0, 0.0, 1, "—"),
        (None, None, 1, "—"),
    ],
)
def test_a_cost_that_is_not_all_known_says_so(
    reported: float | None, estimated: float | None, unpriced: int, text: str
) -> None:
    assert format_cost(reported, estimated, unpriced=unpriced) == text
