"""A few of the histories, played; and the data of all of them. `make honesty` plays them all."""

from pathlib import Path

import pytest

from torture.catalog import list_honest_work, list_tamperings
from torture.history import LOOPS, Case
from torture.play import describe_result, play

TAMPERINGS, HONEST = list_tamperings(), list_honest_work()
QUICK = [case for case in (*TAMPERINGS, *HONEST) if case.loop in case.history.quick]


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.mark.parametrize("case", QUICK, ids=[case.name for case in QUICK])
def test_a_history_ends_as_expected(case: Case, tmp_path: Path, templates: Path) -> None:
    played = play(case, tmp_path, templates)
    assert describe_result(case, played) == case.expected, played.told


def test_there_are_many_of_both_in_all_loops() -> None:
    assert len({case.history.name for case in TAMPERINGS}) >= 150
    assert len({case.history.name for case in HONEST}) >= 100
    assert {case.loop for case in TAMPERINGS} == {case.loop for case in HONEST} == set(LOOPS)


def test_each_history_has_a_name_of_its_own() -> None:
    names = [case.name for case in (*TAMPERINGS, *HONEST)]
    assert sorted(names) == sorted(set(names))


def test_what_nobody_is_told_of_has_a_reason() -> None:
    unseen = [case for case in (*TAMPERINGS, *HONEST) if case.expected in ("miss", "sandbox", "alarm")]
    assert [case.name for case in unseen if not case.history.why] == []
