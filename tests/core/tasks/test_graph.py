from collections.abc import Collection, Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.tasks.graph import find_blocked, find_cycle, find_unknown_needs, format_cycle

GRAPHS = st.dictionaries(st.integers(0, 8), st.lists(st.integers(0, 8), max_size=4), max_size=9)


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        ({"a": ["b"], "b": ["a"]}, "a → b → a"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "a → b → c → a"),
        ({"x": ["a"], "a": ["b"], "b": ["a"]}, "a → b → a"),
        ({"a": ["a"]}, "a → a"),
        ({"a": ["b"], "b": ["c"], "c": []}, ""),
        ({"a": ["gone"]}, ""),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, ""),
        ({}, ""),
    ],
)
def test_a_cycle_is_named_from_its_first_member_along_what_it_needs(needs: dict[str, list[str]], told: str) -> None:
    assert format_cycle(find_cycle(needs)) == told


def test_a_very_long_chain_is_no_trouble() -> None:
    chain = {n: [n + 1] for n in range(50_000)}
    assert find_cycle(chain) == ()
    chain[50_000] = [0]
    assert len(find_cycle(chain)) == 50_002


def list_ready(needs: Mapping[int, Collection[int]], done: Collection[int]) -> list[int]:
    held = {*find_blocked(needs, done), *done}
    return [id_ for id_ in needs if id_ not in held]


def test_what_has_to_wait_says_for_what_until_that_is_done() -> None:  # §3-14
    needs = {"c": ["a", "b"], "a": [], "b": ["a"]}
    assert find_blocked(needs, ()) == {"c": ("a", "b"), "b": ("a",)}
    assert find_blocked(needs, ["a"]) == {"c": ("b",)}
    assert find_blocked(needs, ["a", "b"]) == {}


def test_a_need_outside_the_graph_is_known_and_waited_for() -> None:
    needs = {"a": ["elsewhere"], "b": []}
    assert find_unknown_needs(needs) == {"a": ("elsewhere",)}
    assert find_blocked(needs, ()) == {"a": ("elsewhere",)}
    assert find_blocked(needs, ["elsewhere"]) == {}


@given(GRAPHS)
def test_every_step_of_a_cycle_is_a_need(needs: dict[int, list[int]]) -> None:
    found = find_cycle(needs)
    assert all(after in needs[before] for before, after in pairwise(found))
    assert not found or found[0] == found[-1]


@given(GRAPHS, st.sets(st.integers(0, 8)))
def test_nothing_that_is_done_waits(needs: dict[int, list[int]], done: set[int]) -> None:
    assert find_blocked(needs, done).keys() <= needs.keys() - done


@given(GRAPHS)
def test_working_off_what_is_ready_ends_everything_exactly_when_nothing_is_missing_or_circular(
    needs: dict[int, list[int]],
) -> None:
    done: set[int] = set()
    while now := list_ready(needs, done):
        done.update(now)
    assert (done == set(needs)) == (not find_cycle(needs) and not find_unknown_needs(needs))
