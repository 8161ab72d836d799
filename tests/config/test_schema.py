"""What settings may be, and what is said when they are something else."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config.schema import (
    AgentSettings,
    Guardrail,
    Layer,
    Scm,
    Settings,
    check_layer,
    convert_settings,
    expand_shorthand,
    find_unknown_keys,
    split_flags,
)
from ralph.model.agent_chain import AgentChain
from ralph.model.errors import ConfigError
from ralph.model.loop import Limits, Patience
from ralph.model.standstill import StuckLimits

NAME = ".ralph/settings.json"


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        check_layer(Layer(name=NAME, raw=msgspec.json.decode(text), text=text))
    return caught.value.message


def test_defaults_are_those_of_the_seed() -> None:  # 001-05
    plain = Settings()
    assert (plain.maximum_iterations, plain.completion_response, plain.output_truncate_chars) == (10, "DONE", 5000)
    assert (plain.stream_agent_output, plain.include_iteration_count_in_prompt) == (True, False)
    assert (plain.agent.command, plain.agent.flags, plain.guardrails, plain.scm) == ("", (), (), None)
    assert plain.until == ("response",)
    stuck, chain = StuckLimits(tell=2, escalate=3, stop=5), AgentChain(on_limit="wait")
    assert plain.limits == Limits(10, None, None, stuck=stuck, chain=chain)
    assert plain.patience == Patience(retries=12, delay=5.0, longest=900.0, empty_retries=3, max_wait=21_600.0)


def test_the_seeds_own_example_is_read() -> None:  # 001-05
    read = convert_settings(
        {
            "maximumIterations": 3,
            "agent": {"command": "claude", "flags": ["--model opus", "--no-auto-compact"]},
            "guardrails": [
                {"command": "make lint", "failAction": "APPEND", "hint": "Fix lint errors only."},
                {"command": "make test", "failAction": "replace"},
            ],
            "scm": {"command": "git", "tasks": ["commit", "push"]},
        }
    )
    assert read.maximum_iterations == 3
    assert read.agent.flags == ("--model opus", "--no-auto-compact")
    assert [(g.command, g.fail_action, g.hint) for g in read.guardrails] == [
        ("make lint", "APPEND", "Fix lint errors only."),
        ("make test", "REPLACE", ""),
    ]
    assert read.scm == Scm("git", ("commit", "push"))


@pytest.mark.parametrize("action", ["append", "Append", "APPEND", " append "])
def test_a_fail_action_may_be_written_in_any_case(action: str) -> None:  # 001-10
    assert (
        convert_settings({"guardrails": [{"command": "x", "failAction": action}]}).guardrails[0].fail_action == "APPEND"
    )


def test_an_agent_may_be_only_named_and_a_guardrail_only_a_command() -> None:
    read = convert_settings({"agent": "claude", "guardrails": ["make test", {"command": "make lint"}]})
    assert read.agent == AgentSettings(command="claude")
    assert read.guardrails == (Guardrail(command="make test"), Guardrail(command="make lint"))
    assert read.guardrails[0].fail_action == "APPEND"


def test_further_keys_of_a_guardrail_are_its_kinds_options() -> None:
    raw = {"kind": "moon", "hint": "wait", "phase": "full", "failAction": "prepend"}
    written = expand_shorthand({"guardrails": [raw]})
    moon = Guardrail(kind="moon", fail_action="PREPEND", hint="wait", options={"phase": "full"})
    assert convert_settings(written).guardrails == (moon,)
    assert expand_shorthand(written) == written
    assert not list(find_unknown_keys(written))
    assert (moon.label, Guardrail(kind="moon", command="x").label) == ("moon", "moon x")


def test_a_run_on_record_keeps_its_guardrails() -> None:
    kept = Settings(guardrails=(Guardrail(kind="moon", options={"phase": ["full", 1]}), Guardrail(command="make")))
    assert msgspec.json.decode(msgspec.json.encode(kept), type=Settings) == kept


@pytest.mark.parametrize(  # ralph-cli note 7: wrong types are never ignored
    ("text", "said"),
    [
        ('{\n\n "maximumIterations": "ten"}', ':3: maximumIterations: expected an integer ≥ 1, got "ten"'),
        ('{"maximumIterations": 0}', ":1: maximumIterations: expected an integer ≥ 1, got 0"),
        ('{"maximumIterations": true}', ":1: maximumIterations: expected an integer ≥ 1, got true"),
        ('{"maximumIterations": 1.5}', ":1: maximumIterations: expected an integer ≥ 1, got 1.5"),
        ('{"maximumIterations": null}', ":1: maximumIterations: expected an integer ≥ 1, got null"),
        ('{"completionResponse": "  "}', ':1: completionResponse: expected a non-blank string, got "  "'),
        ('{"outputTruncateChars": -1}', ":1: outputTruncateChars: expected an integer ≥ 0, got -1"),
        ('{"streamAgentOutput": "yes"}', ':1: streamAgentOutput: expected true or false, got "yes"'),
        ('{"agent": 5}', ":1: agent: expected a program's name or an object, got 5"),
        ('{\n"agent": " "}', ':2: agent.command: expected a program\'s name, got " "'),
        ('{"agent": {\n"command": 5}}', ":2: agent.command: expected a program's name, got 5"),
        ('{"agent": {"command": " "}}', ':1: agent.command: expected a program\'s name, got " "'),
        ('{"agent": {"flags": "--verbose"}}', ':1: agent.flags: expected a list of strings, got "--verbose"'),
        ('{"agent": {"flags": ["a",\n 1]}}', ":2: agent.flags[1]: expected a string, got 1"),
        ('{"agent": {"timeoutSeconds": 0}}', ":1: agent.timeoutSeconds: expected a number > 0, got 0"),
        ('{"agent": {"environment": []}}', ":1: agent.environment: expected an object, got an empty list"),
        (
            '{"agent": {"environment": {"A=B": ""}}}',
            ':1: agent.environment: expected the name of an environment variable, got "A=B"',
        ),
        ('{"guardrails": {}}', ":1: guardrails: expected a list of commands or objects, got an object"),
        ('{"guardrails": [5]}', ":1: guardrails[0]: expected a command or an object, got 5"),
        ('{"guardrails": ["make",\n" "]}', ':2: guardrails[1].command: expected a non-blank string, got " "'),
        ('{"guardrails": [{"kind": ""}]}', ':1: guardrails[0].kind: expected a non-blank string, got ""'),
        ('{"guardrails": [\n{}]}', ":2: guardrails[0].command: expected a non-blank string, got nothing"),
        (
            '{"guardrails": [{"command": "a"},\n{"command": "b",\n"failAction": "IGNORE"}]}',
            ':3: guardrails[1].failAction: expected one of APPEND, PREPEND, REPLACE, got "IGNORE"',
        ),
        ('{"guardrails": [{"command": "a", "hint": 1}]}', ":1: guardrails[0].hint: expected a string, got 1"),
        ('{"scm": {"tasks": "commit"}}', ':1: scm.tasks: expected a list of non-blank strings, got "commit"'),
        ('{"until": ["done"]}', ':1: until[0]: expected "response", "promise" or "file:PATH", got "done"'),
        ('{"budgetUsd": -1}', ":1: budgetUsd: expected a number > 0, got -1"),
        (
            '{"maximumIterations": 99999999999999999999}',
            ":1: maximumIterations: expected an integer ≥ 1 and ≤ 1,000,000,000,000, got 99999999999999999999",
        ),
        (
            f'{{"maximumIterations": {"9" * 99}}}',
            ":1: maximumIterations: expected an integer ≥ 1 and ≤ 1,000,000,000,000, got a number with over 60 digits",
        ),
        (
            '{"retry": {"attempts": 9223372036854775808}}',
            ":1: retry.attempts: expected an integer ≥ 0 and ≤ 1,000,000,000,000, got 9223372036854775808",
        ),
        (
            '{"maxTimeSeconds": 1e308}',
            ":1: maxTimeSeconds: expected a number > 0 and ≤ 1,000,000,000, got 1e308",
        ),
        (
            '{"agent": {"flags": ["-v",\n"--model \'opus"]}}',
            ':2: agent.flags[1]: expected quotation marks in pairs, got "--model \'opus"',
        ),
        ('{"display": {"color": "red"}}', ':1: display.color: expected one of always, auto, never, got "red"'),
        ('{"$schema": 5}', ":1: $schema: expected a string, got 5"),
    ],
)
def test_a_wrong_type_names_file_line_key_expected_and_found(text: str, said: str) -> None:
    assert complaint(text) == NAME + said


@pytest.mark.parametrize("key", ["budgetUsd", "maxTimeSeconds", "retry.delaySeconds", "specflow.task_budget_usd"])
@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_what_is_no_number_is_no_amount_and_no_time(key: str, number: float) -> None:
    raw: dict[str, object] = {key.rpartition(".")[2]: number}
    for part in filter(None, key.rpartition(".")[:1]):
        raw = {part: raw}
    with pytest.raises(ConfigError, match=f": {key.replace('.', '[.]')}: expected a number > 0.*, got {number}$"):
        check_layer(Layer(name=NAME, raw=raw))


def test_an_open_quotation_shows_no_secret() -> None:  # 001-26
    said = complaint('{"agent": {"flags": ["--token", "S1 \'S2"]}}')
    assert "S1" not in said
    assert "S2" not in said


def test_an_empty_until_could_never_complete() -> None:
    assert complaint('{"until": []}').endswith(", at least one, got an empty list")


@pytest.mark.parametrize("value", ["12345", '"a\\u0000b"'])
def test_what_may_be_a_secret_is_not_shown(value: str) -> None:  # 001-26
    said = complaint(f'{{"agent": {{"environment": {{"OK": "x", "API_KEY": {value}}}}}}}')
    assert "agent.environment.API_KEY: expected a string, got " in said
    assert "12345" not in said
    assert "a\x00b" not in said


def test_a_long_value_is_cut() -> None:
    assert len(complaint(f'{{"agent": {{"timeoutSeconds": "{"x" * 5000}"}}}}')) < 200


def test_unknown_keys_are_found_at_every_depth_and_none_among_known_ones() -> None:
    raw = {
        "x": 1,
        "agent": {"comand": ""},
        "guardrails": [{"command": "a", "hnt": ""}],
        "specflow": {"coder": {"a": 1}},
    }
    assert [where + key for where, key, _ in find_unknown_keys(raw)] == [
        "x",
        "agent.comand",
        "guardrails.hnt",
        "specflow.coder.a",
    ]
    assert list(find_unknown_keys(msgspec.to_builtins(Settings(scm=Scm())))) == []


@pytest.mark.parametrize(  # C19
    ("flags", "words"),
    [
        (["--model opus", "--no-auto-compact"], ("--model", "opus", "--no-auto-compact")),
        (["--model", "opus"], ("--model", "opus")),
        (["--say 'two words'"], ("--say", "two words")),
        (["'two words'"], ("two words",)),
        (["--say=don't stop"], ("--say=don't stop",)),  # no shell could split it: it is one word
        (["don't"], ("don't",)),
        ([""], ("",)),
        ([], ()),
    ],
)
def test_flags_with_spaces_are_split_as_a_shell_would(flags: list[str], words: tuple[str, ...]) -> None:
    assert split_flags(flags) == words


def test_settings_survive_being_written_and_read() -> None:
    for given_settings in (Settings(), Settings(scm=Scm(), budget_usd=2.0)):
        assert msgspec.json.decode(msgspec.json.encode(given_settings), type=Settings) == given_settings


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
known_keys = st.sampled_from(Settings.__struct_encode_fields__)


@given(
    st.dictionaries(known_keys, json_values | st.dictionaries(st.sampled_from(["flags", "environment"]), json_values))
)
def test_any_json_gives_settings_or_a_config_error(raw: dict[str, object]) -> None:
    text = msgspec.json.encode(raw).decode()
    try:
        check_layer(Layer(name=NAME, raw=raw, text=text))
        said = ""
    except ConfigError as error:
        said = error.message
    assert not said or (said.startswith(f"{NAME}:1: ") and "expected" in said)
