"""Where a key stands."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config.lines import KeyPath, find_line, locate_offset

JSON = """{
  "a": "\\"b\\": 1, {[",
  "b": [
    {"c": 1},
    {"c": 2,
     "d": [[1], [2,
       3]]}
  ],
  "e": {"c": {}, "f": null}
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("b",), 3),
        (("b", 0), 4),
        (("b", 0, "c"), 4),
        (("b", 1, "c"), 5),
        (("b", 1, "d", 0), 6),
        (("b", 1, "d", 1, 1), 7),
        (("e", "c"), 9),
        (("e", "f"), 9),
        (("x",), None),
        ((), None),
    ],
)
def test_a_json_key_is_found_by_its_whole_path(path: KeyPath, line: int | None) -> None:
    assert find_line(JSON, path) == line


def test_odd_keys_are_keys_too() -> None:
    text = '{"": "x",\n"\\"": 1,\n"x": 2,\n"\\u00e9": 3}'
    assert [find_line(text, (key,)) for key in ("", '"', "x", "é")] == [1, 2, 3, 4]


YAML = "ralph:\n  enabled: true\n  coder:\n    max: 1\n  qa:\n    max: 2\n"


@pytest.mark.parametrize(
    ("path", "line"), [(("ralph", "enabled"), 2), (("x", "qa"), 5), (("ralph", "coder", "max"), None), (("y",), None)]
)
def test_a_yaml_key_is_found_only_when_there_is_no_doubt(path: KeyPath, line: int | None) -> None:
    assert find_line(YAML, path) == line


def test_columns_count_from_one() -> None:
    assert locate_offset("ab\ncd", 0) == (1, 1)
    assert locate_offset("ab\ncd", 4) == (2, 2)


plain = st.text('abc"\\[]{}:,\n', max_size=4)
trees = st.recursive(
    st.integers() | plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain.filter(bool), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from("abc"), trees, min_size=1, max_size=3))
def test_every_top_level_key_is_found_however_wild_the_values(document: dict[str, object]) -> None:
    lines = ["{"]
    for number, (key, value) in enumerate(document.items()):
        comma = "," if number else ""
        lines.append(f'{comma}"{key}": {msgspec.json.encode(value).decode()}')
    text = "\n".join([*lines, "}"])
    for number, key in enumerate(document):
        assert find_line(text, (key,)) == number + 2
