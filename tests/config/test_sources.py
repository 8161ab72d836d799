"""Layers: which wins, what each says when it is wrong, and what it costs to ask."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config.sources import LoadedSettings, list_leaf_keys, load_project_settings, load_settings, merge_raw
from ralph.model.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path


def write(folder: Path, name: str, text: str | bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def load_in(folder: Path, flags: Mapping[str, object] | None = None, **variables: str) -> LoadedSettings:
    return load_settings(str(folder), {"HOME": str(folder / "home"), **variables}, flags)


def complaint(folder: Path, **variables: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_in(folder, None, **variables)
    return caught.value


def test_nothing_at_all_gives_the_defaults(folder: Path) -> None:
    loaded = load_in(folder)
    assert loaded.settings.maximum_iterations == 10
    assert (loaded.origins, loaded.warnings, loaded.files) == ({}, (), ())


def test_an_agent_that_is_only_named_keeps_what_other_layers_say_of_it(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"agent": "claude", "guardrails": ["make test"]}')
    write(folder, ".ralph/settings.local.json", '{"agent": {"flags": ["-v"]}}')
    loaded = load_in(folder)
    assert (loaded.settings.agent.command, loaded.settings.agent.flags) == ("claude", ("-v",))
    assert loaded.origins["agent.command"] == ".ralph/settings.json"
    write(folder, ".ralph/settings.local.json", '{"agent": "codex"}')
    assert load_in(folder).settings.agent.command == "codex"


def test_each_layer_overrides_those_below(folder: Path) -> None:  # 001-06, C9
    layers = [
        ("~/.config/ralph/settings.json", "home/.config/ralph/settings.json", 1),
        (".ralph/settings.json", ".ralph/settings.json", 2),
        (".ralph/settings.local.json", ".ralph/settings.local.json", 3),
    ]
    for shown, name, value in layers:
        write(folder, name, f'{{"maximumIterations": {value}}}')
        loaded = load_in(folder)
        assert (loaded.settings.maximum_iterations, loaded.origins["maximumIterations"]) == (value, shown)
    assert loaded.files == tuple(shown for shown, _, _ in layers)
    loaded = load_in(folder, RALPH_MAXIMUM_ITERATIONS="4")
    assert (loaded.settings.maximum_iterations, loaded.origins["maximumIterations"]) == (4, "RALPH_MAXIMUM_ITERATIONS")
    loaded = load_in(folder, {"maximumIterations": 5}, RALPH_MAXIMUM_ITERATIONS="4")
    assert (loaded.settings.maximum_iterations, loaded.origins["maximumIterations"]) == (5, "command line")


def test_the_seeds_merge_example(folder: Path) -> None:  # 001-06
    write(folder, ".ralph/settings.json", '{"agent": {"command": "claude", "flags": ["--model opus"]}}')
    write(folder, ".ralph/settings.local.json", '{"agent": {"flags": ["--verbose"]}}')
    loaded = load_in(folder)
    assert (loaded.settings.agent.command, loaded.settings.agent.flags) == ("claude", ("--verbose",))
    assert loaded.origins == {"agent.command": ".ralph/settings.json", "agent.flags": ".ralph/settings.local.json"}


def test_null_takes_an_object_away_and_its_origins_with_it(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"scm": {"command": "git", "tasks": ["commit"]}}')
    write(folder, ".ralph/settings.local.json", '{"scm": null}')
    loaded = load_in(folder)
    assert loaded.settings.scm is None
    assert loaded.origins == {"scm": ".ralph/settings.local.json"}
    loaded = load_in(folder, {"scm.tasks": ["push"]})
    assert loaded.settings.scm is not None
    assert loaded.settings.scm.tasks == ("push",)
    assert loaded.origins == {"scm.tasks": "command line"}


def test_flags_that_were_not_given_do_not_count(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"streamAgentOutput": false}')
    loaded = load_in(folder, {"streamAgentOutput": None, "agent.command": "codex"})
    assert loaded.settings.stream_agent_output is False
    assert loaded.settings.agent.command == "codex"


def test_a_wrong_flag_is_told_as_such(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"^command line: maximumIterations: expected an integer ≥ 1, got 0$"):
        load_in(folder, {"maximumIterations": 0})


def test_a_wrong_type_in_the_local_file_is_an_error_that_names_it(folder: Path) -> None:  # §4 Merge, note 7
    write(folder, ".ralph/settings.json", '{"maximumIterations": 3}')
    write(folder, ".ralph/settings.local.json", '{\n  "maximumIterations": "3"\n}')
    said = complaint(folder).message
    assert said == '.ralph/settings.local.json:2: maximumIterations: expected an integer ≥ 1, got "3"'


def test_a_wrong_type_is_an_error_even_where_a_stronger_layer_would_hide_it(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"maximumIterations": "3"}')
    write(folder, ".ralph/settings.local.json", '{"maximumIterations": 3}')
    assert complaint(folder).message.startswith(".ralph/settings.json:1: maximumIterations")


def test_unknown_keys_warn_and_suggest(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"maxIterations": 3, "zzz": 1, "agent": {"comand": "x"}}')
    loaded = load_in(folder)
    assert loaded.settings.maximum_iterations == 10
    assert loaded.warnings == (
        'unknown key "maxIterations" in .ralph/settings.json: did you mean "maximumIterations"?',
        'unknown key "zzz" in .ralph/settings.json',
        'unknown key "agent.comand" in .ralph/settings.json: did you mean "agent.command"?',
    )


def test_unknown_keys_of_one_agents_settings_warn_too(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"agents": {"codex": {"flag": [], "model": "x"}, "claude": {}}}')
    assert load_in(folder).warnings == (
        'unknown key "agents.codex.flag" in .ralph/settings.json: did you mean "agents.codex.flags"?',
    )


def test_files_are_named_as_the_user_sees_them(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"maxIterations": 3}')
    write(folder, ".specflow/config.yaml", "ralph: {adaptive: true}")
    loaded = load_settings(str(folder), {}, seen_from=str(folder / "a/b"))
    assert loaded.files == ("../../.specflow/config.yaml", "../../.ralph/settings.json")
    assert "in ../../.ralph/settings.json" in loaded.warnings[0]


def test_a_flags_value_about_to_fall_apart_is_told(folder: Path) -> None:  # C19
    write(
        folder, ".ralph/settings.json", '{"agent": {"flags": ["--system", "Be terse", "--model opus", "\'So be it\'"]}}'
    )
    (warning,) = load_in(folder).warnings
    assert warning.endswith(""""Be terse" is split at its spaces; to keep it whole write "'Be terse'\"""")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "a": 1,\n}', ".ralph/settings.json:3:1: not JSON: trailing comma in object"),
        ('{"é": "ü", x}', ".ralph/settings.json:1:12: not JSON: object keys must be strings"),
        ('{"a": {', ".ralph/settings.json:1:8: not JSON: it ends too early"),
        (b'{\n"a": "\xff"}', ".ralph/settings.json:2:7: not UTF-8 text"),
        ("", ".ralph/settings.json: the file is empty"),
        ("[]", ".ralph/settings.json: expected an object, got an empty list"),
        ('"x"', '.ralph/settings.json: expected an object, got "x"'),
        ('{"budgetUsd": 1e999}', ".ralph/settings.json: not JSON: number out of range"),
    ],
)
def test_a_file_that_is_no_settings_file_says_where(folder: Path, text: str | bytes, said: str) -> None:
    write(folder, ".ralph/settings.json", text)
    assert complaint(folder).message == said


def test_a_file_nested_beyond_reason_is_an_error_and_no_crash(folder: Path) -> None:
    write(folder, ".ralph/settings.json", "[" * 100_000 + "]" * 100_000)
    assert complaint(folder).message.startswith(".ralph/settings.json: not JSON:")


def test_a_byte_order_mark_is_forgiven(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '\ufeff{"maximumIterations": 2}')
    assert load_in(folder).settings.maximum_iterations == 2


def test_a_folder_in_place_of_the_file_is_an_error(folder: Path) -> None:
    (folder / ".ralph/settings.json").mkdir(parents=True)
    assert complaint(folder).message == ".ralph/settings.json: cannot be read: Is a directory"


def test_the_users_file_is_where_xdg_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    write(folder, "elsewhere/ralph/settings.json", '{"maximumIterations": 8}')
    loaded = load_in(folder, XDG_CONFIG_HOME=str(folder / "elsewhere"))
    assert loaded.files == (str(folder / "elsewhere/ralph/settings.json"),)
    assert load_in(folder, XDG_CONFIG_HOME="elsewhere").files == ()  # relative: to be ignored
    assert load_settings(str(folder), {}).files == ()


def test_the_projects_own_two_files_together(folder: Path) -> None:  # 001-08
    write(folder, "home/.config/ralph/settings.json", '{"maximumIterations": 1}')
    write(folder, ".ralph/settings.json", '{"agent": {"command": "claude"}}')
    assert load_project_settings(str(folder)) == ({"agent": {"command": "claude"}}, (".ralph/settings.json",))
    write(folder, ".ralph/settings.local.json", '{"agent": {"flags": []}}')
    raw, files = load_project_settings(str(folder))
    assert raw == {"agent": {"command": "claude", "flags": []}}
    assert files == (".ralph/settings.json", ".ralph/settings.local.json")


@pytest.mark.parametrize(  # 001-06
    ("base", "over", "result"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": "x"}, {"a": "x"}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": [1]}, {"a": []}, {"a": []}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, {"a": {"b": 1, "c": 3}}),
        ({"a": {"b": {"c": 1, "d": [1]}}}, {"a": {"b": {"d": []}}}, {"a": {"b": {"c": 1, "d": []}}}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
        ({"a": None}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": False}, {"a": True}, {"a": True}),
        ({"a": True}, {"a": False}, {"a": False}),
    ],
)
def test_scalars_override_arrays_replace_objects_recurse(
    base: dict[str, object], over: dict[str, object], result: dict[str, object]
) -> None:
    assert merge_raw(base, over) == result


leaf = st.none() | st.booleans() | st.integers() | st.lists(st.integers(), max_size=2)
objects = st.recursive(
    st.dictionaries(st.sampled_from("abc"), leaf, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), leaf | inner, max_size=3),
    max_leaves=10,
)


def at(raw: object, path: str) -> object:
    for key in path.split("."):
        assert isinstance(raw, dict)
        raw = raw[key]
    return raw


@given(objects, objects)
def test_every_leaf_of_the_stronger_layer_is_in_the_merge(base: dict[str, object], over: dict[str, object]) -> None:
    result = merge_raw(base, over)
    for path in list_leaf_keys(over):
        assert at(result, path) == at(over, path)
    assert set(list_leaf_keys(result)) <= set(list_leaf_keys(base)) | set(list_leaf_keys(over))


@given(objects, objects)
def test_merging_changes_neither_side_and_merging_again_changes_nothing(
    base: dict[str, object], over: dict[str, object]
) -> None:
    before = repr(base), repr(over)
    once = merge_raw(base, over)
    assert merge_raw(once, over) == once
    assert (repr(base), repr(over)) == before
    assert merge_raw({}, over) == merge_raw(over, {}) == over


def test_the_common_case_imports_nothing_heavy(folder: Path) -> None:
    write(folder, ".ralph/settings.json", '{"maximumIterations": 3, "agent": {"command": "claude", "flags": ["-x"]}}')
    code = (
        "import sys; from ralph.config.sources import load_settings; load_settings(sys.argv[1], {'RALPH_RUN_ID': 'x'});"
        "print([m for m in ('yaml', 'difflib', 'pathlib', 'dataclasses', 'shlex', 'json', 'subprocess',"
        " 'ralph.config.complaints', 'ralph.config.reference') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
