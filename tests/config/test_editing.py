"""One key of a JSON text is changed, and all else stays as it is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config.editing import remove_from_text, set_in_text

TEXT = """\
{
    "b":  1,
    "a": {"x": [1,
      2], "y": null},

    "last" : "é"
}
"""
KEYS = st.sampled_from(["a", "b", 'odd "key"', "é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
PATHS = st.lists(KEYS, min_size=1, max_size=3)
INDENTS = st.sampled_from([None, 0, 2, "\t"])


def nest(document: dict[str, Any], path: list[str], value: object) -> dict[str, Any]:
    key, *below = path
    inner = document.get(key)
    if below:
        value = nest(inner if isinstance(inner, dict) else {}, below, value)
    return {**document, key: value}


def drop(document: dict[str, Any], path: list[str]) -> dict[str, Any]:
    key, *below = path
    if below and isinstance(inner := document.get(key), dict):
        return {**document, key: drop(inner, below)}
    return document if below else {name: value for name, value in document.items() if name != key}


@given(DOCUMENTS, PATHS, VALUES, INDENTS)
def test_the_key_has_its_value_and_the_others_theirs(
    document: dict[str, Any], path: list[str], value: object, indent: int | str | None
) -> None:
    text = set_in_text(json.dumps(document, indent=indent), path, value)
    assert json.loads(text) == nest(document, path, value)
    assert [*json.loads(text)] == [*nest(document, path, value)], "in the same order"


@given(DOCUMENTS, PATHS, INDENTS)
def test_a_removed_key_is_gone_and_the_others_are_not(
    document: dict[str, Any], path: list[str], indent: int | str | None
) -> None:
    assert json.loads(remove_from_text(json.dumps(document, indent=indent), path)) == drop(document, path)


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        ("b", 2, '"b":  1,', '"b":  2,'),
        ("a.y", "z", '"y": null', '"y": "z"'),
        ("a.new", True, '"y": null}', '"y": null, "new": true}'),
        ("new", 3, '"last" : "é"\n', '"last" : "é",\n    "new": 3\n'),
        ("new.deep", [1], '"last" : "é"\n', '"last" : "é",\n    "new": {\n        "deep": [1]\n    }\n'),
        ("b.c", 1, '"b":  1,', '"b":  {\n        "c": 1\n    },'),
    ],
)
def test_what_is_not_changed_keeps_its_bytes(path: str, value: object, before: str, after: str) -> None:
    assert set_in_text(TEXT, path.split("."), value) == TEXT.replace(before, after)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("b", '"b":  1,\n    ', ""),
        ("a.x", '"x": [1,\n      2], ', ""),
        ("a.y", ', "y": null', ""),
        ("last", ',\n\n    "last" : "é"', ""),
        ("a.nope", "", ""),
        ("b.nope", "", ""),
        ("nope.deep", "", ""),
    ],
)
def test_what_is_not_removed_keeps_its_bytes(path: str, before: str, after: str) -> None:
    assert remove_from_text(TEXT, path.split(".")) == TEXT.replace(before, after)


def test_an_empty_object_is_filled_as_the_file_is_indented() -> None:
    assert set_in_text("{}\n", ["a"], 1) == '{\n  "a": 1\n}\n'
    assert set_in_text('{\n\t"a": {}\n}', ["a", "b"], 1) == '{\n\t"a": {\n\t\t"b": 1\n\t}\n}'


def test_a_file_in_one_line_stays_one() -> None:
    assert set_in_text('{"a": 1}\n', ["b", "c"], [1]) == '{"a": 1, "b": {"c": [1]}}\n'
    assert set_in_text('{"a":1,"b":2}', ["c"], 3) == '{"a":1,"b":2, "c": 3}'


def test_line_ends_stay_those_of_the_file() -> None:
    assert set_in_text('{\r\n  "a": 1\r\n}\r\n', ["b", "c"], 2) == (
        '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n'
    )


def test_of_two_keys_the_last_counts_and_both_are_removed() -> None:
    assert set_in_text('{"a": 1, "a": 2}', ["a"], 3) == '{"a": 1, "a": 3}'
    assert remove_from_text('{"a": 1, "b": 0, "a": 2}', ["a"]) == '{"b": 0}'


def test_a_long_list_is_written_over_several_lines() -> None:
    long = [f"make check-number-{number}" for number in range(4)]
    text = set_in_text('{\n  "a": 1\n}\n', ["b"], long)
    assert max(map(len, text.splitlines())) < 40
    assert json.loads(text)["b"] == long
