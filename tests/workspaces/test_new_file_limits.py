"""New files that a tree does without: what fills the disk, never a small file beside it."""

import pytest

from ralph.workspaces import new_file_limits
from ralph.workspaces.new_file_limits import choose_left_out, describe_left_out


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_file_limits, "MAX_NEW_FILE_BYTES", 1000)
    monkeypatch.setattr(new_file_limits, "MAX_NEW_FILES_BYTES", 3000)
    monkeypatch.setattr(new_file_limits, "MAX_NEW_FILES", 10)


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ({b"a": 1000, b"b": 1001}, {b"b"}),
        ({b"a": 900, b"b": 900, b"c": 900, b"d": 901, b"conftest.py": 9}, {b"d"}),
        ({**{b"junk/%d" % n: 1 for n in range(11)}, b"tests/conftest.py": 1}, {b"junk/%d" % n for n in range(11)}),
        ({b"%d" % n: 1 for n in range(11)}, set()),  # in no folder
    ],
)
def test_the_largest_and_the_most_numerous_go(sizes: dict[bytes, int], wanted: set[bytes]) -> None:
    assert choose_left_out(sizes).keys() == wanted


def test_many_are_told_by_their_folder_and_few_by_name() -> None:
    many = dict.fromkeys([b"junk/%d" % n for n in range(30)], "too many files")
    assert describe_left_out({b"a\xff": "2 MB", **many}) == "junk/ (30 new files), a\\xff (2 MB)"
    assert describe_left_out({b"%d" % n: "2 MB" for n in range(7)}).endswith("4 (2 MB) and 2 more")
    assert describe_left_out({}) == ""
