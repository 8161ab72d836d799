"""The dotted names of settings."""

import pytest

from ralph.config.keys import SettingKey, list_setting_keys, parse_setting_key
from ralph.model.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("maximumIterations", False),
        ("agent", False),
        ("agent.flags", True),
        ("guardrails", True),
        ("scm.tasks", True),
        ("agent.environment.MY_TOKEN", False),
        ("agents.my-agent.flags", True),
        ("specflow.coder.max_iterations", False),
        ("specflow.judge.model", False),
    ],
)
def test_every_setting_has_a_name(text: str, is_list: bool) -> None:
    assert parse_setting_key(text) == SettingKey(tuple(text.split(".")), is_list)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("maximumIteration", "maximumIterations"),
        ("maximum_iterations", "maximumIterations"),
        ("Agent.Command", "agent.command"),
        ("agent.comand", "agent.command"),
        ("model", "agent.model"),
        ("idle-timeout-seconds", "agent.idleTimeoutSeconds"),
        ("budget", "budgetUsd"),
    ],
)
def test_one_that_is_none_is_answered_with_what_was_meant(text: str, meant: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_setting_key(text)
    assert caught.value.hint == f'did you mean "{meant}"?'


@pytest.mark.parametrize("text", ["", ".", "zzz", "agent.", "agent.command.x", "guardrails.0.command", "agents..flags"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_setting_key(text)


def test_all_that_are_listed_can_be_named() -> None:
    keys = list_setting_keys()
    assert {"agent.command", "guardrails", "specflow.judge.agent"} <= {*keys}
    assert [parse_setting_key(key).name for key in keys] == keys


@pytest.mark.parametrize("key", ["agent.price", "agent.substitutes"])
def test_what_ralph_fills_itself_is_no_setting(key: str) -> None:
    assert key not in list_setting_keys()
    with pytest.raises(ConfigError, match="no setting"):
        parse_setting_key(key)
