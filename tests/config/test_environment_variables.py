"""RALPH_* variables as settings."""

import pytest

from ralph.app.plugin_guard import GUARD_VARIABLE
from ralph.config.environment import RUN_VARIABLES, find_misspelt, list_variables
from ralph.config.schema import Guardrail, Settings
from ralph.config.sources import load_settings
from ralph.model.errors import ConfigError


def settings(**environment: str) -> Settings:
    return load_settings("/nowhere", environment).settings


def test_names_follow_the_keys() -> None:
    names = list_variables()
    assert names["RALPH_MAXIMUM_ITERATIONS"] == ("maximumIterations",)
    assert names["RALPH_AGENT_COMMAND"] == ("agent", "command")
    assert names["RALPH_AGENT_IDLE_TIMEOUT_SECONDS"] == ("agent", "idleTimeoutSeconds")
    assert names["RALPH_BUDGET_USD"] == ("budgetUsd",)
    assert names["RALPH_GUARDRAILS"] == ("guardrails",)
    assert names["RALPH_SCM_TASKS"] == ("scm", "tasks")
    assert not RUN_VARIABLES & set(names)
    assert not [name for name in names if "SPECFLOW" in name or "SCHEMA" in name]


@pytest.mark.parametrize("name", sorted(RUN_VARIABLES))
def test_what_ralph_itself_tells_its_agents_is_no_misspelling(name: str) -> None:
    assert list(find_misspelt({name: "x", "RALPH_RUN_ID": "r"})) == []


def test_the_guards_variable_is_among_them() -> None:
    assert GUARD_VARIABLE in RUN_VARIABLES


def test_text_becomes_what_the_setting_is() -> None:
    given = settings(
        RALPH_MAXIMUM_ITERATIONS="7",
        RALPH_COMPLETION_RESPONSE="10",
        RALPH_STREAM_AGENT_OUTPUT="false",
        RALPH_BUDGET_USD="2.5",
        RALPH_UNTIL="response file:DONE",
        RALPH_AGENT_COMMAND="codex",
        RALPH_AGENT_ENVIRONMENT='{"A": "b"}',
        RALPH_AGENT_PASS_ENVIRONMENT='["X"]',
        RALPH_GUARDRAILS='[{"command": "make test", "failAction": "prepend"}]',
        RALPH_SCM_TASKS="commit push",
        RALPH_DISPLAY_GLYPHS="ascii",
        RALPH_DISPLAY_TIMESTAMPS="true",
    )
    assert (given.maximum_iterations, given.completion_response, given.stream_agent_output) == (7, "10", False)
    assert (given.budget_usd, given.until) == (2.5, ("response", "file:DONE"))
    assert (given.agent.command, given.agent.environment, given.agent.pass_environment) == ("codex", {"A": "b"}, ("X",))
    assert given.guardrails == (Guardrail(command="make test", fail_action="PREPEND"),)
    assert given.scm is not None
    assert given.scm.tasks == ("commit", "push")
    assert (given.display.glyphs, given.display.timestamps) == ("ascii", True)


def test_guardrails_are_a_list_or_one_command() -> None:
    assert settings(RALPH_GUARDRAILS="make test").guardrails == (Guardrail(command="make test"),)
    listed = settings(RALPH_GUARDRAILS='["make test", {"kind": "moon", "phase": "full"}]').guardrails
    assert listed == (Guardrail(command="make test"), Guardrail(kind="moon", options={"phase": "full"}))


def test_flags_are_split_once_like_all_flags() -> None:  # C19
    from ralph.config.schema import split_flags

    assert split_flags(settings(RALPH_AGENT_FLAGS="--say 'two words' -x").agent.flags) == ("--say", "two words", "-x")
    assert settings(RALPH_AGENT_FLAGS='["-a", "-b"]').agent.flags == ("-a", "-b")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("RALPH_MAXIMUM_ITERATIONS", "ten", 'maximumIterations: expected an integer ≥ 1, got "ten"'),
        ("RALPH_MAXIMUM_ITERATIONS", "0", 'maximumIterations: expected an integer ≥ 1, got "0"'),
        ("RALPH_BUDGET_USD", "inf", 'budgetUsd: expected a number > 0 and ≤ 1,000,000,000, got "inf"'),
        ("RALPH_BUDGET_USD", "nan", 'budgetUsd: expected a number > 0, got "nan"'),
        ("RALPH_STREAM_AGENT_OUTPUT", "perhaps", 'streamAgentOutput: expected true or false, got "perhaps"'),
        ("RALPH_GUARDRAILS", "[{", 'guardrails: expected a list of commands or objects, got "[{"'),
        ("RALPH_AGENT_ENVIRONMENT", "A=b", 'agent.environment: expected an object, got "A=b"'),
        ("RALPH_SCM_TASKS", "'commit", 'scm.tasks: expected a list of non-blank strings, got "\'commit"'),
    ],
)
def test_a_wrong_value_names_the_variable(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(**{name: value})
    assert caught.value.message == f"{name}: {said}"


def test_what_a_run_tells_its_children_is_no_setting() -> None:
    loaded = load_settings("/nowhere", {"RALPH_RUN_ID": "x", "RALPH_ITERATION": "3", "RALPH_BUDGET_USD": ""})
    assert (loaded.settings, loaded.warnings) == (Settings(), ())


def test_a_misspelt_variable_is_told_a_foreign_one_is_not() -> None:
    loaded = load_settings("/nowhere", {"RALPH_MAX_ITERATIONS": "3", "RALPH_LAUREN": "x"})
    assert loaded.warnings == (
        "unknown environment variable RALPH_MAX_ITERATIONS: did you mean RALPH_MAXIMUM_ITERATIONS?",
    )
