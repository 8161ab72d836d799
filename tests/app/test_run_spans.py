"""The spans of a run name who made the agent's model."""

import pytest

pytest.importorskip("opentelemetry")

from ralph.app.run_spans import find_provider


@pytest.mark.parametrize(
    ("agent", "provider"), [("claude", "anthropic"), ("gemini", "gcp.gemini"), ("amp", "amp"), ("my-agent", "my-agent")]
)
def test_the_provider_is_the_one_on_the_agents_card_else_the_agents_own_name(agent: str, provider: str) -> None:
    assert find_provider(agent) == provider
