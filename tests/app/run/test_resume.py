"""What a resumed run takes from today's settings."""

from typing import Any

import pytest
from msgspec.structs import replace

from ralph.app.run.resume import describe_differences, take_todays_agent
from ralph.config.schema import AgentSettings, Guardrail, Retry, Settings

BEGAN = Settings(
    agent=AgentSettings(command="claude", flags=("--verbose",), environment={"KEY": "sk-secret"}),
    guardrails=(Guardrail(command="make test"),),
    maximum_iterations=7,
)


def test_the_agent_and_its_retries_are_todays_all_else_is_the_runs() -> None:  # C31
    today = Settings(agent=AgentSettings(command="codex"), retry=Retry(attempts=1), maximum_iterations=99)
    settings = take_todays_agent(BEGAN, today)
    assert (settings.agent, settings.retry) == (today.agent, today.retry)
    assert replace(settings, agent=BEGAN.agent, retry=BEGAN.retry) == BEGAN


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, []),
        ({"command": "codex"}, ["agent codex (was claude)"]),
        ({"flags": ()}, ["flags none (was --verbose)"]),
        ({"model": "opus"}, ["model opus (was none)"]),
        ({"environment": {"KEY": "sk-other"}}, ["environment"]),
        ({"permissions": "all", "allow": ("npm test",)}, ["permissions all", "allowed commands npm test (was none)"]),
    ],
)
def test_one_line_says_what_differs(changes: dict[str, Any], told: list[str]) -> None:  # C31
    lines = describe_differences(BEGAN, replace(BEGAN, agent=replace(BEGAN.agent, **changes)))
    assert len(lines) == bool(told)
    assert all(part in lines[0] for part in told)
    assert "sk-" not in "".join(lines)


def test_other_guardrails_are_named_and_not_taken() -> None:  # C31
    (line,) = describe_differences(BEGAN, replace(BEGAN, guardrails=()))
    assert line.startswith("the run keeps the guardrails")
