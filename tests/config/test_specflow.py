"""The `ralph:` part of .specflow/config.yaml."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.config.schema import Settings, Specflow
from ralph.config.sources import LoadedSettings, load_settings
from ralph.model.errors import ConfigError

Read = Callable[..., LoadedSettings]

SEED = """\
# .specflow/config.yaml
other: [things]
ralph:
  enabled: true
  default_max_iterations: 12
  verify_promises: false
  coder:
    enabled: true
    max_iterations: 20
    completion_promise: "IMPLEMENTATION_COMPLETE"
  reviewer:
    enabled: false
"""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str, settings: str = "") -> LoadedSettings:
        (tmp_path / ".specflow").mkdir(exist_ok=True)
        (tmp_path / ".specflow/config.yaml").write_text(text)
        if settings:
            (tmp_path / ".ralph").mkdir(exist_ok=True)
            (tmp_path / ".ralph/settings.json").write_text(settings)
        return load_settings(str(tmp_path), {})

    return read


def test_defaults_of_the_agent_table() -> None:  # 000-08, 000-09, C3
    plain = Specflow()
    assert (plain.enabled, plain.default_max_iterations, plain.verify_promises) == (True, 10, True)
    table = {name: getattr(plain, name) for name in ("coder", "reviewer", "tester", "qa")}
    assert {name: (s.enabled, s.max_iterations, s.completion_promise) for name, s in table.items()} == {
        "coder": (True, 15, "IMPLEMENTATION_COMPLETE"),
        "reviewer": (True, 5, "REVIEW_PASSED"),
        "tester": (True, 10, "TESTS_PASSED"),
        "qa": (True, 5, "QA_PASSED"),
    }


def test_the_seeds_file_is_read(read: Read) -> None:  # 000-08
    loaded = read(SEED)
    specflow = loaded.settings.specflow
    assert (specflow.default_max_iterations, specflow.verify_promises) == (12, False)
    assert specflow.coder.max_iterations == 20
    assert (specflow.reviewer.enabled, specflow.reviewer.max_iterations) == (False, 5)
    assert loaded.files == (".specflow/config.yaml",)
    assert loaded.origins["specflow.coder.max_iterations"] == ".specflow/config.yaml"
    assert loaded.warnings == ()


def test_it_does_not_change_what_run_does(read: Read) -> None:  # C6
    assert read(SEED).settings.maximum_iterations == 10


def test_settings_json_is_stronger(read: Read) -> None:  # C9
    loaded = read(SEED, '{"specflow": {"coder": {"max_iterations": 2}}}')
    assert loaded.settings.specflow.coder.max_iterations == 2
    assert loaded.settings.specflow.default_max_iterations == 12


def test_the_names_of_other_versions_are_understood(read: Read) -> None:  # C14
    specflow = read("ralph: {max_iterations: 7, agent_defaults: {coder: {max_iterations: 3}}}").settings.specflow
    assert (specflow.default_max_iterations, specflow.coder.max_iterations) == (7, 3)


@pytest.mark.parametrize("text", ["", "ralph:", "ralph: {}", "other: 1", "ralph:\n  coder:\n", "# nothing"])
def test_a_file_that_says_nothing_of_us_changes_nothing(read: Read, text: str) -> None:
    assert read(text).settings == Settings()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ralph:\n  enabled: 'yes'", ':2: ralph.enabled: expected true or false, got "yes"'),
        ("ralph:\n  task_budget_usd: .nan", ":2: ralph.task_budget_usd: expected a number > 0, got nan"),
        (
            "ralph:\n  task_budget_usd: .inf",
            ":2: ralph.task_budget_usd: expected a number > 0 and ≤ 1,000,000,000, got inf",
        ),
        ("ralph:\n  coder:\n    max_iterations: 0", ":3: ralph.coder.max_iterations: expected an integer ≥ 1, got 0"),
        (
            "ralph:\n  coder:\n    completion_promise: 2001-01-01",
            ":3: ralph.coder.completion_promise: expected a non-blank string, got a date",
        ),
        ("ralph:\n  coder: 3", ":2: ralph.coder: expected an object, got 3"),
        ("ralph: 3", ":1: ralph: expected an object, got 3"),
        ("- 1", ": expected an object, got a list"),
        ("a: [", ":1:5: not YAML: did not find expected node content"),
    ],
)
def test_what_is_wrong_names_the_file_and_its_own_key(read: Read, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert caught.value.message == ".specflow/config.yaml" + said


def test_unknown_keys_warn(read: Read) -> None:
    assert read("ralph: {codr: {}, coder: {1: 2}}").warnings == (
        'unknown key "ralph.codr" in .specflow/config.yaml: did you mean "ralph.coder"?',
        'unknown key "ralph.coder.1" in .specflow/config.yaml',
    )


@pytest.mark.parametrize(
    "text",
    [
        "ralph: &a {coder: *a}",  # endless
        "\n".join(
            ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 60)), "ralph: *a59"]
        ),
        "a: !!python/object/apply:os.system [echo]",
        "a: \x01",
        "{" * 5000,
    ],
)
@pytest.mark.timeout(10)
def test_a_hostile_file_is_read_or_refused_in_no_time(read: Read, text: str) -> None:
    said = ".specflow/config.yaml"
    try:
        read(text)
    except ConfigError as error:
        said = error.message
    assert said.startswith(".specflow/config.yaml")
